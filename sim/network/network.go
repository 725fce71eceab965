package network

import (
	"pestle/sim/random"
	"pestle/sim/schedule"
)

// NoticeKind says which fields of a Notice are set.
type NoticeKind uint8

// What the network has to tell a process. Sent counts bytes that Send did not
// take at once.
const (
	Connected NoticeKind = iota + 1 // Conn, dialled from here, works
	Refused                         // nobody listens where Conn was to go, or the link refuses it
	Opened                          // Conn was dialled from Peer and waits to be accepted
	Data                            // Data has arrived on Conn; tell Consumed when it is read
	Sent                            // N more bytes were taken
	Closed                          // Conn is over; Text says how
)

// Texts of Closed, as Linux has them.
const (
	TextEOF   = "EOF"
	TextReset = "connection reset by peer"
)

// Notice is one thing that happened to the process on Host.
type Notice struct {
	Kind NoticeKind
	Host Host
	Conn ConnID
	End  End
	Peer Host
	Data []byte
	N    int
	Text string
}

const (
	defaultWindow = 256 << 10
	maxSegment    = 64 << 10 // bytes that travel as one

	// Backlog is how many connections may wait to be accepted by a process;
	// the first packet of another one is dropped.
	Backlog = 128

	dialAgain = 1 * second // first pause of a dialler that gets no answer; doubles
	lingering = 300 * microsecond
)

// Network is the network of one run.
type Network struct {
	queue   *schedule.Queue
	actor   schedule.Actor
	seed    uint64
	profile Profile

	links   map[pair]*link
	all     []*link // in order of first use
	hosts   []host
	conns   []*conn // by id - 1; nil: over
	notices []Notice
	lives   uint64 // listeners so far
}

type pair struct{ from, to Host }

type host struct {
	listener uint64 // 0: nobody listens
	backlog  int
	vanished bool
}

// The kinds of this actor's events. A is the connection, B what the kind says.
const (
	evArrive  uint8 = iota + 1 // the first segment of the flow that the last bit of B names; the others are its round
	evRead                     // what flow B has to be read together
	evCredit                   // flow B may go on
	evSyn                      // a first packet
	evSynLost                  // its answer did not come
	evSynAck                   // its answer
	evRefused                  // its refusal
)

// New returns a network without hosts or connections, whose events in queue
// are addressed to actor.
func New(queue *schedule.Queue, actor schedule.Actor, seed uint64, p Profile) *Network {
	if p.Window == 0 {
		p.Window = defaultWindow
	}
	return &Network{queue: queue, actor: actor, seed: seed, profile: p, links: map[pair]*link{}}
}

func (n *Network) host(h Host) *host {
	for int(h) >= len(n.hosts) {
		n.hosts = append(n.hosts, host{})
	}
	return &n.hosts[h]
}

func (n *Network) link(from, to Host) *link {
	l := n.links[pair{from, to}]
	if l == nil {
		l = newLink(n.seed, from, to, &n.profile)
		n.links[pair{from, to}] = l
		n.all = append(n.all, l)
	}
	return l
}

func (n *Network) conn(id ConnID) *conn {
	if id == 0 || int(id) > len(n.conns) {
		return nil
	}
	return n.conns[id-1]
}

func (n *Network) add(at int64, kind uint8, c *conn, b uint64) {
	n.queue.Add(schedule.Event{At: at, To: n.actor, Kind: kind, Life: c.epoch, A: uint64(c.id), B: b})
}

func (n *Network) tell(c *conn, e End, notice Notice) {
	notice.Host, notice.Conn, notice.End, notice.Peer = c.hosts[e], c.id, e, c.hosts[e.other()]
	n.notices = append(n.notices, notice)
}

// Listen makes a host take connections.
func (n *Network) Listen(h Host) {
	n.lives++
	n.host(h).listener, n.host(h).backlog = n.lives, 0
}

// Unlisten ends that: diallers are refused, and so are connections that were
// not complete.
func (n *Network) Unlisten(h Host) { n.host(h).listener = 0 }

