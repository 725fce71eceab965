package core

import (
	"fmt"
	"slices"
	"strings"

	"pestle/broker/nsq"
	"pestle/broker/plant"
)

// channel is this node's part of a channel: who consumes it here and, while
// the node leads its group, what is being delivered. That follows from the
// replicated state and the connections, and is built anew with each tenure.
type channel struct {
	state     *channelState
	part      *partition
	group     uint32
	leads     bool             // the node delivers; all that follows, but for the consumers, is meaningless else
	cursor    uint64           // every message below it was delivered once, or waits in a heap, or is finished
	recovered uint64           // messages below it were delivered before this tenure, if they were eligible then
	items     map[uint64]*item // by offset: in flight, or back from it, or deferred
	ready     heap[*item]      // may be delivered
	deferred  heap[*item]      // become ready at their eligible time
	due       deadline         // of the first deferred one
	retry     deadline         // set: a body could not be read, and nothing is delivered until then
	inFlight  int64
	done      int64 // messages finished, also those that the ledger does not say yet

	consumers []*conn
	turn      int // whose turn it is
	awake     bool
	leaving   bool // an ephemeral channel that is being deleted

	pending ledgerPending

	requeues int64
	timeouts int64
}

func (ch *channel) ephemeral() bool { return isEphemeral(ch.state.name) }

func isEphemeral(name string) bool { return strings.HasSuffix(name, nsq.EphemeralSuffix) }

// openChannels gives every channel of a partition its node's part.
func (c *Core) openChannels(now Time, p *partition) {
	for _, state := range p.channels {
		if c.channels[state.id] == nil {
			c.openChannel(now, state, p)
		}
	}
}

func (c *Core) openChannel(now Time, state *channelState, p *partition) {
	ch := &channel{state: state, part: p, group: c.groupOf(p)}
	c.channels[state.id] = ch
	if c.seat(ch.group).leads {
		c.startDelivery(now, ch)
	}
}

// groupOf is the group that a partition is in.
func (c *Core) groupOf(p *partition) uint32 {
	for i, g := range c.groups {
		if g.partition(p.id) == p {
			return uint32(i + 1)
		}
	}
	panic(fmt.Sprintf("core: partition %d is in no group", p.id))
}

// startDelivery begins a tenure: what the state says is unfinished waits for
// its delivery.
func (c *Core) startDelivery(now Time, ch *channel) {
	state, p := ch.state, ch.part
	ch.leads = true
	ch.cursor, ch.recovered = state.floor(), state.watermark
	ch.items, ch.done = map[uint64]*item{}, state.finished.count()
	ch.pending = newLedgerPending(state.watermark)
	dropped := c.cfg.Plant.Is(plant.DeferralDroppedAtRestart)
	for o := ch.cursor; o < p.next; o = state.finished.next(o + 1) {
		if at, apart := state.due[o]; apart {
			c.park(now, ch, o, at)
		} else if m := p.log.at(o); m != nil && m.due != 0 && !dropped {
			c.park(now, ch, o, m.due)
		}
	}
	c.wake(ch)
}

// stopDelivery ends a tenure. What is in flight is for the next leader to
// deliver again, so its consumers' connections are closed: none of them takes
// for finished what this node can no longer write down.
func (c *Core) stopDelivery(ch *channel, fx *Effects) {
	if ch == nil || !ch.leads {
		return
	}
	ch.leads = false
	for _, cn := range slices.Clone(ch.consumers) {
		fx.point(PointConsumerSentAway)
		c.hangUp(cn, fx)
	}
	c.cancelDelivery(ch)
	ch.items, ch.ready, ch.deferred, ch.pending = nil, heap[*item]{}, heap[*item]{}, ledgerPending{}
}

func (c *Core) cancelDelivery(ch *channel) {
	c.deadlines.cancel(&ch.due)
	c.deadlines.cancel(&ch.retry)
	c.deadlines.cancel(&ch.pending.timer)
}

// dropChannels forgets the channels that the partition no longer has.
func (c *Core) dropChannels(p *partition, fx *Effects) {
	for _, id := range sortedKeys(c.channels) {
		if ch := c.channels[id]; ch.part == p && p.channel(id) == nil {
			c.dropChannel(ch, fx)
		}
	}
}

// dropChannel forgets a channel, and sends away who still waits for it here.
func (c *Core) dropChannel(ch *channel, fx *Effects) {
	ch.leaving = true
	for _, cn := range slices.Clone(ch.consumers) {
		c.hangUp(cn, fx)
	}
	c.cancelDelivery(ch)
	delete(c.channels, ch.state.id)
}

// park makes an item of a message that is not delivered in the order of the
// log: it is eligible at a log time of its own.
func (c *Core) park(now Time, ch *channel, offset uint64, eligible int64) {
	it := &item{ch: ch, offset: offset, eligible: eligible, attempts: ch.deliveredBefore(offset)}
	ch.items[offset] = it
	c.enqueue(now, it)
}

// deliveredBefore is how often a message was delivered before the node's last
// start, as far as the ledger says.
func (ch *channel) deliveredBefore(offset uint64) uint16 {
	if n, ok := ch.state.attempts[offset]; ok {
		return n
	}
	if _, requeued := ch.state.due[offset]; requeued {
		return 1
	}
	if offset >= ch.recovered {
		return 0
	}
	if m := ch.part.log.at(offset); m != nil && m.due > ch.state.asOf {
		return 0 // it was not due yet
	}
	return 1
}

