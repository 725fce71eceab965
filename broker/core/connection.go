package core

import (
	"pestle/broker/nsq"
	"pestle/broker/plant"
)

// outputWindow is how many bytes may be on their way to a connection before
// no more messages are: enough to keep a fast link busy, little enough that a
// stuck client holds few.
const outputWindow = 64 << 10

// maxUnread is how many bytes may wait for a client to read them before
// nothing more that it says is listened to: answers must not pile up for one
// that only talks.
const maxUnread = 1 << 20

// conn is one client connection.
type conn struct {
	id      ConnID
	remote  string
	session *nsq.Session
	touched bool
	dead    bool // FxClose was issued; nothing counts any more but its end

	ch       *channel // subscribed to
	ready    int64    // RDY
	inFlight int64
	first    *item   // in flight, in order of delivery
	last     *item   //
	outbox   []*item // delivered, and their bodies not yet in memory, or behind such

	owed   int64 // bytes of messages in outbox
	framed int64 // bytes in the session's output
	unsent int64 // bytes of FxSend that the network has not taken

	heard    int64 // monotonic time of the last input
	progress int64 // monotonic time of the last output taken, or since when output waits
	beat     int64 // monotonic time of the next heartbeat
	timer    deadline

	connected int64 // wall time
	published int64
	delivered int64
	finished  int64
	requeued  int64
}

func (c *Core) opened(now Time, ev Event) {
	cn := &conn{
		id: ev.Conn, remote: ev.Text, session: nsq.NewSession(c.cfg.Limits, ev.Text),
		heard: now.Mono, connected: now.Wall,
	}
	c.conns[ev.Conn] = cn
	c.startHeartbeat(now, cn)
}

func (c *Core) received(now Time, ev Event, fx *Effects) {
	cn := c.conns[ev.Conn]
	if cn == nil || cn.dead {
		return
	}
	cn.session.Feed(ev.Data)
	if c.ready {
		c.serve(now, cn, fx)
	}
}

// serve acts on the commands that have arrived on a connection.
func (c *Core) serve(now Time, cn *conn, fx *Effects) {
	c.touch(cn)
	for !cn.dead && cn.unsent < maxUnread {
		command, ok := cn.session.Next()
		if !ok {
			break
		}
		cn.heard = now.Mono
		c.command(now, cn, command, fx)
	}
	if !cn.dead && cn.session.Full() {
		fx.log(Warn, "connection %d (%s) is closed: it sends on and on while its SUB waits or answers are not read", cn.id, cn.remote)
		c.hangUp(cn, fx)
	}
}

func (c *Core) command(now Time, cn *conn, command nsq.Command, fx *Effects) {
	switch command.Kind {
	case nsq.CmdIdentify:
		c.startHeartbeat(now, cn)
	case nsq.CmdSub:
		c.subscribe(now, cn, command, fx)
	case nsq.CmdPub:
		c.publish(now, cn, command, fx)
	case nsq.CmdRdy:
		cn.ready = command.Count
		c.takeBackUnsent(cn, cn.ready)
		c.wake(cn.ch)
	case nsq.CmdFin:
		if !c.finish(now, cn, command.ID) {
			cn.notInFlight(nsq.CodeFinFailed, "FIN", command.ID)
		}
	case nsq.CmdReq:
		if !c.requeue(now, cn, command.ID, command.DelayMS) {
			cn.notInFlight(nsq.CodeReqFailed, "REQ", command.ID)
		}
	case nsq.CmdTouch:
		if !c.extend(now, cn, command.ID) {
			cn.notInFlight(nsq.CodeTouchFailed, "TOUCH", command.ID)
		}
	case nsq.CmdCls:
		c.takeBackUnsent(cn, 0)
		cn.session.Reply(command.Slot, nsq.CloseWait)
	case nsq.CmdNop:
	}
}

// notInFlight has the text that NSQ has and go-nsq's own tests compare.
func (cn *conn) notInFlight(code nsq.Code, verb string, id nsq.MessageID) {
	cn.session.Fail(0, code, verb+" "+id.String()+" failed ID not in flight")
}

// allowance is how many messages a connection may have in flight: its RDY.
func (c *Core) allowance(cn *conn) int64 {
	if c.cfg.Plant.Is(plant.ReadyOverrun) && cn.ready > 0 {
		return cn.ready + 1
	}
	return cn.ready
}

// hasCredit reports whether one more message may go to the connection.
func (c *Core) hasCredit(cn *conn) bool {
	return !cn.dead && cn.inFlight < c.allowance(cn) && cn.session.State() == nsq.StateSubscribed &&
		!cn.session.Done() && cn.owed+cn.framed+cn.unsent < outputWindow
}

