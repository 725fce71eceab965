package network

import "pestle/sim/schedule"

// Step takes one of the network's events and returns what it has to tell; the
// list is good until the next call.
func (n *Network) Step(now int64, ev schedule.Event) []Notice {
	n.notices = n.notices[:0]
	c := n.conn(ConnID(ev.A))
	if c == nil || ev.Life != c.epoch {
		return nil
	}
	switch ev.Kind {
	case evArrive:
		if e := End(ev.B & 1); ev.B>>1 == c.flows[e].round {
			n.arrived(now, c, e)
		}
	case evRead:
		n.readMerged(c, End(ev.B))
	case evCredit:
		n.refill(now, c, End(ev.B))
	case evSyn:
		n.synArrived(now, c)
	case evSynLost:
		if c.dialing {
			n.syn(now, c)
		}
	case evSynAck:
		n.answered(now, c)
	case evRefused:
		if c.dialing {
			c.dialing, c.ends[Dialer], c.ends[Acceptor] = false, gone, gone
			n.tell(c, Dialer, Notice{Kind: Refused})
			n.retire(c)
		}
	}
	return n.notices
}

// synArrived answers a first packet, if somebody is there to do it.
func (n *Network) synArrived(now int64, c *conn) {
	h, back := n.host(c.hosts[Acceptor]), c.flows[Acceptor].link
	if !c.dialing {
		return
	}
	refused := h.listener == 0 || c.refused()
	if h.vanished || back.state.Cut || !refused && h.backlog >= Backlog {
		n.synLost(now, c)
		return
	}
	kind := evSynAck
	if refused {
		kind = evRefused
	}
	c.listener = h.listener
	n.add(back.arrival(now, 0, &n.profile), kind, c, 0)
}

// refused reports that the way to the acceptor lets no connection be made.
func (c *conn) refused() bool { return c.flows[Dialer].link.state.Refused }

func (n *Network) answered(now int64, c *conn) {
	if !c.dialing {
		return
	}
	c.dialing, c.ends[Dialer] = false, open
	n.push(now, c, Dialer, segment{mark: openMark})
	n.tell(c, Dialer, Notice{Kind: Connected})
}

// arrived handles the first segment of flow e at the other end.
func (n *Network) arrived(now int64, c *conn, e End) {
	f, to := &c.flows[e], e.other()
	s := f.pop()
	if s.mark == openMark {
		n.completed(now, c)
		return
	}
	switch c.ends[to] {
	case open:
		n.received(now, c, e, s)
	case closing:
		f.used -= len(s.data)
		if s.mark != noMark {
			c.ends[to] = gone
		}
		n.retire(c)
	case gone, absent:
		n.unknown(now, c, e, s)
	}
}

// completed makes the acceptor's end, if its process still listens and can
// still be reached.
func (n *Network) completed(now int64, c *conn) {
	h := n.host(c.hosts[Acceptor])
	switch {
	case h.vanished:
		c.ends[Acceptor] = gone
		c.flows[Dialer].unanswered = true
	case h.listener != c.listener || c.refused():
		c.ends[Acceptor] = gone
		n.push(now, c, Acceptor, segment{mark: resetMark})
	default:
		c.ends[Acceptor] = open
		h.backlog++
		n.tell(c, Acceptor, Notice{Kind: Opened})
	}
}

// received hands a segment to an open end.
func (n *Network) received(now int64, c *conn, e End, s segment) {
	f, to := &c.flows[e], e.other()
	if s.mark != noMark {
		n.flushMerged(c, e)
		text := TextEOF
		if s.mark == resetMark {
			text = TextReset
			c.flows[to].dropPending()
			c.ends[to] = gone
			n.retire(c)
		}
		n.tell(c, to, Notice{Kind: Closed, Text: text})
		return
	}
	f.unread += len(s.data)
	if len(f.merging) > 0 {
		f.merging = append(f.merging, s.data...)
		return
	}
	if n.profile.MergePermille > 0 && f.link.stream.Permille(n.profile.MergePermille) {
		f.merging = append(f.merging, s.data...)
		if !f.mergeSet {
			f.mergeSet = true
			n.add(now+1+f.link.stream.Below(lingering), evRead, c, uint64(e))
		}
		return
	}
	n.tell(c, to, Notice{Kind: Data, Data: s.data})
}

func (n *Network) readMerged(c *conn, e End) {
	c.flows[e].mergeSet = false
	if c.ends[e.other()] == open {
		n.flushMerged(c, e)
	}
}

func (n *Network) flushMerged(c *conn, e End) {
	if f := &c.flows[e]; len(f.merging) > 0 {
		n.tell(c, e.other(), Notice{Kind: Data, Data: f.merging})
		f.merging = nil
	}
}

// unknown answers a segment that came where its connection is not known.
func (n *Network) unknown(now int64, c *conn, e End, s segment) {
	to := e.other()
	switch {
	case s.mark == resetMark:
	case n.host(c.hosts[to]).vanished || now < c.silent:
		c.flows[e].unanswered = true
		return
	case c.ends[e] == open || c.ends[e] == closing:
		n.answerReset(now, c, to)
	}
	n.retire(c)
}

// answerReset tells the other end that its connection is not known here. It
// may follow a closing mark: the dead answer as often as they are asked.
func (n *Network) answerReset(now int64, c *conn, from End) {
	c.flows[from].finished = false
	n.push(now, c, from, segment{mark: resetMark})
}
