package core

import "fmt"

const (
	ledgerDelay = 20 * millisecond // a change is proposed that long after it …
	ledgerMost  = 32               // … or when so many are gathered
)

// ledgerPending is what happened on a channel since its last ledger entry was
// proposed.
type ledgerPending struct {
	changes   int
	proposed  bool // the last entry is not committed yet: one at a time, what comes meanwhile gathers
	watermark uint64
	finished  offsets
	attempts  map[uint64]uint16
	due       map[uint64]int64
	timer     deadline
}

func newLedgerPending(watermark uint64) ledgerPending {
	return ledgerPending{watermark: watermark, attempts: map[uint64]uint16{}, due: map[uint64]int64{}}
}

// noteAttempts records how often a message was delivered, where that is not
// plain from the watermark.
func (l *ledgerPending) noteAttempts(it *item) {
	if it.attempts < 2 {
		delete(l.attempts, it.offset)
		return
	}
	l.attempts[it.offset] = it.attempts
}

func (c *Core) noteDelivery(now Time, it *item) {
	l := &it.ch.pending
	l.watermark = max(l.watermark, it.offset+1)
	l.noteAttempts(it)
	c.noteChange(now, it.ch)
}

func (c *Core) noteFinished(now Time, it *item) {
	l := &it.ch.pending
	l.finished.add(span{it.offset, it.offset + 1})
	delete(l.attempts, it.offset) // that it is finished says all
	delete(l.due, it.offset)
	c.noteChange(now, it.ch)
}

func (c *Core) noteRequeued(now Time, it *item) {
	it.ch.pending.due[it.offset] = it.eligible
	c.noteChange(now, it.ch)
}

func (c *Core) noteChange(now Time, ch *channel) {
	ch.pending.changes++
	if ch.pending.changes == 1 {
		c.deadlines.set(&ch.pending.timer, now.Mono+ledgerDelay, ledgerTimer{ch})
	}
	if ch.pending.changes >= ledgerMost {
		c.proposeLedger(now, ch)
	}
}

// ledgerTimer is due when a channel's changes have waited long enough.
type ledgerTimer struct{ ch *channel }

func (t ledgerTimer) expire(c *Core, now Time, _ *Effects) { c.proposeLedger(now, t.ch) }

// proposeLedger proposes what is pending, unless the last entry is still on
// its way; then its commit does.
func (c *Core) proposeLedger(now Time, ch *channel) {
	l := &ch.pending
	if l.changes == 0 || l.proposed || ch.leaving || c.stopping > draining {
		return
	}
	e := ledger{
		partition: ch.part.id, channel: ch.state.id,
		asOf: c.logTime(now), watermark: l.watermark, finished: l.finished.spans,
	}
	for _, o := range sortedKeys(l.attempts) {
		e.attempts = append(e.attempts, deliveries{o, l.attempts[o]})
	}
	for _, o := range sortedKeys(l.due) {
		e.due = append(e.due, dueTime{o, l.due[o]})
	}
	l.changes, l.finished, l.proposed = 0, offsets{}, true
	clear(l.attempts)
	clear(l.due)
	c.deadlines.cancel(&l.timer)
	c.replicator.Propose(proposal{group: ch.group, kind: kindLedger, payload: e.encode(), ticket: uint64(ch.state.id), essential: true})
}

// ledgerCommitted lets the next entry of the channel go.
func (c *Core) ledgerCommitted(now Time, o outcome) {
	ch := c.channels[uint32(o.ticket)]
	if ch == nil {
		return // closed meanwhile
	}
	if !ch.pending.proposed {
		panic(fmt.Sprintf("core: a ledger entry of channel %q is committed that was not proposed", ch.state.name))
	}
	ch.pending.proposed = false
	if ch.pending.changes >= ledgerMost || ch.pending.changes > 0 && !ch.pending.timer.isSet() {
		c.proposeLedger(now, ch)
	}
}

// proposeAllLedgers proposes all that is pending, at a stop.
func (c *Core) proposeAllLedgers(now Time) {
	for _, id := range sortedKeys(c.channels) {
		c.proposeLedger(now, c.channels[id])
	}
}
