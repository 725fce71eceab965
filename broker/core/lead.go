package core

import (
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/replica"
)

const (
	defaultTick = 25 * millisecond

	firstTicks    = 4   // between two attempts to become the first leader of all
	memberTicks   = 20  // between two looks at who should be a member
	settleTicks   = 120 // the node that should lead has to keep up for so long before it does
	snapshotTicks = 80  // a node that is sent a snapshot and fetches nothing for so long has lost it
	nearlyThere   = 64  // entries that a learner may lack and get the vote
)

// noteLead sees who leads a group now, and opens or ends this node's own
// tenure.
func (c *Core) noteLead(now Time, s *seat, fx *Effects) {
	st := s.group.Status()
	open := uint64(0)
	if st.Lead != 0 && s.appliedTerm == st.Term {
		open = st.Term
	}
	if s.leads && (!st.Leader || open != s.open) {
		s.leads, s.probe, s.repairs = false, probe{}, nil
		fx.point(PointLeadLost)
		fx.log(Info, "group %d: this node leads it no longer", s.id)
		c.lost(s, fx)
	}
	if st.Lead != s.lead && st.Lead != 0 {
		fx.point(PointLeaderKnown)
	}
	s.lead, s.open = st.Lead, open
	if open != 0 && open != s.last {
		s.last = open
		clear(s.streams)
		s.proposed.tenure()
	}
	if st.Leader && open != 0 && !s.leads {
		s.leads = true
		fx.point(PointLeadGained)
		fx.log(Info, "group %d: this node leads it in term %d", s.id, open)
		c.gained(now, s)
	}
}

// gained begins what only the leader of a group does.
func (c *Core) gained(now Time, s *seat) {
	s.settled = 0
	if s.id == 0 {
		c.reopen()
		return
	}
	for _, p := range c.group(s.id).partitions {
		for _, state := range p.channels {
			c.startDelivery(now, c.channels[state.id])
		}
	}
}

// lost ends it.
func (c *Core) lost(s *seat, fx *Effects) {
	if s.id == 0 {
		return
	}
	for _, p := range c.group(s.id).partitions {
		for _, state := range p.channels {
			c.stopDelivery(c.channels[state.id], fx)
		}
	}
}

// tickTimer is due at each tick while the node has others to watch.
type tickTimer struct{}

func (tickTimer) expire(c *Core, now Time, fx *Effects) {
	c.setTick(now)
	if c.quarantine != "" {
		return
	}
	c.ticks++
	c.introduce(fx)
	for _, s := range c.seats {
		if s.group == nil {
			continue
		}
		s.group.Tick()
		if s.applied == firstIndex && s.lead == 0 && c.ticks%firstTicks == 0 && c.preferred(s) == c.cfg.Node {
			s.group.Campaign() // nobody else has been there long enough to do it
		}
		c.repeat(s, fx)
		c.watch(now, s, fx)
		c.fetchAgain(s, fx)
		c.repairAgain(s)
		if s.leads {
			c.oversee(s, fx)
		}
	}
}

func (c *Core) setTick(now Time) {
	if c.clustered() {
		c.deadlines.set(&c.ticker, now.Mono+c.cfg.Tick, tickTimer{})
	}
}

// clustered reports whether there are other nodes.
func (c *Core) clustered() bool { return c.cfg.Join || len(c.meta.members) > 1 }

// oversee is what a leader looks after.
func (c *Core) oversee(s *seat, fx *Effects) {
	peers := s.group.Peers()
	for _, p := range peers {
		if !p.Behind {
			delete(c.fetchers, fetcher{p.Node, s.id})
			continue
		}
		if c.fetchers[fetcher{p.Node, s.id}]++; c.fetchers[fetcher{p.Node, s.id}] >= snapshotTicks {
			delete(c.fetchers, fetcher{p.Node, s.id})
			fx.point(PointSnapshotLost)
			s.group.SnapshotFailed(p.Node)
		}
	}
	if c.ticks%memberTicks == 0 {
		c.reconcile(s, peers, fx)
	}
	c.handOver(s, peers, fx)
}

