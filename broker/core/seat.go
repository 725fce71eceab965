package core

import (
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/journal"
	"pestle/broker/plant"
	"pestle/broker/replica"
)

// seat is this node's place in one group: its copy of the group's log, and
// what it knows of who leads it.
type seat struct {
	id    uint32
	log   *replica.Log
	group *replica.Group // nil until the node may take part

	applied     uint64 // index up to which the state goes …
	appliedTerm uint64 // … and the term of the entry there
	chain       uint64 // hash over everything applied: nodes that have applied the same have the same

	lead  uint64 // node that leads; 0: none known
	open  uint64 // term of lead, when its first entry is applied here: nothing of an earlier one can follow; 0: none
	last  uint64 // what open was last, but for 0
	leads bool   // this node leads, in the term open

	clock    groupClock
	ownIndex uint64 // the last entry that the node began its life with …
	ownTerm  uint64 // … and its term: the clock was set by it
	proposed outstanding
	streams  map[stream]uint64 // forwarded proposals taken in the term open, by where they come from
	arrival  *arrival          // a snapshot whose bodies are not all here yet
	repairs  []*repair
	quorum   quorum
	probe    probe
	asked    int64 // monotonic time at which entries came that are not answered yet; 0: none

	placed  uint64 // batch that has the last record of this group
	noted   uint64 // commit index that the journal holds
	settled int    // ticks in a row in which the node that should lead could

	gaveTerm uint64 // of the last vote that was given to another node in this life; 0: none was …
	gave     uint64 // … which one that is
}

// groupClock is a group's log time, with which its leader stamps entries: it
// never goes back while a node leads. Others follow it by what they apply, also
// when they had thought it later: what the next leader defers counts from the
// stamps of this one. So one that takes over goes on where it was, late by the
// way of an entry and never early.
type groupClock struct {
	log  int64 // log time …
	mono int64 // … at this monotonic time
}

func (k groupClock) at(now Time) int64 { return k.log + now.Mono - k.mono }

// monoAt is the monotonic time at a log time.
func (k groupClock) monoAt(log int64) int64 { return k.mono + log - k.log }

// hear takes over what an entry of another leader says.
func (k *groupClock) hear(now Time, log int64) { k.log, k.mono = log, now.Mono }

// seat returns the node's place in a group; it is made when it is not there.
func (c *Core) seat(id uint32) *seat {
	for uint32(len(c.seats)) <= id {
		s := &seat{id: uint32(len(c.seats)), log: &replica.Log{}, streams: map[stream]uint64{}}
		s.proposed.seat = s
		if c.ready { // of a node that has just joined
			s.clock = groupClock{log: c.logTime(c.now), mono: c.now.Mono}
			s.quorum.state = Electing
		}
		c.seats = append(c.seats, s)
	}
	return c.seats[id]
}

// sit lets the node take part in a group.
func (c *Core) sit(s *seat) {
	group, err := replica.New(replica.Config{
		Node: c.cfg.Node, Group: s.id, Log: s.log, Applied: s.applied,
		Snapshot: func() ([]byte, uint64) { return c.snapshot(s), s.applied },
	})
	if err != nil {
		panic("core: " + err.Error()) // the configuration is ours
	}
	s.group = group
}

// placing is an append that waits for its place in the journal.
type placing struct {
	*replica.Append
	seat *seat
	next int // record that comes next
}

// withheld is what has to wait until a batch is durable.
type withheld struct {
	seat      *seat
	batch     uint64
	upTo      uint64 // last entry that is durable then
	responses []*pb.Message
	installed *pb.Snapshot // takes effect then
}

// runGroups carries out what the groups want, and reports whether that was
// anything.
func (c *Core) runGroups(now Time, fx *Effects) (moved bool) {
	for _, s := range c.seats {
		if c.quarantine != "" {
			return false
		}
		for s.group != nil {
			w, ok := s.group.Next()
			if !ok {
				break
			}
			moved = true
			for _, m := range w.Messages {
				c.tellRaft(s, m, fx)
			}
			if w.Append != nil {
				s.follow(now, w.Append)
				c.queue = append(c.queue, placing{Append: w.Append, seat: s})
				for _, e := range w.Append.Entries {
					c.queued += journal.RecordSize(len(e.GetData()))
				}
			}
			for _, e := range w.Committed {
				if c.applyEntry(now, s, e, fx); c.quarantine != "" || c.exited {
					return moved
				}
			}
			s.group.Applied(w)
			if s.log.Trim(c.cfg.LogBytes, s.applied) {
				fx.point(PointLogTrimmed)
			}
			c.noteLead(now, s, fx)
		}
		if s.group != nil && s.group.Broken() != "" {
			c.enterQuarantine(fmt.Sprintf("what this node has of group %d contradicts what another node has: %s", s.id, s.group.Broken()), fx)
			return moved
		}
	}
	c.handed = 0
	return moved
}

