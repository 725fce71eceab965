package core

import "pestle/broker/nsq"

// health says why publishes are refused, or soon may be, or OK.
func (c *Core) health() string {
	if !c.ready {
		return "recovering: the journal is not durable yet"
	}
	if c.stopping != serving {
		return stopText
	}
	if c.writer.why != "" {
		return "publishes are refused when the current journal file is full, because the next one cannot be made: " + c.writer.why
	}
	return "OK"
}

// stats is a snapshot between two steps, so that its numbers fit together.
func (c *Core) stats(topicName, channelName string) *Stats {
	s := &Stats{Health: c.health(), StartWall: c.startWall}
	if !c.ready {
		return s // what was recovered is shown once it is durable
	}
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
	s := TopicStats{Name: t.name}
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
	all := int64(ch.part.next - ch.state.start)
	s := ChannelStats{
		Name:          ch.state.name,
		InFlight:      ch.inFlight,
		Deferred:      int64(ch.deferred.len()),
		MessageCount:  all,
		RequeueCount:  ch.requeues,
		TimeoutCount:  ch.timeouts,
		FinishedBelow: int64(ch.state.floor()),
	}
	s.Depth = all - ch.done - s.InFlight - s.Deferred
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
