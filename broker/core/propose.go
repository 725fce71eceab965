package core

import (
	"cmp"
	"encoding/binary"
	"slices"

	"pestle/broker/journal"
	"pestle/broker/plant"
	"pestle/broker/replica"
)

// Everything that changes is a proposal. One that is handed in here either
// comes back as an outcome, once it is committed and everything before it
// applied, or is refused, and then is in no log and never will be, or this
// node stops to wait for it. How it gets into the log is decided by who leads
// its group:
//
//   - a proposal goes to the leader of a term only once the first entry of that
//     term is applied here. Whatever was handed to an earlier leader and has
//     not come back by then never will, for a later entry is committed in front
//     of it; so it is handed in again, and is in the log once;
//   - to another node proposals go numbered, and it takes them in this order
//     and only in the term they are for, so that repeating one is harmless and
//     those of one connection stay in order.

// proposal is an entry that its group has not ordered yet.
type proposal struct {
	group     uint32
	kind      uint8
	payload   []byte
	ticket    uint64 // comes back with the outcome
	essential bool   // never refused: it frees messages
	tenure    uint64 // the term it is for; 0: any

	term      uint64 // it was handed to the leader of this term; 0: to none
	seq       uint64 // its number there, from 1; 0: that was this node
	accepted  bool   // and that has taken it
	abandoned bool   // nobody waits for it: it is not handed in again
}

// outcome is a committed entry.
type outcome struct {
	group   uint32
	kind    uint8
	index   uint64
	term    uint64
	payload []byte
	where   journal.Position // of the payload
	ticket  uint64           // of the proposal, if that was this node's in this life
}

// stream names where forwarded proposals come from.
type stream struct{ node, life uint64 }

// outstanding are the proposals of one group that have not come back.
type outstanding struct {
	seat   *seat
	list   []*proposal // as they were handed in, and so by ticket
	handed int         // so many of them went to the leader of the term open
	seq    uint64      // of the last one that went to another node in that term
	sent   int         // ticks since those that were not taken went out again
}

// propose hands in an entry.
func (c *Core) propose(p proposal) uint64 {
	if p.ticket == 0 {
		p.ticket = c.token()
	}
	o := &c.seat(p.group).proposed
	o.list = append(o.list, &p)
	return p.ticket
}

// admission says what becomes of a proposal at this node's journal.
type admission uint8

const (
	admitted admission = iota
	wait               // until the next file is made
	full               // it cannot be made
)

// admits reports whether the journal has room for a proposal, when this node
// leads its group; what frees messages may use the reserve.
func (c *Core) admits(group uint32, size int, essential bool) admission {
	w := c.writer
	if !c.seat(group).leads || w.ahead != nil || essential {
		return admitted
	}
	switch room := w.room() - c.queued - c.handed - journal.RecordSize(size); {
	case room >= w.reserve():
		return admitted
	case w.why != "":
		return full
	}
	return wait
}

func (c *Core) fullText() string {
	return "the journal is full and its next file cannot be made: " + c.writer.why
}

// find returns where in the list a ticket is; false: nowhere.
func (o *outstanding) find(ticket uint64) (int, bool) {
	return slices.BinarySearchFunc(o.list, ticket, func(p *proposal, ticket uint64) int { return cmp.Compare(p.ticket, ticket) })
}

// remove strikes off what has come back, or never will.
func (o *outstanding) remove(ticket uint64) {
	i, found := o.find(ticket)
	if !found {
		return
	}
	o.list = slices.Delete(o.list, i, i+1)
	if i < o.handed {
		o.handed--
	}
}

// tenure begins anew with the leader of another term: nobody needs to hand in
// what nobody waits for.
func (o *outstanding) tenure() {
	o.handed, o.seq, o.sent = 0, 0, 0
	o.list = slices.DeleteFunc(o.list, func(p *proposal) bool {
		return p.abandoned || p.tenure != 0 && p.tenure != o.seat.open
	})
}

// withdraw stops to wait for a proposal and reports whether it surely is in no
// log. One that makes something stays: others wait for it too.
func (c *Core) withdraw(group uint32, ticket uint64) (never bool) {
	o := &c.seat(group).proposed
	i, found := o.find(ticket)
	switch {
	case !found || o.list[i].kind != kindPublish && o.list[i].kind != kindMembers:
		return false
	case i >= o.handed && (o.list[i].term == 0 || o.list[i].term < o.seat.open):
		o.remove(ticket)
		return true
	}
	o.list[i].abandoned = true
	return false
}

// handIn hands what is outstanding to whoever leads.
func (c *Core) handIn(fx *Effects) {
	for _, s := range c.seats {
		o := &s.proposed
		for c.quarantine == "" && s.open != 0 && o.handed < len(o.list) {
			p := o.list[o.handed]
			if p.term != 0 {
				fx.point(PointProposedAgain)
			}
			if !c.handInOne(s, p, fx) {
				break
			}
		}
	}
}

