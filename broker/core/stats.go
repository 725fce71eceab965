package core

import (
	"fmt"
	"slices"

	"pestle/broker/nsq"
)

// health says why publishes are refused, or soon may be, or OK.
func (c *Core) health() string {
	if !c.ready {
		return "recovering: the journal is not durable yet"
	}
	if c.stopping != serving {
		return stopText
	}
	if c.quarantine != "" {
		return "quarantine: " + c.quarantine
	}
	for _, s := range c.seats {
		if s.quorum.state == ReadOnly {
			return fmt.Sprintf("group %d is %s: publishes to it are refused, what is committed can be read", s.id, s.quorum.state)
		}
	}
	if c.writer.why != "" {
		return "publishes are refused when the current journal file is full, because the next one cannot be made: " + c.writer.why
	}
	return "OK"
}

// clusterStats says who is in the cluster and where the groups stand.
func (c *Core) clusterStats(s *Stats) {
	for _, m := range c.meta.members {
		if m.retired {
			continue
		}
		learner := len(c.seats) > 0 && slices.Contains(c.seats[0].log.Conf.Learners, m.id)
		s.Cluster = append(s.Cluster, Member{ID: m.id, Address: m.address, Learner: learner})
		if m.draining {
			s.Draining = append(s.Draining, m.id)
		}
	}
	for _, x := range c.seats {
		v, first := c.View(x.id), uint64(0)
		first, _ = x.log.Base()
		g := GroupStats{
			Group: x.id, Role: v.Role, State: x.quorum.state, Term: v.Term, Lead: v.Lead,
			First: first + 1, Commit: v.Commit, Applied: v.Applied, Last: v.Last,
		}
		if x.leads {
			for _, p := range x.group.Peers() {
				g.Peers = append(g.Peers, PeerStats{Node: p.Node, Match: p.Match, Active: c.active(p.Node), Learner: p.Learner})
			}
		}
		s.Groups = append(s.Groups, g)
	}
}

// stats is a snapshot between two steps, so that its numbers fit together.
func (c *Core) stats(topicName, channelName string) *Stats {
	s := &Stats{Health: c.health(), StartWall: c.startWall, Node: c.cfg.Node, Quarantine: c.quarantine}
	if !c.ready {
		return s // what was recovered is shown once it is durable
	}
	c.clusterStats(s)
	for _, t := range c.meta.topics {
		if topicName != "" && topicName != t.name {
			continue
		}
		s.Topics = append(s.Topics, c.topicStats(t, channelName))
	}
	for _, id := range sortedKeys(c.conns) {
		if cn := c.conns[id]; cn.published > 0 && cn.ch == nil {
			s.Producers = append(s.Producers, cn.stats())
		}
	}
	return s
}

func (c *Core) topicStats(t *topic, channelName string) TopicStats {
	s := TopicStats{Name: t.name, Group: t.group, Leads: c.seat(t.group).leads}
	p := c.partitionOf(t)
	if p == nil {
		return s
	}
	s.MessageCount = int64(p.next)
	s.MessageBytes = p.bytes
	if len(p.channels) == 0 {
		s.Depth = int64(p.next - p.keepFrom)
	}
	for _, state := range p.channels {
		if channelName == "" || channelName == state.name {
			s.Channels = append(s.Channels, c.channels[state.id].stats())
		}
	}
	return s
}

func (ch *channel) stats() ChannelStats {
	all, done := int64(ch.part.next-ch.state.start), ch.done
	if !ch.leads {
		done = ch.state.finished.count()
	}
	s := ChannelStats{
		Name:          ch.state.name,
		InFlight:      ch.inFlight,
		Deferred:      int64(ch.deferred.len()),
		MessageCount:  all,
		RequeueCount:  ch.requeues,
		TimeoutCount:  ch.timeouts,
		FinishedBelow: int64(ch.state.floor()),
	}
	s.Depth = all - done - s.InFlight - s.Deferred
	if s.Depth < 0 {
		panic("core: a channel has more in flight, deferred and finished than it got")
	}
	for _, cn := range ch.consumers {
		s.Clients = append(s.Clients, cn.stats())
	}
	return s
}

func (cn *conn) stats() ClientStats {
	id := cn.session.Identity()
	s := ClientStats{
		ClientID: id.ClientID, Hostname: id.Hostname, UserAgent: id.UserAgent, RemoteAddress: cn.remote,
		State: int(cn.session.State()),
		Ready: cn.ready, InFlight: cn.inFlight,
		MessageCount: cn.delivered, FinishCount: cn.finished, RequeueCount: cn.requeued,
		ConnectedWall: cn.connected,
	}
	if cn.ch == nil {
		s.State = int(nsq.StateInit)
		s.MessageCount = cn.published
	}
	return s
}