func (c *Core) applyEntry(now Time, s *seat, raw *pb.Entry, fx *Effects) {
	e, err := s.group.Decode(raw)
	if err == nil && e.Kind == replica.KindConf {
		err = s.group.ApplyConf(e)
	}
	if err != nil {
		c.cannotApply(outcome{group: s.id, index: raw.GetIndex()}, err, fx)
		return
	}
	s.note(e)
	s.probe.applied(now, e.Index, fx)
	o := outcome{group: s.id, kind: e.Kind, index: e.Index, term: e.Term, payload: e.Payload, where: e.Where}
	if e.Origin.Node == c.cfg.Node && e.Origin.Life == c.cfg.Salt {
		o.ticket = e.Origin.Ticket
		s.proposed.remove(o.ticket)
	}
	switch e.Kind {
	case replica.KindEmpty:
	case replica.KindConf:
		fx.point(PointMembersChanged)
		fx.log(Info, "group %d: its members are %v now, and it teaches %v", s.id, s.log.Conf.Voters, s.log.Conf.Learners)
	default:
		c.enact(now, s, o, fx)
	}
}

// note moves the seat over an entry.
func (s *seat) note(e replica.Entry) {
	s.applied, s.appliedTerm = e.Index, e.Term
	s.chain = link(s.chain, e)
}

