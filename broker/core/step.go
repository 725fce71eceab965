package core

import (
	"fmt"

	"pestle/broker/plant"
)

// Step takes one event and appends what is to be done about it. Deadlines that
// have passed are served first, whatever the event.
func (c *Core) Step(now Time, ev Event, fx *Effects) {
	if c.exited || c.stopping == stopped {
		return
	}
	for {
		d, due := c.deadlines.passed(now.Mono)
		if !due {
			break
		}
		d.what.expire(c, now, fx)
	}
	c.handle(now, ev, fx)
	if c.exited {
		return
	}
	c.settle(now, fx)
}

func (c *Core) handle(now Time, ev Event, fx *Effects) {
	switch ev.Kind {
	case EvOpened:
		c.opened(now, ev)
	case EvData:
		c.received(now, ev, fx)
	case EvSent:
		c.sent(now, ev)
	case EvClosed:
		c.closed(ev, fx)
	case EvTimer:
	case EvCreated:
		c.created(now, ev, fx)
	case EvSynced:
		c.synced(now, ev, fx)
	case EvRead:
		c.bodyRead(now, ev, fx)
	case EvRequest:
		c.requested(now, ev.Request, fx)
	case EvStop:
		c.stop(fx)
	default:
		panic(fmt.Sprintf("core: there is no event of kind %d", ev.Kind))
	}
}

// settle carries an event through to its end: what is committed is applied,
// what can be delivered is, what is to be proposed is, until nothing moves.
func (c *Core) settle(now Time, fx *Effects) {
	for c.ready {
		c.enactAll(now, fx)
		c.serveResumed(now, fx)
		c.deliverAll(now, fx)
		if c.stopping == draining {
			c.proposeAllLedgers(now)
		}
		c.replicator.Advance(now, fx)
		c.writer.removeOldest(fx)
		if c.voter.settled() {
			break
		}
	}
	c.goOnStopping(now, fx)
	c.flushAll(now, fx)
}

// serveResumed acts on the commands that waited.
func (c *Core) serveResumed(now Time, fx *Effects) {
	for len(c.resumed) > 0 {
		cn := c.resumed[0]
		c.resumed = c.resumed[1:]
		c.serve(now, cn, fx)
	}
}

// enactAll applies everything that is committed.
func (c *Core) enactAll(now Time, fx *Effects) {
	for {
		o, ok := c.replicator.Next()
		if !ok {
			return
		}
		if o.refused != "" {
			c.proposalRefused(o, fx)
		} else {
			c.enact(now, o, fx)
		}
	}
}

// enact applies one committed entry to its group, and then does this node's
// part.
func (c *Core) enact(now Time, o outcome, fx *Effects) {
	if o.group == 0 {
		name, err := c.meta.apply(o.kind, o.payload)
		if err != nil {
			panic("core: a committed entry cannot be applied: " + err.Error())
		}
		if o.kind == kindChannelDelete {
			c.channelDeleted(o.payload)
		}
		c.workOn(now, name, fx)
		return
	}
	done, err := c.group(o.group).apply(o.kind, o.payload, o.where)
	if err != nil {
		panic("core: a committed entry cannot be applied: " + err.Error())
	}
	p := done.partition
	switch o.kind {
	case kindPublish:
		c.published(now, done, o, fx)
	case kindLedger:
		fx.point(PointLedgerWritten)
		c.ledgerCommitted(now, o)
	case kindChannelOpen:
		c.openChannels(now, p)
		c.workOn(now, p.topic, fx)
	case kindChannelClose:
		c.dropChannels(p)
		c.workOn(now, p.topic, fx)
	case kindPartitionOpen:
		c.workOn(now, p.topic, fx)
	}
}

func (c *Core) created(now Time, ev Event, fx *Effects) {
	if !c.ready {
		c.firstCreated(ev, fx)
		return
	}
	c.writer.created(now, ev, fx)
	if ev.Failed {
		c.voter.refuse()
	}
}

func (c *Core) synced(now Time, ev Event, fx *Effects) {
	if ev.Token != c.writer.syncing {
		panic(fmt.Sprintf("core: sync %d ends and %d is outstanding", ev.Token, c.writer.syncing))
	}
	if ev.Failed && !c.cfg.Plant.Is(plant.FsyncErrorIgnored) {
		c.exit(fx, failed("a sync of the journal", ev.Text))
		return
	}
	fx.point(PointJournalSync)
	if c.cfg.Plant.Is(plant.FsyncErrorIgnored) && c.writer.doubts(ev.Failed) {
		c.writer.syncing = 0
	} else {
		c.writer.synced(now)
	}
	if !c.ready {
		c.recovered(now, fx)
		return
	}
	c.voter.durable()
}

// stop begins a graceful stop.
func (c *Core) stop(fx *Effects) {
	if c.stopping != serving {
		return
	}
	c.stopping = draining
	fx.log(Info, "stopping: publishes are refused, %d connections will be closed", len(c.conns))
	c.voter.flush = true
	for _, name := range sortedKeys(c.works) {
		for _, op := range c.takeWaiting(name) {
			c.fail(op, stopText, fx)
		}
	}
}

const stopText = "the broker is stopping"

// goOnStopping takes the next step of a graceful stop when it is time: first
// what was proposed comes back, ledgers too; then one durable mark; then the
// connections are closed.
func (c *Core) goOnStopping(now Time, fx *Effects) {
	if !c.ready || c.writer.syncing != 0 {
		return
	}
	if c.stopping == draining && c.writer.retry.isSet() {
		// A full disk may stay so for ever, and what waits for it would only
		// spare consumers a repetition.
		if n := c.voter.abandon(); n > 0 {
			fx.log(Warn, "stopping: %d entries are not written, the journal is full: what consumers finished last will be delivered again", n)
		}
	}
	if c.stopping == draining && c.replicator.Idle() {
		c.writer.close(now, fx)
		c.stopping = closing
	}
	if c.stopping == closing && c.writer.syncing == 0 {
		for _, id := range c.closingOrder() {
			c.flush(now, c.conns[id], fx)
			c.hangUp(c.conns[id], fx)
		}
		fx.add(Effect{Kind: FxStopped})
		c.stopping = stopped
	}
}