// handInOne hands in the next one; false: not now.
func (c *Core) handInOne(s *seat, p *proposal, fx *Effects) bool {
	if !s.leads {
		o := &s.proposed
		o.seq++
		o.handed++
		p.term, p.seq, p.accepted = s.open, o.seq, false
		fx.point(PointForwarded)
		c.tellForward(s, p)
		return true
	}
	switch c.admits(s.id, len(p.payload), p.essential) {
	case wait:
		c.writer.create(fx)
		return false
	case full:
		s.proposed.remove(p.ticket)
		c.proposalRefused(p.kind, p.ticket, c.fullText(), fx)
		return true
	case admitted:
	}
	data := replica.EncodeEntry(p.kind, replica.Origin{Node: c.cfg.Node, Life: c.cfg.Salt, Ticket: p.ticket}, p.payload)
	stamp(p.kind, data[len(data)-len(p.payload):], s.clock.at(c.now))
	if !s.group.Propose(data) {
		return false
	}
	c.handed += journal.RecordSize(len(data))
	p.term, p.seq = s.open, 0
	s.proposed.handed++
	return true
}

// stamp gives an entry the log time at which the leader took it.
func stamp(kind uint8, payload []byte, log int64) {
	if kind == kindPublish && len(payload) >= publishBody {
		binary.LittleEndian.PutUint64(payload[1:], uint64(log))
	}
}

// stampOf is the log time that an entry carries; 0: none.
func stampOf(kind uint8, payload []byte) int64 {
	switch kind {
	case kindPublish:
		if len(payload) >= publishBody {
			return int64(binary.LittleEndian.Uint64(payload[1:]))
		}
	case kindLedger:
		if e, err := decodeLedger(payload); err == nil {
			return e.asOf
		}
	}
	return 0
}

// newStamp is the log time that an entry of another leader carries; 0: none, or
// the clock follows it already.
func (s *seat) newStamp(o outcome) int64 {
	if s.leads || s.own(o) {
		return 0
	}
	return stampOf(o.kind, o.payload)
}

// own reports whether an entry was in the journal when the node began its life.
func (s *seat) own(o outcome) bool { return o.index <= s.ownIndex && o.term <= s.ownTerm }

// repeat sends again, after a while, what the leader has not taken.
func (c *Core) repeat(s *seat, fx *Effects) {
	o := &s.proposed
	if o.sent++; s.leads || s.open == 0 || o.sent < repeatTicks {
		return
	}
	o.sent = 0
	for size, i := 0, 0; i < len(o.list) && size < repeatBytes; i++ {
		if p := o.list[i]; p.term == s.open && p.seq != 0 && !p.accepted {
			size += len(p.payload)
			fx.point(PointForwardedAgain)
			c.tellForward(s, p)
		}
	}
}

const (
	repeatTicks = 8       // that a forwarded proposal waits for its answer
	repeatBytes = 1 << 20 // sent again at once, about: the first are taken first
)

// forwarded takes a proposal of another node, if this one leads in the term it
// is for and it is the next one.
func (c *Core) forwarded(now Time, from stream, group uint32, term, seq uint64, p proposal, fx *Effects) {
	s := c.seat(group)
	if s.group == nil || !s.leads || s.open != term {
		return // whoever sent it learns of the new leader and hands it in again
	}
	if s.proposed.handed < len(s.proposed.list) {
		return // this node's own wait, and nothing overtakes a ledger entry
	}
	last := s.streams[from]
	switch {
	case seq > last+1:
		return // one before it was lost, and will come again
	case seq <= last && !c.cfg.Plant.Is(plant.ForwardedTwiceTaken):
		fx.point(PointForwardedTwice)
		c.tellAccepted(s, from, last)
		return
	}
	switch c.admits(group, len(p.payload), p.essential) {
	case wait:
		c.writer.create(fx)
		return // it comes again
	case full:
		s.streams[from] = seq
		c.tellRefused(s, from, seq, c.fullText())
		return
	case admitted:
	}
	data := replica.EncodeEntry(p.kind, replica.Origin{Node: from.node, Life: from.life, Ticket: p.ticket}, p.payload)
	stamp(p.kind, data[len(data)-len(p.payload):], s.clock.at(now))
	if s.group.Propose(data) {
		c.handed += journal.RecordSize(len(data))
		s.streams[from] = seq
		c.tellAccepted(s, from, seq)
	}
}

// accepted notes that the leader of a term has taken proposals up to a number.
func (o *outstanding) accepted(term, seq uint64) {
	for _, p := range o.list {
		if p.term == term && p.seq != 0 && p.seq <= seq {
			p.accepted = true
		}
	}
}

// refused gives up on the proposal that the leader of a term has refused.
func (c *Core) refused(s *seat, term, seq uint64, why string, fx *Effects) {
	for _, p := range s.proposed.list {
		if p.term == term && p.seq == seq {
			s.proposed.remove(p.ticket)
			c.proposalRefused(p.kind, p.ticket, why, fx)
			return
		}
	}
}
