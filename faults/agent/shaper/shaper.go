package shaper

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"net/netip"
	"slices"

	"pestle/faults/agent"
)

// Decision is what becomes of a packet: it goes on, unless Drop.
type Decision struct {
	ID     uint32
	Drop   bool
	Packet []byte // it goes on as this; nil: as it came
	Twice  []byte // a second one of this goes on behind it; nil: none
}

// Shaper holds packets. One goroutine at a time may use it. Times are
// nanoseconds of any one clock that does not run backwards.
type Shaper struct {
	parts []*part // by ref
	links map[netip.Addr]*link
	held  packets
	taken uint64 // packets so far
}

// New returns a shaper that lets everything pass.
func New() *Shaper { return &Shaper{links: make(map[netip.Addr]*link)} }

// Impose begins a fault's shaping of what comes from peers, none meaning all.
// What an earlier call with this ref imposed is lifted. Packets that are held
// already stay as they are.
func (s *Shaper) Impose(now int64, ref int, peers []netip.Addr, shaping agent.Shaping) {
	s.Lift(now, ref)
	s.parts = append(s.parts, &part{ref: ref, peers: slices.Clone(peers), shaping: shaping, hits: agent.Hits{Ref: ref}})
	slices.SortFunc(s.parts, func(a, b *part) int { return cmp.Compare(a.ref, b.ref) })
}

// Lift ends a fault's shaping and returns what it met. Packets that only it
// held are due now, in the order in which they came; false: there was none.
func (s *Shaper) Lift(now int64, ref int) (agent.Hits, bool) {
	i := slices.IndexFunc(s.parts, func(p *part) bool { return p.ref == ref })
	if i < 0 {
		return agent.Hits{}, false
	}
	gone := s.parts[i]
	s.parts = slices.Delete(s.parts, i, i+1)
	for peer, l := range s.links {
		if gone.covers(peer) {
			delete(l.streams, ref)
			l.free, l.last = now-slack, now
		}
	}
	s.hurry(now, gone)
	return gone.hits, true
}

// Shaped tells whether anything is imposed.
func (s *Shaper) Shaped() bool { return len(s.parts) > 0 }

// Hits returns what each fault has met, by ref.
func (s *Shaper) Hits() []agent.Hits {
	hits := make([]agent.Hits, len(s.parts))
	for i, p := range s.parts {
		hits[i] = p.hits
	}
	return hits
}

// Take decides about a packet that arrived now and appends the decision, unless
// the packet is held: then Due returns it later. What is due before it is
// appended first. The packet's bytes are not kept.
func (s *Shaper) Take(now int64, id uint32, packet []byte, decisions []Decision) []Decision {
	decisions = s.Due(now, decisions)
	h, ok := parse(packet)
	if !ok || !s.covered(h.source) {
		return append(decisions, Decision{ID: id})
	}
	l := s.link(now, h.source)
	f, lane := s.meet(l, h, len(packet))
	d := Decision{ID: id}
	if f.lost {
		d.Drop = true
		return append(decisions, d)
	}
	if f.damaged {
		d.Packet = damaged(packet, h, f.bit)
	}
	at := int64(never)
	if !lane.jammed {
		at = l.place(l.pass(now, len(packet), lane.bytesPerSecond)+int64(f.delay), f)
	}
	if at > now && l.held >= maxHeld {
		s.overflow(h.source)
		d.Drop = true
		return append(decisions, d)
	}
	if f.twice {
		if d.Twice = d.Packet; d.Twice == nil {
			d.Twice = slices.Clone(packet)
		}
	}
	if at <= now {
		return append(decisions, d)
	}
	s.hold(packetHeld{at: at, link: l, peer: h.source, arrived: now, bytes: len(packet), decision: d})
	return decisions
}

// Next returns when Due has something to return; false: nothing is due ever,
// unless something is lifted.
func (s *Shaper) Next() (int64, bool) {
	if len(s.held) == 0 || s.held[0].at == never {
		return 0, false
	}
	return s.held[0].at, true
}

// Due appends the decisions about held packets that are to go on by now.
func (s *Shaper) Due(now int64, decisions []Decision) []Decision {
	for len(s.held) > 0 && s.held[0].at <= now {
		p := heap.Pop(&s.held).(*packetHeld)
		p.link.held--
		decisions = append(decisions, p.decision)
	}
	return decisions
}

func (s *Shaper) covered(peer netip.Addr) bool {
	return slices.ContainsFunc(s.parts, func(p *part) bool { return p.covers(peer) })
}

func (s *Shaper) link(now int64, peer netip.Addr) *link {
	l := s.links[peer]
	if l == nil {
		l = &link{streams: make(map[int]*rand.PCG), free: now - slack}
		s.links[peer] = l
	}
	return l
}

// meet lets every part that covers the packet's sender decide about it.
func (s *Shaper) meet(l *link, h header, bytes int) (fate, lane) {
	var all fate
	var width lane
	for _, p := range s.parts {
		if !p.covers(h.source) {
			continue
		}
		stream := l.streams[p.ref]
		if stream == nil {
			stream = newStream(p.shaping.Seed, h.source)
			l.streams[p.ref] = stream
		}
		f := p.fate(stream)
		f.damaged = f.damaged && h.payload < bytes // else there is nothing to damage
		p.count(f, bytes)
		all = all.and(f)
		width.narrow(p)
	}
	return all, width
}

func (s *Shaper) overflow(peer netip.Addr) {
	for _, p := range s.parts {
		if p.covers(peer) {
			p.hits.Overflowed++
		}
	}
}

func (s *Shaper) hold(p packetHeld) {
	s.taken++
	p.number = s.taken
	p.link.held++
	heap.Push(&s.held, &p)
}

// hurry gives the held packets that the part delayed the time that they have
// without it, never a later one than before.
func (s *Shaper) hurry(now int64, gone *part) {
	slices.SortFunc(s.held, func(a, b *packetHeld) int { return cmp.Compare(a.number, b.number) })
	for _, p := range s.held {
		if !gone.covers(p.peer) {
			continue
		}
		var width lane
		for _, left := range s.parts {
			if left.covers(p.peer) {
				width.narrow(left)
			}
		}
		if width.jammed {
			continue
		}
		passed := p.link.pass(max(now, p.arrived), p.bytes, width.bytesPerSecond)
		p.at = min(p.at, p.link.place(max(passed, p.arrived+int64(width.delay)), fate{}))
	}
	heap.Init(&s.held)
}
