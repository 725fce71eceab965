package core

import (
	"fmt"

	"pestle/broker/journal"
	"pestle/broker/nsq"
	"pestle/broker/plant"
)

// readRetry is the wait before a body that could not be read is tried again.
// Nothing else of the channel is delivered meanwhile: it would overtake.
const readRetry = 1000 * millisecond

// itemState says where an item is.
type itemState uint8

const (
	itemReady itemState = iota
	itemDeferred
	itemInFlight
)

// item is a message that has left the order of its channel's log: it is in
// flight, or came back from it, or is due at a time of its own. A message that
// just waits its turn has none.
type item struct {
	ch       *channel
	offset   uint64
	eligible int64  // log time: which of several ready ones goes first
	attempts uint16 // deliveries so far; stays at maxAttempts
	state    itemState
	index    int // in the heap it is in

	// A delivery. It begins when the connection is chosen; the lease, when the
	// message is handed to its session.
	holder     *conn // has it in flight, or had it last when its lease ran out
	next, prev *item // in flight to the same connection
	framed     bool  // handed to the session
	reading    uint64
	from       journal.Position // that it is read from
	body       []byte           // read from the journal; nil: in memory, or not there yet
	started    int64            // monotonic time the lease began
	lease      deadline
}

func (it *item) before(o *item) bool {
	return it.eligible < o.eligible || it.eligible == o.eligible && it.offset < o.offset
}

func (it *item) place() *int { return &it.index }

func (it *item) message() *message {
	m := it.ch.part.log.at(it.offset)
	if m == nil {
		panic(fmt.Sprintf("core: message %d of partition %d is forgotten and channel %q has not finished it", it.offset, it.ch.part.id, it.ch.state.name))
	}
	return m
}

// deliver puts an item in flight to a connection.
func (c *Core) deliver(now Time, it *item, cn *conn, fx *Effects) {
	ch, m := it.ch, it.message()
	if it.attempts < maxAttempts {
		it.attempts++
	}
	it.state, it.holder, it.framed = itemInFlight, cn, false
	ch.inFlight++
	cn.inFlight++
	if cn.inFlight > c.allowance(cn) {
		panic(fmt.Sprintf("core: %d messages in flight to connection %d, whose RDY is %d", cn.inFlight, cn.id, cn.ready))
	}
	cn.hold(it)
	cn.outbox = append(cn.outbox, it)
	cn.owed += m.frameSize()
	c.noteDelivery(now, it)
	it.body = m.body
	if it.body == nil {
		c.readBody(it, fx)
	}
	c.frame(now, cn, fx)
}

// readBody asks for the body of a delivery.
func (c *Core) readBody(it *item, fx *Effects) {
	m := it.message()
	it.reading, it.from = c.token(), m.where
	c.reads[it.reading] = it
	fx.add(Effect{Kind: FxRead, File: m.where.File, Offset: m.where.Offset, N: int64(m.size), Token: it.reading})
}

// hold puts an item at the end of the connection's list.
func (cn *conn) hold(it *item) {
	it.prev, it.next = cn.last, nil
	if cn.last != nil {
		cn.last.next = it
	} else {
		cn.first = it
	}
	cn.last = it
}

func (cn *conn) release(it *item) {
	if it.prev != nil {
		it.prev.next = it.next
	} else {
		cn.first = it.next
	}
	if it.next != nil {
		it.next.prev = it.prev
	} else {
		cn.last = it.prev
	}
	it.next, it.prev = nil, nil
}

// frame hands the first messages of the outbox to the session, as far as
// their bodies are there: one that is being read holds up those behind it, or
// they would overtake it.
func (c *Core) frame(now Time, cn *conn, fx *Effects) {
	n := 0
	for _, it := range cn.outbox {
		if it.body == nil {
			break
		}
		if it.attempts == 1 {
			fx.point(PointDelivery)
		} else {
			fx.point(PointRedelivery)
		}
		m := it.message()
		cn.session.Message(m.log, it.attempts, it.id(), it.body)
		size := m.frameSize()
		cn.owed -= size
		cn.framed += size
		cn.delivered++
		it.framed, it.body, it.started = true, nil, now.Mono
		if !c.cfg.Plant.Is(plant.LeaseForgotten) {
			c.deadlines.set(&it.lease, now.Mono+cn.session.Identity().MsgTimeoutMS*millisecond, it)
		}
		n++
	}
	rest := copy(cn.outbox, cn.outbox[n:])
	clear(cn.outbox[rest:])
	cn.outbox = cn.outbox[:rest]
	if n > 0 {
		c.touch(cn)
	}
}

func (it *item) id() nsq.MessageID {
	return nsq.ID(uint64(it.ch.part.id)<<44 | it.offset)
}

