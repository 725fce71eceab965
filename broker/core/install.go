package core

import (
	"fmt"
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/replica"
)

// installed lets the state of a snapshot take the place of the node's own, now
// that it is durable.
func (c *Core) installed(s *seat, snap *pb.Snapshot, fx *Effects) {
	a := s.arrival
	s.arrival = nil
	if err := c.load(s, &a.image); err != nil {
		panic(fmt.Sprintf("core: a snapshot of group %d that was written down cannot be read: %v", s.id, err))
	}
	c.letGo(a)
	c.loseSight(s, fx)
	s.applied, s.appliedTerm = snap.GetMetadata().GetIndex(), snap.GetMetadata().GetTerm()
	s.group.Installed(snap)
	fx.point(PointSnapshotInstalled)
	fx.log(Info, "group %d: goes on behind entry %d, from a snapshot of node %d", s.id, s.applied, a.snap.GetFrom())
	if s.id == 0 {
		c.setTick(c.now)
		for _, t := range c.meta.topics {
			c.workOn(c.now, t.name, fx)
		}
		return
	}
	c.reattach(s, fx)
}

// loseSight gives up on publishes that were handed in: whether the snapshot
// holds them cannot be seen. One that the leader has not taken yet keeps its
// number, or it would take nothing behind it.
func (c *Core) loseSight(s *seat, fx *Effects) {
	for _, p := range slices.Clone(s.proposed.list) {
		if p.term == 0 || p.kind != kindPublish {
			continue
		}
		if p.abandoned = true; p.term != s.last || p.seq == 0 || p.accepted {
			s.proposed.remove(p.ticket)
		}
		if op := c.claims[p.ticket]; op != nil {
			delete(c.claims, p.ticket)
			fx.point(PointQuorumLost)
			c.deny(op, codeQuorumLost, "this node was behind and cannot tell: it may have been written", fx)
		}
	}
}

// load makes the state of a snapshot that of a group.
func (c *Core) load(s *seat, im *image) error {
	s.chain = im.chain
	if s.id == 0 {
		m, err := loadMetadata(im.state)
		if err == nil {
			c.meta = m
		}
		return err
	}
	g, err := loadDataGroup(im.state, c)
	if err != nil {
		return err
	}
	old := c.group(s.id)
	for _, part := range im.parts {
		p := g.partition(part.id)
		for i := range part.stubs {
			c.stored(p.restore(part.stubs[i].message), nil)
		}
	}
	for _, p := range old.partitions {
		p.log.each(c.forgot)
	}
	c.groups[s.id-1] = g
	s.clock.hear(c.now, g.log)
	return nil
}

// restore stores a message that the partition's state already counts. One
// without a place is never delivered.
func (p *partition) restore(m message) *message {
	m.needs, m.rotten, m.astray = 0, m.where.File == 0, true
	for _, ch := range p.channels {
		if ch.unfinished(m.offset) {
			m.needs++
		}
	}
	return p.log.insert(m)
}

// reattach gives the channels of a new state their node's part: the consumers
// of one that is there no more have to go.
func (c *Core) reattach(s *seat, fx *Effects) {
	for _, id := range sortedKeys(c.channels) {
		ch := c.channels[id]
		if ch.group != s.id {
			continue
		}
		p := c.group(s.id).partition(ch.part.id)
		if p == nil || p.channel(id) == nil {
			c.dropChannel(ch, fx)
			continue
		}
		ch.part, ch.state = p, p.channel(id)
	}
	for _, p := range c.group(s.id).partitions {
		c.openChannels(c.now, p)
		c.workOn(c.now, p.topic, fx)
	}
}

// firstIndex is where every group of a new cluster begins: who is in it is no
// entry, so a node that comes later has to get it with a snapshot.
const (
	firstIndex = 1
	firstTerm  = 1
)

// found makes the state of a node whose journal is empty.
func (c *Core) found() {
	c.identity = identity{node: c.cfg.Node, instance: c.cfg.Salt, known: map[uint64]acquaintance{}}
	if c.identity.instance == 0 {
		c.identity.instance = 1
	}
	if c.cfg.Join {
		c.seat(0)
		return
	}
	c.meta.groups = c.cfg.DataGroups
	var voters []uint64
	for _, m := range c.cfg.Cluster {
		c.meta.addMember(m.ID, m.Address)
	}
	for _, m := range c.meta.members {
		voters = append(voters, m.id)
	}
	for id := range c.cfg.DataGroups + 1 {
		s := c.seat(id)
		s.log.Conf = replica.Conf{Voters: voters}
		s.log.Reset(firstIndex, firstTerm)
		s.log.Hard = replica.Hard{Term: firstTerm, Commit: firstIndex}
		s.applied, s.appliedTerm = firstIndex, firstTerm
	}
	c.identity.born = len(voters) == 1
}