// Accepted tells that the process took an Opened connection.
func (n *Network) Accepted(id ConnID) {
	if c := n.conn(id); c != nil {
		if h := n.host(c.hosts[Acceptor]); h.listener == c.listener {
			h.backlog--
		}
	}
}

// Dial begins a connection. What comes of it is told as Connected, Refused or
// Closed to from, or never: bound it, and Close what is not wanted any more.
func (n *Network) Dial(now int64, from, to Host) ConnID {
	c := &conn{id: ConnID(len(n.conns) + 1), hosts: [2]Host{from, to}, dialing: true}
	c.flows[Dialer].link, c.flows[Acceptor].link = n.link(from, to), n.link(to, from)
	n.conns = append(n.conns, c)
	n.syn(now, c)
	return c.id
}

// syn sends the first packet, again and again until an answer comes.
func (n *Network) syn(now int64, c *conn) {
	l := c.flows[Dialer].link
	if l.state.Cut {
		n.synLost(now, c)
		return
	}
	n.add(l.arrival(now, 0, &n.profile), evSyn, c, 0)
}

func (n *Network) synLost(now int64, c *conn) {
	n.add(now+dialAgain<<c.tries, evSynLost, c, 0)
	c.tries++
}

// Send puts data on a connection, whose bytes are the network's from then on,
// and returns how many of them were taken at once. The rest follows, and is
// told as Sent, when the other end's process has read enough. A connection
// that is over takes everything, to nowhere, as a kernel does until it learns
// that.
func (n *Network) Send(now int64, id ConnID, e End, data []byte) (taken int) {
	c := n.conn(id)
	if c == nil || c.ends[e] != open || len(data) == 0 {
		return len(data)
	}
	f := &c.flows[e]
	if len(f.pending) == 0 {
		taken = n.take(now, c, e, data)
	}
	if taken < len(data) {
		f.pending = append(f.pending, data[taken:])
		f.pendingBytes += len(data) - taken
	}
	return taken
}

// take puts as much of data on its way as the window allows.
func (n *Network) take(now int64, c *conn, e End, data []byte) (taken int) {
	f := &c.flows[e]
	data = data[:min(len(data), max(0, n.profile.Window-f.used))]
	for len(data) > 0 {
		size := min(len(data), maxSegment)
		if size > 1 && n.profile.SplitPermille > 0 && f.link.stream.Permille(n.profile.SplitPermille) {
			size = int(f.link.stream.Between(1, int64(size)-1))
		}
		f.used += size
		n.push(now, c, e, segment{data: data[:size:size]})
		data = data[size:]
		taken += size
	}
	return taken
}

// push puts a segment on its way behind those before it.
func (n *Network) push(now int64, c *conn, e End, s segment) {
	f := &c.flows[e]
	if f.finished {
		return
	}
	f.finished = s.mark == finMark || s.mark == resetMark
	f.put(s)
	if !f.link.state.Cut && f.scheduled == f.waiting()-1 {
		n.launch(now, c, e)
	}
}

// launch schedules the arrival of the first segment that has none.
func (n *Network) launch(now int64, c *conn, e End) {
	f := &c.flows[e]
	size := len(f.segs[f.head+f.scheduled].data)
	f.last = max(f.link.arrival(now, size, &n.profile), f.last+1)
	f.scheduled++
	n.add(f.last, evArrive, c, f.round<<1|uint64(e))
}

// Consumed tells that the process at an end has read so many bytes that came
// as Data.
func (n *Network) Consumed(now int64, id ConnID, e End, bytes int) {
	c := n.conn(id)
	if c == nil {
		return
	}
	f := &c.flows[e.other()]
	f.unread = max(0, f.unread-bytes)
	f.used = max(0, f.used-bytes)
	if len(f.pending) == 0 || f.crediting {
		return
	}
	f.crediting = true
	if back := c.flows[e].link; back.state.Cut {
		f.creditHeld = true
	} else {
		n.add(back.arrival(now, 0, &n.profile), evCredit, c, uint64(e.other()))
	}
}