// link extends the hash over what was applied.
func link(chain uint64, e replica.Entry) uint64 {
	h := chain
	mix := func(x uint64) {
		h = (h ^ x) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	mix(e.Index)
	mix(e.Term)
	mix(uint64(e.Kind))
	mix(uint64(journal.Sum(e.Payload)))
	return h
}

// place gives appends their places, in their order, as far as the file has
// room.
func (c *Core) place(fx *Effects) (released bool) {
	n := 0
	for n < len(c.queue) && c.placeOne(&c.queue[n], fx, &released) {
		n++
	}
	rest := copy(c.queue, c.queue[n:])
	clear(c.queue[rest:])
	c.queue = c.queue[:rest]
	return released
}

func (c *Core) placeOne(p *placing, fx *Effects, released *bool) (whole bool) {
	s, w := p.seat, c.writer
	for {
		record, more := c.recordOf(p)
		if !more {
			break
		}
		where, ok := w.put(record)
		if !ok {
			return false
		}
		c.placedRecord(p, where, fx)
		s.placed = w.batch
		p.next++
	}
	h := withheld{seat: s, batch: s.placed, upTo: s.log.Last(), responses: p.Responses, installed: p.Snapshot}
	if h.batch <= w.durableBatch || w.memory || c.cfg.Plant.Is(plant.AckBeforeFsync) {
		h.batch = 0
	}
	if h.batch == 0 && !c.waits(s) {
		*released = true
		c.release(h, fx)
		return true
	}
	c.held = append(c.held, h)
	return true
}

// waits reports whether something of the group is held: what comes later must
// not overtake it.
func (c *Core) waits(s *seat) bool {
	for i := range c.held {
		if c.held[i].seat == s {
			return true
		}
	}
	return false
}

// recordOf returns the next record of an append: first a snapshot, then the
// entries, and last the vote, whose commit index they carry.
func (c *Core) recordOf(p *placing) (journal.Record, bool) {
	i := p.next
	if p.Snapshot != nil {
		if i == 0 {
			return c.snapshotRecord(p.seat, p.Snapshot), true
		}
		i--
	}
	if i < len(p.Entries) {
		return replica.ToRecord(p.seat.id, p.Entries[i]), true
	}
	if i == len(p.Entries) && p.Hard != nil {
		return c.hardRecord(p.seat, *p.Hard, p.seat.applied), true
	}
	return journal.Record{}, false
}

func (c *Core) placedRecord(p *placing, where journal.Position, fx *Effects) {
	s, i := p.seat, p.next
	if p.Snapshot != nil {
		if i == 0 {
			s.log.Reset(p.Snapshot.GetMetadata().GetIndex(), p.Snapshot.GetMetadata().GetTerm())
			return
		}
		i--
	}
	if i == len(p.Entries) {
		s.noted = s.applied
		return
	}
	e := p.Entries[i]
	c.queued -= journal.RecordSize(len(e.GetData()))
	if e.GetIndex() <= s.log.Last() {
		fx.point(PointTailTruncated)
	}
	if err := s.log.Put(e, where); err != nil {
		panic(fmt.Sprintf("core: group %d: %v", s.id, err))
	}
	if c.cfg.Plant.Is(plant.MinorityAck) {
		c.ackEarly(s, e.GetIndex(), fx)
	}
}

// release hands on what was held.
func (c *Core) release(h withheld, fx *Effects) {
	if h.installed != nil {
		c.installed(h.seat, h.installed, fx)
	}
	h.seat.probe.synced(c.now, h.upTo, fx)
	for _, m := range h.responses {
		if m.GetTo() == c.cfg.Node {
			h.seat.group.Respond(m)
			continue
		}
		c.tellRaft(h.seat, m, fx)
	}
}

// releaseDurable hands on what is durable now.
func (c *Core) releaseDurable(fx *Effects) {
	n := 0
	for n < len(c.held) && c.held[n].batch <= c.writer.durableBatch {
		c.release(c.held[n], fx)
		n++
	}
	rest := copy(c.held, c.held[n:])
	clear(c.held[rest:])
	c.held = c.held[:rest]
}

// write puts what waits into the journal.
func (c *Core) write(now Time, fx *Effects) (released bool) {
	w := c.writer
	if w.turnable() {
		c.turn(fx)
	}
	c.noteCommits()
	if w.memory {
		return c.gather(now, fx)
	}
	released = c.place(fx)
	switch {
	case w.syncing != 0: // what got a place gathers for the next batch
	case len(w.open) > 0:
		w.write(now, fx)
		w.sync(fx)
	case len(c.queue) > 0 || c.wantsFile:
		w.seal(now, fx)
	}
	return released
}

// gather is write with Memory: batches are written when they are large.
func (c *Core) gather(now Time, fx *Effects) (released bool) {
	w := c.writer
	released = c.place(fx)
	full := len(c.queue) > 0
	if len(w.open) > 0 && (full || w.urgent || c.stopping != serving || w.openLen >= memoryGather) {
		w.write(now, fx)
	}
	if w.syncing == 0 && w.durable != w.end() && w.at > journal.FileHeaderSize {
		w.sync(fx)
	}
	if full && len(w.open) == 0 && !released {
		w.seal(now, fx)
	}
	return released
}

// turn goes on in the next file, which begins with what the node knows: it can
// be read without those before it, but for the bodies in them.
func (c *Core) turn(fx *Effects) {
	w := c.writer
	w.enter(w.ahead, fx)
	w.ahead, w.sealing, c.wantsFile = nil, false, false
	fx.point(PointFileRotated)
	c.placeHead()
}

// placeHead puts the records that a file begins with into the open batch.
func (c *Core) placeHead() {
	w := c.writer
	put := func(r journal.Record) journal.Position {
		w.checkpointLen = journal.RecordSize(len(r.Payload)) + max(w.openLen, journal.BatchHeaderSize)
		where, ok := w.put(r)
		if !ok {
			panic("core: a fresh journal file has no room")
		}
		return where
	}
	put(c.identity.record())
	for _, s := range c.seats {
		put(c.checkpointRecord(s))
		put(c.hardRecord(s, s.log.Hard, s.applied))
		for i := s.applied + 1; i <= s.log.Last(); i++ {
			s.log.Move(i, put(s.log.Record(s.id, i)))
		}
		if c.cfg.Plant.Is(plant.HeadAheadOfLog) {
			put(c.hardRecord(s, s.log.Hard, s.log.Last()))
		}
		s.placed, s.noted = w.batch, s.applied
	}
}

// noteCommits writes down how far the groups are committed, when a file can be
// removed as soon as that is durable.
func (c *Core) noteCommits() {
	w := c.writer
	if len(w.files) < 2 || w.files[0].live != 0 || w.files[0].noted || w.sealing ||
		w.room() < int64(len(c.seats))*journal.RecordSize(hardSize) {
		return
	}
	for _, s := range c.seats {
		if s.noted < s.applied {
			w.put(c.hardRecord(s, s.log.Hard, s.applied))
			s.placed, s.noted = w.batch, s.applied
		}
	}
	w.files[0].noted, w.files[0].freed = true, w.opened()
}