// enqueue puts an item where it waits for its delivery.
func (c *Core) enqueue(now Time, it *item) {
	if it.eligible <= c.clock(it.ch).at(now) {
		it.state = itemReady
		it.ch.ready.push(it)
		c.wake(it.ch)
		return
	}
	it.state = itemDeferred
	it.ch.deferred.push(it)
	c.setDue(it.ch)
}

// dequeue takes an item from where it waits.
func (c *Core) dequeue(it *item) {
	switch it.state {
	case itemReady:
		it.ch.ready.remove(it)
	case itemDeferred:
		it.ch.deferred.remove(it)
		c.setDue(it.ch)
	case itemInFlight:
		panic("core: an item in flight does not wait")
	}
}

// setDue makes the channel's deadline that of its first deferred message.
func (c *Core) setDue(ch *channel) {
	if ch.deferred.len() == 0 {
		c.deadlines.cancel(&ch.due)
		return
	}
	c.deadlines.set(&ch.due, c.clock(ch).monoAt(ch.deferred.top().eligible), ch)
}

// clock is the log time of a channel's group.
func (c *Core) clock(ch *channel) groupClock { return c.seats[ch.group].clock }

// expire is called when the first deferred message is due.
func (ch *channel) expire(c *Core, now Time, fx *Effects) {
	for ch.deferred.len() > 0 && ch.deferred.top().eligible <= c.clock(ch).at(now) {
		it := ch.deferred.pop()
		if it.eligible == it.message().due {
			fx.point(PointDeferralDue)
		} else {
			fx.point(PointRequeueDue)
		}
		it.state = itemReady
		ch.ready.push(it)
	}
	c.setDue(ch)
	c.wake(ch)
}

func (ch *channel) removeConsumer(cn *conn) {
	for i, other := range ch.consumers {
		if other == cn {
			ch.consumers = append(ch.consumers[:i], ch.consumers[i+1:]...)
			if ch.turn > i {
				ch.turn--
			}
			return
		}
	}
}

// wake notes that a channel may have something to deliver.
func (c *Core) wake(ch *channel) {
	if ch != nil && !ch.awake {
		ch.awake = true
		c.awake = append(c.awake, ch)
	}
}

// deliverAll delivers what can be delivered.
func (c *Core) deliverAll(now Time, fx *Effects) {
	for len(c.awake) > 0 {
		ch := c.awake[0]
		c.awake = c.awake[1:]
		ch.awake = false
		for c.stopping == serving && ch.leads && !ch.leaving && !ch.retry.isSet() {
			cn := c.nextConsumer(ch)
			if cn == nil {
				break
			}
			it := ch.take()
			if it == nil {
				break
			}
			ch.turn++
			c.deliver(now, it, cn, fx)
		}
	}
}

// nextConsumer returns the next connection that may get a message, in turn,
// nil when none may.
func (c *Core) nextConsumer(ch *channel) *conn {
	for range ch.consumers {
		if ch.turn >= len(ch.consumers) {
			ch.turn = 0
		}
		if cn := ch.consumers[ch.turn]; c.hasCredit(cn) {
			return cn
		}
		ch.turn++
	}
	return nil
}

// take returns the message to deliver next: the one that was eligible first,
// and of those the one that was published first. It is nil when there is none.
func (ch *channel) take() *item {
	m := ch.atCursor()
	for ch.ready.len() > 0 {
		it := ch.ready.top()
		if ch.part.log.at(it.offset).rotten {
			delete(ch.items, ch.ready.pop().offset)
			continue
		}
		if m == nil || it.eligible < m.log || it.eligible == m.log && it.offset < m.offset {
			return ch.ready.pop()
		}
		break
	}
	if m == nil {
		return nil
	}
	it := &item{ch: ch, offset: m.offset, eligible: m.log, attempts: ch.deliveredBefore(m.offset)}
	ch.items[m.offset] = it
	ch.cursor++
	return it
}

// atCursor moves the cursor to the next message that the order of the log
// decides about, and returns it; nil when there is none.
func (ch *channel) atCursor() *message {
	for ch.cursor < ch.part.next {
		m := ch.part.log.at(ch.cursor)
		if m != nil && !m.rotten && ch.items[ch.cursor] == nil && ch.state.unfinished(ch.cursor) {
			return m
		}
		ch.cursor++
	}
	return nil
}

// published does this node's part of a publish: its messages wait in every
// channel, and it is acknowledged.
func (c *Core) published(now Time, done applied, o outcome, fx *Effects) {
	p := done.partition
	deferred := p.log.at(done.from).due
	for _, state := range p.channels {
		ch := c.channels[state.id]
		if !ch.leads {
			continue
		}
		for offset := done.from; deferred != 0 && offset < p.next; offset++ {
			c.park(now, ch, offset, deferred)
		}
		c.wake(ch)
	}
	if op := c.claims[o.ticket]; op != nil {
		delete(c.claims, o.ticket)
		c.deadlines.cancel(&op.timer)
		c.succeed(op, fx)
	}
}
