package core

import (
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/plant"
)

// withoutFinishes is the planted bug finish-lost-at-recovery: a ledger entry
// without the finished messages that the journal still holds.
func withoutFinishes(g *dataGroup, payload []byte) []byte {
	e, err := decodeLedger(payload)
	if err != nil {
		return payload
	}
	p := g.partition(e.partition)
	if p == nil || p.channel(e.channel) == nil {
		return payload
	}
	var left offsets
	for _, s := range e.finished {
		for o := s.lo; o < s.hi; o++ {
			if p.log.at(o) == nil && p.channel(e.channel).unfinished(o) {
				left.add(span{o, o + 1})
			}
		}
	}
	e.finished = left.spans
	return e.encode()
}

// withSumsOfTheBodies is a part of the planted bug torn-tail-accepted: whatever
// stands where the bodies were is delivered.
func withSumsOfTheBodies(payload []byte) []byte {
	e, err := decodePublish(payload)
	if err != nil {
		return payload
	}
	return e.encode() // it adds up anew
}

// doubts is the part of the planted bug fsync-error-ignored that keeps it from
// giving itself away: until the next file no mark claims what failed to be
// synced, or came behind it, or a restart would be refused.
func (w *writer) doubts(failed bool) bool {
	w.doubted = (w.doubted || failed) && !w.sealing
	return w.doubted
}

// closingOrder is the order in which the connections are closed at a stop: by
// their numbers, or, with the planted bug map-order, as the map gives them.
func (c *Core) closingOrder() []ConnID {
	if !c.cfg.Plant.Is(plant.MapOrder) {
		return sortedKeys(c.conns)
	}
	var order []ConnID
	//det:orderfree it is not, and that is the bug: runs of one plan must be seen to differ
	for id := range c.conns {
		order = append(order, id)
	}
	return order
}

// ackEarly is the planted bug minority-ack: a publish of this node's is
// acknowledged as soon as its leader, this node, has a place for it.
func (c *Core) ackEarly(s *seat, index uint64, fx *Effects) {
	e, err := s.log.Entry(index)
	if err != nil || !s.leads || e.Origin.Node != c.cfg.Node || e.Origin.Life != c.cfg.Salt {
		return
	}
	if op := c.claims[e.Origin.Ticket]; op != nil {
		delete(c.claims, e.Origin.Ticket)
		c.succeed(op, fx)
	}
}

// commitEarly is the planted bug prior-term-commit: a leader tells a follower
// that whatever a majority has is committed, of whatever term it is.
func (c *Core) commitEarly(s *seat, m *pb.Message) *pb.Message {
	have := []uint64{s.log.Last()}
	mine := uint64(0)
	for _, p := range s.group.Peers() {
		if p.Node == m.GetTo() {
			mine = p.Match
		}
		if !p.Learner {
			have = append(have, p.Match)
		}
	}
	slices.Sort(have)
	if most := min(mine, have[(len(have)-1)/2]); most > m.GetCommit() {
		m.Commit = new(most)
	}
	return m
}