// touch notes that a connection may have something to send.
func (c *Core) touch(cn *conn) {
	if !cn.touched {
		cn.touched = true
		c.touched = append(c.touched, cn)
	}
}

// flushAll sends what the connections have to say. Delivery does not go on
// here, so output that was made beyond the window waits for EvSent.
func (c *Core) flushAll(now Time, fx *Effects) {
	for _, cn := range c.touched {
		cn.touched = false
		c.flush(now, cn, fx)
	}
	clear(c.touched)
	c.touched = c.touched[:0]
}

func (c *Core) flush(now Time, cn *conn, fx *Effects) {
	if cn.dead {
		return
	}
	if out := cn.session.TakeOutput(); len(out) > 0 {
		if cn.unsent == 0 {
			cn.progress = now.Mono
		}
		cn.framed = 0
		cn.unsent += int64(len(out))
		fx.add(Effect{Kind: FxSend, Conn: cn.id, Data: out})
	}
	if cn.session.Done() {
		c.hangUp(cn, fx)
	}
}

// hangUp closes a connection from this side. Its messages return at once.
func (c *Core) hangUp(cn *conn, fx *Effects) {
	if cn.dead {
		return
	}
	cn.dead = true
	fx.add(Effect{Kind: FxClose, Conn: cn.id})
	c.leave(cn, fx)
}

func (c *Core) sent(now Time, ev Event) {
	cn := c.conns[ev.Conn]
	if cn == nil {
		return
	}
	cn.unsent -= int64(ev.N)
	if cn.unsent < 0 {
		panic("core: the network took more than it was given")
	}
	cn.progress = now.Mono
	c.wake(cn.ch)
	c.resumed = append(c.resumed, cn)
}

func (c *Core) closed(ev Event, fx *Effects) {
	cn := c.conns[ev.Conn]
	if cn == nil {
		return
	}
	if !cn.dead {
		cn.dead = true
		c.leave(cn, fx)
	}
	delete(c.conns, ev.Conn)
}

// leave takes a connection off its channel and gives back what it held.
func (c *Core) leave(cn *conn, fx *Effects) {
	c.deadlines.cancel(&cn.timer)
	if cn.ch == nil {
		return
	}
	if cn.inFlight > 0 {
		fx.point(PointConsumerLost)
	}
	ch := cn.ch
	ch.removeConsumer(cn)
	c.takeBackUnsent(cn, 0)
	for cn.first != nil {
		c.giveBack(cn.first)
	}
	cn.ch = nil
	c.wake(ch)
	if len(ch.consumers) == 0 && ch.ephemeral() && ch.leads {
		c.deleteChannel(ch)
	}
}

// startHeartbeat begins to count the interval that was agreed.
func (c *Core) startHeartbeat(now Time, cn *conn) {
	cn.beat = now.Mono + c.interval(cn)
	c.setConnTimer(cn)
}

// interval is the heartbeat interval of a connection in ns. One that has none
// still has to take what it is sent in that time.
func (c *Core) interval(cn *conn) int64 {
	ms := cn.session.Identity().HeartbeatMS
	if ms <= 0 {
		ms = c.cfg.Limits.HeartbeatMS
	}
	return ms * millisecond
}

// expire is called at each heartbeat at the latest; only then it is looked
// whether the client still lives, so that commands cost no timer.
func (cn *conn) expire(c *Core, now Time, fx *Effects) {
	every := c.interval(cn)
	beats := cn.session.Identity().HeartbeatMS > 0
	switch {
	case beats && now.Mono >= cn.heard+2*every:
		fx.log(Warn, "connection %d (%s) is closed: no command for two heartbeat intervals", cn.id, cn.remote)
		c.hangUp(cn, fx)
		return
	case cn.unsent > 0 && now.Mono >= cn.progress+every:
		fx.log(Warn, "connection %d (%s) is closed: it took no output for a heartbeat interval", cn.id, cn.remote)
		c.hangUp(cn, fx)
		return
	case now.Mono >= cn.beat:
		if beats {
			cn.session.Heartbeat()
			c.touch(cn)
		}
		cn.beat = now.Mono + every
	}
	c.setConnTimer(cn)
}

// setConnTimer makes the connection's timer due at the first of what it
// watches. Output that begins to wait later is late at the next heartbeat at
// the earliest, and so is seen in time.
func (c *Core) setConnTimer(cn *conn) {
	every := c.interval(cn)
	at := cn.beat
	if cn.session.Identity().HeartbeatMS > 0 {
		at = min(at, cn.heard+2*every)
	}
	if cn.unsent > 0 {
		at = min(at, cn.progress+every)
	}
	c.deadlines.set(&cn.timer, at, cn)
}