// refill goes on with what a flow's window had no room for.
func (n *Network) refill(now int64, c *conn, e End) {
	f := &c.flows[e]
	f.crediting, f.creditHeld = false, false
	sent := 0
	for len(f.pending) > 0 {
		taken := n.take(now, c, e, f.pending[0])
		sent += taken
		if taken < len(f.pending[0]) {
			f.pending[0] = f.pending[0][taken:]
			break
		}
		f.pending[0] = nil
		f.pending = f.pending[1:]
	}
	f.pendingBytes -= sent
	if f.finAfter && len(f.pending) == 0 {
		n.push(now, c, e, segment{mark: finMark})
	}
	if sent > 0 && c.ends[e] == open {
		n.tell(c, e, Notice{Kind: Sent, N: sent})
	}
}

// Pending returns how many bytes of an end wait for the window.
func (n *Network) Pending(id ConnID, e End) int {
	if c := n.conn(id); c != nil {
		return c.flows[e].pendingBytes
	}
	return 0
}

// Close closes an end in order: what was sent arrives, then the other end
// learns it. Nothing more is told to this one.
func (n *Network) Close(now int64, id ConnID, e End) {
	c := n.conn(id)
	if c == nil || c.ends[e] == closing || c.ends[e] == gone || e == Acceptor && c.ends[e] == absent {
		return
	}
	if c.giveUp() {
		n.retire(c)
		return
	}
	c.ends[e] = closing
	if f := &c.flows[e]; len(f.pending) > 0 {
		f.finAfter = true
	} else {
		n.push(now, c, e, segment{mark: finMark})
	}
	n.retire(c)
}

// giveUp ends a connection that is still being made: nobody was told of it. It
// reports whether this is one.
func (c *conn) giveUp() bool {
	if c.ends[Dialer] != absent {
		return false
	}
	c.ends, c.dialing = [2]endState{gone, gone}, false
	return true
}

// retire forgets a connection that nobody has any more.
func (n *Network) retire(c *conn) {
	over := func(e End) bool { return c.ends[e] == gone || c.ends[e] == closing && c.ends[e.other()] == gone }
	if over(Dialer) && over(Acceptor) {
		n.conns[c.id-1] = nil
	}
}

// Impose puts a fault's condition on the link from one host to another, in
// place of the one it had with the same ref.
func (n *Network) Impose(now int64, ref int, from, to Host, c Condition) {
	n.change(now, n.link(from, to), ref, c, true)
}

// Lift takes it off again.
func (n *Network) Lift(now int64, ref int, from, to Host) {
	n.change(now, n.link(from, to), ref, Condition{}, false)
}

// change changes the state of a link. What waited for one that was cut is sent
// again, and what was queued for a narrow one leaves at its new rate.
func (n *Network) change(now int64, l *link, ref int, c Condition, on bool) {
	was := l.state
	l.change(now, ref, c, on)
	healed := was.Cut && !l.state.Cut
	widened := was.BytesPerSecond > 0 && l.state.BytesPerSecond != was.BytesPerSecond
	if !healed && !widened {
		return
	}
	if widened {
		l.free = now
	}
	for _, c := range n.conns {
		if c == nil {
			continue
		}
		for e := range End(2) {
			if c.flows[e].link != l {
				continue
			}
			if widened {
				c.flows[e].unschedule(now)
			}
			if !l.state.Cut {
				n.resume(now, c, e, healed)
			}
		}
	}
}

// resume puts on the link what a flow has waiting for it.
func (n *Network) resume(now int64, c *conn, e End, healed bool) {
	f, back := &c.flows[e], &c.flows[e.other()]
	at := now
	if healed && (f.scheduled < f.waiting() || back.creditHeld) {
		at = f.link.resend(now)
	}
	for f.scheduled < f.waiting() {
		n.launch(at, c, e)
	}
	if back.creditHeld {
		back.creditHeld = false
		n.add(at, evCredit, c, uint64(e.other()))
	}
}

// streamOf returns the stream of a host for what is about none of its links.
func (n *Network) streamOf(h Host) *random.Stream { return n.link(h, h).stream }