// bodyRead goes on with a delivery whose body was read from the journal.
func (c *Core) bodyRead(now Time, ev Event, fx *Effects) {
	it := c.reads[ev.Token]
	if it == nil {
		if _, asked := c.peerReads[ev.Token]; asked {
			c.peerBodyRead(ev, fx)
		} else if _, asked := c.mover.reads[ev.Token]; asked {
			c.moveRead(ev)
		}
		return // the delivery was given up meanwhile
	}
	delete(c.reads, ev.Token)
	it.reading = 0
	cn, m := it.holder, it.message()
	switch {
	case (ev.Failed || !m.is(ev.Data)) && m.where != it.from:
		c.readBody(it, fx) // it was moved meanwhile, and the file may be another one
	case (ev.Failed || !m.is(ev.Data)) && c.startRepair(it.ch.group, it.ch.part.id, m, fx):
		fx.log(Error, "message %s cannot be read at offset %d of journal file %d (%d bytes): it is fetched from another node", it.id(), m.where.Offset, m.where.File, m.size)
		c.takeBackUnsent(cn, 0)
		c.deadlines.set(&it.ch.retry, now.Mono+readRetry, retryTimer{it.ch})
	case ev.Failed:
		fx.log(Error, "read %d bytes at offset %d of journal file %d, message %s: %s; trying again in %d s", m.size, m.where.Offset, m.where.File, it.id(), ev.Text, readRetry/(1000*millisecond))
		c.takeBackUnsent(cn, 0)
		c.deadlines.set(&it.ch.retry, now.Mono+readRetry, retryTimer{it.ch})
	case !m.is(ev.Data):
		fx.log(Error, "message %s is damaged at offset %d of journal file %d (%d bytes) and is not delivered; it stays counted: restore the data directory from a copy, or finish without it", it.id(), m.where.Offset, m.where.File, m.size)
		m.rotten = true
		c.undeliver(it)
		delete(it.ch.items, it.offset)
	default:
		fx.point(PointReadBack)
		it.body = append([]byte(nil), ev.Data...)
	}
	c.frame(now, cn, fx)
	c.wake(it.ch)
}

// retryTimer is due when a channel may try again what it could not read.
type retryTimer struct{ ch *channel }

func (t retryTimer) expire(c *Core, _ Time, _ *Effects) { c.wake(t.ch) }

// endFlight takes an item out of flight.
func (c *Core) endFlight(it *item) {
	it.holder.release(it)
	it.holder.inFlight--
	it.ch.inFlight--
	c.deadlines.cancel(&it.lease)
	c.wake(it.ch)
}

// undeliver takes back a delivery that the session has not got: it does not
// count.
func (c *Core) undeliver(it *item) {
	cn := it.holder
	if it.framed {
		panic("core: a delivery on its way cannot be taken back")
	}
	if it.reading != 0 {
		delete(c.reads, it.reading)
		it.reading = 0
	}
	it.body = nil
	for i, other := range cn.outbox {
		if other == it {
			cn.outbox = append(cn.outbox[:i], cn.outbox[i+1:]...)
			break
		}
	}
	cn.owed -= it.message().frameSize()
	c.endFlight(it)
	it.holder = nil
	if it.attempts < maxAttempts {
		it.attempts--
	}
	it.ch.pending.noteAttempts(it)
}

// takeBackUnsent returns what a connection was to get and its session has not
// got, the newest first, as far as it leaves more in flight than allowed.
func (c *Core) takeBackUnsent(cn *conn, allowed int64) {
	for len(cn.outbox) > 0 && cn.inFlight > allowed {
		it := cn.outbox[len(cn.outbox)-1]
		c.undeliver(it)
		c.makeReady(it)
	}
}

// giveBack returns a message whose connection is gone. It keeps its place: it
// goes before what became eligible later.
func (c *Core) giveBack(it *item) {
	c.endFlight(it)
	it.holder = nil
	c.makeReady(it)
}

func (c *Core) makeReady(it *item) {
	it.state = itemReady
	it.ch.ready.push(it)
	c.wake(it.ch)
}

// expire is called when the lease runs out. The holder may still finish the
// message as long as nobody else gets it.
func (it *item) expire(c *Core, now Time, fx *Effects) {
	fx.point(PointLeaseExpired)
	c.endFlight(it)
	it.ch.timeouts++
	it.eligible = c.clock(it.ch).at(now)
	c.makeReady(it)
}

// heldBy returns the item that an id names, if the connection was the last to
// get it.
func (c *Core) heldBy(cn *conn, id nsq.MessageID) *item {
	position, ok := id.Position()
	if !ok || cn.ch == nil || position>>44 != uint64(cn.ch.part.id) {
		return nil
	}
	it := cn.ch.items[position&(maxOffset-1)]
	if it == nil || it.holder != cn || !it.framed {
		return nil
	}
	return it
}

// finish notes that a message is done on its channel. A lease that has run
// out does not matter unless the message went to someone since.
func (c *Core) finish(now Time, cn *conn, id nsq.MessageID) bool {
	it := c.heldBy(cn, id)
	if it == nil {
		return false
	}
	if it.state == itemInFlight {
		c.endFlight(it)
	} else {
		c.dequeue(it)
	}
	delete(it.ch.items, it.offset)
	it.ch.done++
	cn.finished++
	c.noteFinished(now, it)
	return true
}

// requeue gives a message back, to be delivered delayMS from now.
func (c *Core) requeue(now Time, cn *conn, id nsq.MessageID, delayMS int64) bool {
	it := c.heldBy(cn, id)
	if it == nil || it.state != itemInFlight {
		return false
	}
	c.endFlight(it)
	it.holder = nil
	it.eligible = c.clock(it.ch).at(now) + delayMS*millisecond
	it.ch.requeues++
	cn.requeued++
	c.enqueue(now, it)
	c.noteRequeued(now, it)
	return true
}

// extend gives the holder more time: its timeout from now, but no more in all
// than the longest lease.
func (c *Core) extend(now Time, cn *conn, id nsq.MessageID) bool {
	it := c.heldBy(cn, id)
	if it == nil || it.state != itemInFlight {
		return false
	}
	until := now.Mono + cn.session.Identity().MsgTimeoutMS*millisecond
	longest := it.started + c.cfg.Limits.MaxMsgTimeoutMS*millisecond
	c.deadlines.set(&it.lease, min(until, longest), it)
	return true
}
