package sim

import (
	"strconv"

	"pestle/broker/core"
	"pestle/sim/network"
)

func (b *broker) noticed(now int64, n *network.Notice) {
	switch n.Kind {
	case network.Opened:
		if !b.ready {
			b.early = append(b.early, *n)
			return
		}
		b.opened(now, n)
	case network.Data:
		b.net.Consumed(now, n.Conn, network.Acceptor, len(n.Data))
		if c := b.conns[n.Conn]; c != nil && !c.closing {
			b.step(now, core.Event{Kind: core.EvData, Conn: core.ConnID(n.Conn), Data: n.Data})
		}
	case network.Sent:
		if c := b.conns[n.Conn]; c != nil {
			b.sent(now, n.Conn, c, n.N)
		}
	case network.Closed:
		b.net.Close(now, n.Conn, network.Acceptor)
		if c := b.conns[n.Conn]; c != nil {
			b.over(now, n.Conn, c)
		}
	}
}

func (b *broker) opened(now int64, n *network.Notice) {
	b.net.Accepted(n.Conn)
	b.conns[n.Conn] = &link{}
	remote := b.processes[n.Peer].name + ":" + strconv.FormatUint(uint64(n.Conn), 10)
	b.step(now, core.Event{Kind: core.EvOpened, Conn: core.ConnID(n.Conn), Text: remote})
}

// over tells the core that a connection is gone, once.
func (b *broker) over(now int64, id network.ConnID, c *link) {
	delete(b.conns, id)
	if !c.reported {
		c.reported = true
		b.step(now, core.Event{Kind: core.EvClosed, Conn: core.ConnID(id)})
	}
}

func (b *broker) send(now int64, id network.ConnID, data []byte) {
	c := b.conns[id]
	if c == nil {
		return
	}
	c.out = append(c.out, data)
	b.wakeWriter(now, id, c)
}

func (b *broker) wakeWriter(now int64, id network.ConnID, c *link) {
	if !c.writing && b.net.Pending(id, network.Acceptor) == 0 {
		c.writing = true
		b.post(now+1+b.noise.Below(flushDelay), evWrite, uint64(id))
	}
}

// write hands what has gathered to the kernel, in one piece.
func (b *broker) write(now int64, id network.ConnID) {
	c := b.conns[id]
	if c == nil {
		return
	}
	c.writing = false
	if taken := b.flushOut(now, id, c); taken > 0 {
		b.sent(now, id, c, taken)
		return
	}
	b.closeWhenSent(now, id, c)
}

func (b *broker) flushOut(now int64, id network.ConnID, c *link) (taken int) {
	out := c.out
	switch len(out) {
	case 0:
		return 0
	case 1:
		taken = b.net.Send(now, id, network.Acceptor, out[0])
	default:
		size := 0
		for _, p := range out {
			size += len(p)
		}
		all := make([]byte, 0, size)
		for _, p := range out {
			all = append(all, p...)
		}
		taken = b.net.Send(now, id, network.Acceptor, all)
	}
	clear(out)
	c.out = out[:0]
	return taken
}

// sent tells the core how far the network took its output.
func (b *broker) sent(now int64, id network.ConnID, c *link, n int) {
	if !c.reported {
		b.step(now, core.Event{Kind: core.EvSent, Conn: core.ConnID(id), N: n})
	}
	if b.conns[id] != c || !b.running {
		return
	}
	if len(c.out) > 0 {
		b.wakeWriter(now, id, c)
		return
	}
	b.closeWhenSent(now, id, c)
}

// close closes a connection once everything is sent.
func (b *broker) close(now int64, id network.ConnID) {
	c := b.conns[id]
	if c == nil || c.closing {
		return
	}
	c.closing = true
	b.post(now+hangUpGrace, evHangUp, uint64(id))
	b.wakeWriter(now, id, c)
}

func (b *broker) closeWhenSent(now int64, id network.ConnID, c *link) {
	if c.closing && len(c.out) == 0 && b.net.Pending(id, network.Acceptor) == 0 {
		b.hangUp(now, id)
	}
}

func (b *broker) hangUp(now int64, id network.ConnID) {
	if c := b.conns[id]; c != nil {
		b.net.Close(now, id, network.Acceptor)
		b.over(now, id, c)
	}
}
