package core

import (
	"fmt"
	"strings"

	"pestle/broker/nsq"
	"pestle/broker/plant"
)

// channel is this node's part of a channel: who consumes it and what is being
// delivered. It follows from the replicated state and the connections, and is
// built anew after a restart.
type channel struct {
	state     *channelState
	part      *partition
	group     uint32
	cursor    uint64           // every message below it was delivered once, or waits in a heap, or is finished
	recovered uint64           // messages below it were delivered before the node's last start, if they were eligible then
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

func newChannel(state *channelState, p *partition, group uint32) *channel {
	ch := &channel{
		state: state, part: p, group: group,
		cursor: state.floor(), recovered: state.watermark,
		items: map[uint64]*item{}, done: state.finished.count(),
		pending: newLedgerPending(state.watermark),
	}
	return ch
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
	ch := newChannel(state, p, c.meta.byName[p.topic].group)
	c.channels[state.id] = ch
	dropped := !c.ready && c.cfg.Plant.Is(plant.DeferralDroppedAtRestart)
	for o := ch.cursor; o < p.next; o = state.finished.next(o + 1) {
		if at, apart := state.due[o]; apart {
			c.park(now, ch, o, at)
		} else if m := p.log.at(o); m != nil && m.due != 0 && !dropped {
			c.park(now, ch, o, m.due)
		}
	}
	c.wake(ch)
}

// dropChannels forgets the channels that the partition no longer has.
func (c *Core) dropChannels(p *partition) {
	for _, id := range sortedKeys(c.channels) {
		ch := c.channels[id]
		if ch.part != p || p.channel(id) != nil {
			continue
		}
		if len(ch.consumers) > 0 {
			panic(fmt.Sprintf("core: channel %q is closed under its %d consumers", ch.state.name, len(ch.consumers)))
		}
		c.deadlines.cancel(&ch.due)
		c.deadlines.cancel(&ch.retry)
		c.deadlines.cancel(&ch.pending.timer)
		delete(c.channels, id)
	}
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
	if it.eligible <= c.logTime(now) {
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
	c.deadlines.set(&ch.due, c.monoAt(ch.deferred.top().eligible), ch)
}

// expire is called when the first deferred message is due.
func (ch *channel) expire(c *Core, now Time, fx *Effects) {
	for ch.deferred.len() > 0 && ch.deferred.top().eligible <= c.logTime(now) {
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
		for c.stopping == serving && !ch.leaving && !ch.retry.isSet() {
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
		for offset := done.from; deferred != 0 && offset < p.next; offset++ {
			c.park(now, ch, offset, deferred)
		}
		c.wake(ch)
	}
	if op := c.claims[o.ticket]; op != nil {
		delete(c.claims, o.ticket)
		c.succeed(op, fx)
	}
}
