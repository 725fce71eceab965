package network

// Kill is the end of the process on a host while its machine runs on: the
// kernel closes its connections. What it had taken still arrives.
func (n *Network) Kill(now int64, h Host) {
	n.Unlisten(h)
	n.eachEnd(h, func(c *conn, e End) {
		if c.giveUp() {
			n.retire(c)
			return
		}
		f, in := &c.flows[e], &c.flows[e.other()]
		f.dropPending()
		mark := finMark
		if in.unread > 0 {
			mark = resetMark
		}
		in.merging, in.unread = nil, 0
		c.ends[e] = gone
		n.push(now, c, e, segment{mark: mark})
		n.retire(c)
	})
}

// Vanish is the end of the process and its machine: nobody is told anything.
// What was on a link still arrives.
func (n *Network) Vanish(now int64, h Host) {
	n.Unlisten(h)
	n.host(h).vanished = true
	n.eachEnd(h, func(c *conn, e End) {
		if !c.giveUp() {
			c.flows[e].dropPending()
			c.flows[e].dropHeld()
			c.flows[e.other()].merging = nil
			c.ends[e] = gone
		}
		n.retire(c)
	})
}

// Boot ends what Vanish began: the machine is up and knows of no connection.
// Those who sent something meanwhile learn that when they send it again.
func (n *Network) Boot(now int64, h Host) {
	n.host(h).vanished = false
	n.eachDead(h, func(c *conn, e End) {
		if in := &c.flows[e.other()]; in.unanswered {
			in.unanswered = false
			n.answerReset(now+n.streamOf(h).Below(retransmitAfterCut), c, e)
		}
	})
}

// Reset tears every connection of a host: both ends are told, and what was on
// its way is lost. The list of what there is to tell is good until the next
// call.
func (n *Network) Reset(now int64, h Host) []Notice {
	return n.reset(now, h, func(Host) bool { return true })
}

// ResetBetween does so with the connections that a host has with one other.
func (n *Network) ResetBetween(now int64, h, peer Host) []Notice {
	return n.reset(now, h, func(other Host) bool { return other == peer })
}

func (n *Network) reset(now int64, h Host, hits func(peer Host) bool) []Notice {
	n.notices = n.notices[:0]
	n.eachEnd(h, func(c *conn, e End) {
		if !hits(c.hosts[e.other()]) || !n.tear(c, e) {
			return
		}
		n.push(now, c, e, segment{mark: resetMark})
		n.retire(c)
	})
	return n.notices
}

// HalfOpen tears every connection of a host and tells only the host: its peers
// learn it when they send something after silent has passed, a virtual time.
func (n *Network) HalfOpen(h Host, silent int64) []Notice {
	n.notices = n.notices[:0]
	n.eachEnd(h, func(c *conn, e End) {
		if n.tear(c, e) {
			c.silent = silent
			n.retire(c)
		}
	})
	return n.notices
}

// Unsilence ends the silence of a host's torn connections: who sent something
// meanwhile learns that they are gone.
func (n *Network) Unsilence(now int64, h Host) {
	n.eachDead(h, func(c *conn, e End) {
		if in := &c.flows[e.other()]; in.unanswered && now >= c.silent {
			in.unanswered = false
			n.answerReset(now+n.streamOf(h).Below(retransmitAfterCut), c, e)
		}
	})
}

// tear drops what is on its way and takes one end's connection from it. It
// reports whether there was one.
func (n *Network) tear(c *conn, e End) bool {
	if c.ends[e] != open {
		return false
	}
	c.epoch++
	c.flows[Dialer].drop()
	c.flows[Acceptor].drop()
	c.ends[e] = gone
	if c.ends[e.other()] == absent { // the acceptor has not heard of it
		c.ends[e.other()] = gone
	}
	n.tell(c, e, Notice{Kind: Closed, Text: TextReset})
	return true
}

// eachEnd visits the ends of connections at a host that something is at, in
// order.
func (n *Network) eachEnd(h Host, visit func(*conn, End)) {
	for _, c := range n.conns {
		for e := range End(2) {
			if c != nil && c.hosts[e] == h && c.ends[e] != gone && (e == Dialer || c.ends[e] != absent) {
				visit(c, e)
			}
		}
	}
}

// eachDead visits the ends at a host that nothing is at any more, of
// connections that the other end still has.
func (n *Network) eachDead(h Host, visit func(*conn, End)) {
	for _, c := range n.conns {
		for e := range End(2) {
			if c != nil && c.hosts[e] == h && c.ends[e] == gone {
				visit(c, e)
			}
		}
	}
}
