package core

import (
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/journal"
)

// arrival is a snapshot on its way in.
type arrival struct {
	snap    *pb.Message // MsgSnap
	image   image
	missing int // stubs without a place
	source  uint64
	waited  int // ticks since bodies were asked for
	stepped bool
}

// snapshotArrives begins to fetch what a snapshot needs.
func (c *Core) snapshotArrives(s *seat, m *pb.Message, fx *Effects) error {
	if a := s.arrival; a != nil && (c.installing(s) || a.snap.GetSnapshot().GetMetadata().GetIndex() >= m.GetSnapshot().GetMetadata().GetIndex() && !a.stepped) {
		return nil
	}
	if m.GetSnapshot().GetMetadata().GetIndex() <= s.applied || m.GetTerm() < s.log.Hard.Term {
		s.group.Step(m) // which answers that it is not needed
		return nil
	}
	im, err := readImage(s.id, m.GetSnapshot().GetData(), false)
	if err != nil {
		return fmt.Errorf("a snapshot of group %d: %w", s.id, err)
	}
	fx.point(PointSnapshotReceived)
	old := s.arrival
	s.arrival = &arrival{snap: m, image: im, source: m.GetFrom()}
	c.findBodies(s, old)
	if old != nil {
		c.letGo(old)
	}
	c.goOnArriving(s, fx)
	return nil
}

// installing reports that a snapshot of the group is on its way into the
// journal.
func (c *Core) installing(s *seat) bool {
	for i := range c.queue {
		if c.queue[i].seat == s && c.queue[i].Snapshot != nil {
			return true
		}
	}
	for i := range c.held {
		if c.held[i].seat == s && c.held[i].installed != nil {
			return true
		}
	}
	return false
}

// findBodies finds the bodies that this node has, from before or for an
// earlier snapshot.
func (c *Core) findBodies(s *seat, old *arrival) {
	a := s.arrival
	fetched := map[bodyKey]journal.Position{}
	if old != nil {
		old.image.each(func(partition uint32, x *stub) {
			if x.have {
				fetched[bodyKey{partition, x.offset, x.sum}] = x.where
			}
		})
	}
	a.image.each(func(partition uint32, x *stub) {
		where, have := fetched[bodyKey{partition, x.offset, x.sum}]
		if p := c.group(s.id).partition(partition); !have && p != nil {
			if m := p.log.at(x.offset); m != nil && m.sum == x.sum && m.size == x.size && !m.rotten {
				where, have = m.where, true
			}
		}
		if have {
			c.keepBody(x, where)
			return
		}
		a.missing++
	})
}

type bodyKey struct {
	partition uint32
	offset    uint64
	sum       uint32
}

// keepBody notes where a body is, and keeps that file.
func (c *Core) keepBody(x *stub, where journal.Position) {
	x.where, x.have = where, true
	c.writer.stored(&x.message)
}

// letGo gives up on what was kept for a snapshot.
func (c *Core) letGo(a *arrival) {
	a.image.each(func(_ uint32, x *stub) {
		if x.have {
			c.writer.forgot(&x.message)
		}
	})
}

// goOnArriving asks for the next bodies, or lets the snapshot in.
func (c *Core) goOnArriving(s *seat, fx *Effects) {
	a := s.arrival
	if a.stepped {
		return
	}
	if a.missing == 0 {
		a.stepped = true
		s.group.Step(a.snap)
		return
	}
	a.waited = 0
	c.tellFetch(s)
}

const (
	fetchMost  = 64        // bodies asked for at once …
	fetchBytes = 256 << 10 // … and bytes of them, but for one larger
	fetchTicks = 12        // until they are asked for again, of another node
)

// tellFetch asks for the first bodies that are missing: partition, number, and
// the gaps between their offsets.
func (c *Core) tellFetch(s *seat) {
	a := s.arrival
	var body []byte
	partition, n, size, from := uint32(0), 0, uint64(0), uint64(0)
	a.image.each(func(in uint32, x *stub) {
		if x.have || x.gone || n > 0 && in != partition || n == fetchMost || n > 0 && size+uint64(x.size) > fetchBytes {
			return
		}
		partition, n, size = in, n+1, size+uint64(x.size)
		body, from = appendUint(body, x.offset-from), x.offset+1
	})
	head := appendUint(appendUint(appendUint(nil, uint64(s.id)), uint64(partition)), uint64(n))
	c.item(a.source, itemFetch, append(head, body...))
}

// fetchAgain asks somebody else for bodies that do not come. A snapshot that
// raft did not take is let go: the log has come as far without it.
func (c *Core) fetchAgain(s *seat, fx *Effects) {
	a := s.arrival
	if a != nil && a.stepped && !c.installing(s) {
		s.arrival = nil
		c.letGo(a)
	}
	if a == nil || a.stepped {
		return
	}
	if a.waited++; a.waited < fetchTicks {
		return
	}
	a.waited = 0
	fx.point(PointFetchedAgain)
	a.source = c.nextSource(s, a.source)
	c.tellFetch(s)
}

func (c *Core) nextSource(s *seat, after uint64) uint64 {
	return c.nextOf(s.arrival.snap.GetSnapshot().GetMetadata().GetConfState().GetVoters(), after)
}

// nextOf is the next voter but this node, round and round.
func (c *Core) nextOf(voters []uint64, after uint64) uint64 {
	first, next := uint64(0), uint64(0)
	for _, id := range voters {
		if id == c.cfg.Node {
			continue
		}
		if first == 0 || id < first {
			first = id
		}
		if id > after && (next == 0 || id < next) {
			next = id
		}
	}
	if next == 0 {
		next = first
	}
	return next
}