// reconcile takes the next step that brings the members of a group nearer to
// those that the metadata ask for: whoever is new learns first, then gets the
// vote, and only when all have it whoever has left is removed.
func (c *Core) reconcile(s *seat, peers []replica.Peer, fx *Effects) {
	conf := s.log.Conf
	if len(conf.VotersOutgoing) > 0 {
		return
	}
	for _, m := range c.meta.members {
		if m.retired || slices.Contains(conf.Voters, m.id) {
			continue
		}
		if !slices.Contains(conf.Learners, m.id) {
			fx.point(PointLearnerAsked)
			s.group.ProposeConf(pb.ConfChangeAddLearnerNode, m.id)
			return
		}
		for _, p := range peers {
			if p.Node == m.id && c.active(p.Node) && !p.Behind && p.Match+nearlyThere >= s.applied {
				fx.point(PointVoterAsked)
				s.group.ProposeConf(pb.ConfChangeAddNode, m.id)
			}
		}
		return
	}
	for _, m := range c.meta.members {
		if !m.retired || !conf.Has(m.id) {
			continue
		}
		if m.id != c.cfg.Node {
			fx.point(PointRemovalAsked)
			s.group.ProposeConf(pb.ConfChangeRemoveNode, m.id)
			return
		}
		if to := c.successor(s, peers); to != 0 { // a leader does not remove itself
			s.group.Transfer(to)
		}
		return
	}
}

// handOver gives the lead to the node that should have it, once that has kept
// up for a while.
func (c *Core) handOver(s *seat, peers []replica.Peer, fx *Effects) {
	want, leaving := c.preferred(s), c.leaving(c.cfg.Node)
	if leaving {
		if to := c.successor(s, peers); to != 0 && !s.group.Status().Moving {
			fx.point(PointLeadMoved)
			s.group.Transfer(to)
		}
		return
	}
	ready := false
	for _, p := range peers {
		ready = ready || p.Node == want && c.active(p.Node) && !p.Behind && p.Match+nearlyThere >= s.applied
	}
	if want == c.cfg.Node || !ready {
		s.settled = 0
		return
	}
	if s.settled++; s.settled >= settleTicks {
		s.settled = 0
		fx.point(PointLeadMoved)
		s.group.Transfer(want)
	}
}

// active reports that a node was heard of within an election timeout.
func (c *Core) active(node uint64) bool {
	at, ever := c.heard[node]
	return ever && c.ticks-at < replica.ElectionTicks
}

// preferred is the voter that should lead a group, so that the groups are
// spread over the nodes; 0: none.
func (c *Core) preferred(s *seat) uint64 {
	var able []uint64
	for _, id := range s.log.Conf.Voters {
		if !c.leaving(id) {
			able = append(able, id)
		}
	}
	if len(able) == 0 {
		return 0
	}
	slices.Sort(able)
	return able[int(s.id)%len(able)]
}

// leaving reports that a node is not to lead: it is drained, replaced, or
// stopping.
func (c *Core) leaving(node uint64) bool {
	if node == c.cfg.Node && c.stopping != serving {
		return true
	}
	m := c.meta.member(node)
	return m != nil && (m.draining || m.retired)
}

// successorOf is the voter that has come furthest, of those that may lead; 0:
// none.
func (c *Core) successorOf(s *seat) uint64 { return c.successor(s, s.group.Peers()) }

func (c *Core) successor(s *seat, peers []replica.Peer) (best uint64) {
	match := uint64(0)
	for _, p := range peers {
		if c.active(p.Node) && !p.Learner && !p.Behind && p.Match > match && !c.leaving(p.Node) {
			best, match = p.Node, p.Match
		}
	}
	return best
}
