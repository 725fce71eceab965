package core

const (
	ledgerDelay = 20 * millisecond // a change is proposed that long after it …
	ledgerMost  = 32               // … or when so many are gathered
)

// ledgerPending is what happened on a channel since its last ledger entry was
// proposed.
type ledgerPending struct {
	changes   int
	proposed  uint64 // ticket of the last entry, which is not committed yet: one at a time, what comes meanwhile gathers; 0: it is
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
	if !ch.leads || l.changes == 0 || l.proposed != 0 || ch.leaving || c.stopping > draining {
		return
	}
	e := ledger{
		partition: ch.part.id, channel: ch.state.id,
		asOf: c.clock(ch).at(now), watermark: l.watermark, finished: l.finished.spans,
	}
	for _, o := range sortedKeys(l.attempts) {
		e.attempts = append(e.attempts, deliveries{o, l.attempts[o]})
	}
	for _, o := range sortedKeys(l.due) {
		e.due = append(e.due, dueTime{o, l.due[o]})
	}
	l.changes, l.finished = 0, offsets{}
	clear(l.attempts)
	clear(l.due)
	c.deadlines.cancel(&l.timer)
	l.proposed = c.propose(proposal{
		group: ch.group, kind: kindLedger, payload: e.encode(), essential: true, tenure: c.seats[ch.group].open,
	})
}

// ledgerCommitted lets the next entry of the channel go.
func (c *Core) ledgerCommitted(now Time, o outcome) {
	e, err := decodeLedger(o.payload)
	if err != nil {
		panic("core: " + err.Error()) // it was applied a moment ago
	}
	ch := c.channels[e.channel]
	if ch == nil || !ch.leads || o.ticket == 0 || o.ticket != ch.pending.proposed {
		return // closed meanwhile, or another leader's
	}
	ch.pending.proposed = 0
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
