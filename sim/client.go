package sim

import (
	"slices"

	"pestle/history"
	"pestle/sim/network"
	"pestle/workload"
)

const (
	// A system call of a client takes so long; between two of them it may be
	// killed.
	minCall = 2 * microsecond
	maxCall = 20 * microsecond

	// What package workload/client sets on a real machine.
	dialTimeout    = second
	readTimeout    = 2500 * millisecond
	heartbeatMS    = 1000
	reconnectDelay = 50 * millisecond
	stopTimeout    = 2 * second
)

// machine is what producers and consumers have in common.
type machine interface {
	Step(now int64, e workload.Event, fx *workload.Effects)
	NextDeadline() (int64, bool)
}

// wire is the client library of a client process: it carries out the effects
// that reach the target and reports to the client's mailbox.
type wire interface {
	begin(now int64)
	carry(now int64, e *workload.Effect)
	noticed(now int64, n *network.Notice)
	due() int64 // virtual time at which expire is wanted; never: not
	expire(now int64)
	stop(now int64) // ends with EvStop in the mailbox
}

// client is a producer or consumer process: the machine, and what package
// workload/driver is to it on a real machine.
type client struct {
	*process
	state []byte // the file, which outlives every incarnation

	make    func(c *client) (machine, error) // of the next incarnation
	connect func(c *client) wire

	machine machine
	wire    wire
	mailbox []workload.Event
	first   int // of mailbox
	fx      workload.Effects
	next    int  // effect of fx that comes next
	busy    bool // effects are being carried out
	done    bool
}

// boot reads the state file back and goes on where it ends.
func (c *client) boot(now int64) {
	c.mailbox, c.first, c.busy, c.done = nil, 0, false, false
	m, err := c.make(c)
	if err != nil {
		c.fail(err)
		return
	}
	c.machine, c.wire = m, c.connect(c)
	c.wire.begin(now)
	c.report(now, workload.Event{Kind: workload.EvStart})
}

// replay writes the history lines that a kill left out.
func (c *client) replay(now int64, lacking []history.Event) {
	for _, e := range lacking {
		c.say(now, c.name, "history "+historyWords(e), 0, 0)
		c.write(now, e)
	}
}

// past is the process's own history so far.
func (c *client) past() []history.Event { return c.record.streams[c.stream].events() }

func (c *client) write(now int64, e history.Event) {
	c.observe(now, c.record.append(now, c.stream, e))
}

func (c *client) due() (int64, bool) {
	if c.machine == nil {
		return 0, false
	}
	at := c.wire.due()
	if deadline, ok := c.machine.NextDeadline(); ok && !c.busy {
		at = min(at, deadline)
	}
	return at, at != never
}

func (c *client) handle(now int64, in *input) {
	if c.machine == nil {
		return
	}
	switch in.event.Kind {
	case evNotice:
		c.wire.noticed(now, &in.notice)
	case evTimer:
		if c.wire.due() <= now {
			c.wire.expire(now)
		}
		if deadline, ok := c.machine.NextDeadline(); ok && deadline <= now && !c.busy {
			c.report(now, workload.Event{Kind: workload.EvTimer})
		}
	case evEffect:
		c.goOn(now)
	case evDrain:
		c.report(now, workload.Event{Kind: workload.EvDrain})
	}
}

// report puts an event into the mailbox; the loop takes one at a time.
func (c *client) report(now int64, e workload.Event) {
	c.mailbox = append(c.mailbox, e)
	if !c.busy {
		c.stepNext(now)
	}
}

// stepNext steps the machine with the next event, and begins with its effects.
func (c *client) stepNext(now int64) {
	for !c.busy && c.first < len(c.mailbox) && !c.done && c.running {
		e := c.mailbox[c.first]
		c.mailbox[c.first] = workload.Event{}
		if c.first++; c.first == len(c.mailbox) {
			c.mailbox, c.first = c.mailbox[:0], 0
		}
		c.traceClientEvent(now, c.process, &e)
		c.fx.Reset()
		c.machine.Step(now, e, &c.fx)
		c.next, c.busy = 0, true
		c.effect(now)
	}
}

// goOn continues after a system call.
func (c *client) goOn(now int64) {
	c.effect(now)
	c.stepNext(now)
}

// effect carries the next effect out. The one after it is an event of its own,
// so that a kill can come between.
func (c *client) effect(now int64) {
	if c.next < len(c.fx.List) {
		e := &c.fx.List[c.next]
		c.next++
		c.traceClientEffect(now, c.process, e)
		switch e.Kind {
		case workload.FxState:
			c.state = append(c.state, e.Line...)
		case workload.FxHistory:
			c.write(now, e.History)
		case workload.FxDone:
			c.done = true
			c.end(now, false)
			return
		default:
			c.wire.carry(now, e)
		}
	}
	if c.next < len(c.fx.List) {
		c.post(now+c.noise.Between(minCall, maxCall), evEffect, 0)
		return
	}
	c.busy = false
}

func (c *client) terminate(now int64) {
	if c.machine == nil {
		c.end(now, false)
		return
	}
	c.wire.stop(now)
}

// shuffledBrokers lists the brokers in an order of this incarnation.
func (c *client) shuffledBrokers() []*broker {
	list := slices.Clone(c.brokers)
	for i := len(list) - 1; i > 0; i-- {
		j := c.noise.Below(int64(i) + 1)
		list[i], list[j] = list[j], list[i]
	}
	return list
}

func (c *client) gone(int64, bool) { c.machine, c.wire = nil, nil }

// session is one connection of a client to a broker and how far it has come.
type session struct {
	conn    network.ConnID // 0: none
	up      bool           // the connection works
	dialled int64          // when it was begun
	heard   int64          // last time that something was read
	stalled int64          // since when output waits for the window; never: it does not
}

// due returns when the session has to be given up, if nothing happens.
func (s *session) due() int64 {
	switch {
	case s.conn == 0:
		return never
	case !s.up:
		return s.dialled + dialTimeout
	}
	at := s.heard + readTimeout
	if s.stalled != never {
		at = min(at, s.stalled+dialTimeout) // which is the write timeout too
	}
	return at
}

// reason says why a session whose due has passed is over.
func (s *session) reason(now int64) string {
	switch {
	case !s.up:
		return "dial: i/o timeout"
	case now >= s.heard+readTimeout:
		return "read: i/o timeout"
	}
	return "write: i/o timeout"
}

// transmit hands a client's output to the kernel.
func (c *client) transmit(now int64, s *session, out []byte) {
	if len(out) == 0 {
		return
	}
	if c.net.Send(now, s.conn, network.Dialer, out) < len(out) && s.stalled == never {
		s.stalled = now
	}
}

// progressed notes that the kernel took some of the output.
func (c *client) progressed(now int64, s *session) {
	s.stalled = now
	if c.net.Pending(s.conn, network.Dialer) == 0 {
		s.stalled = never
	}
}
