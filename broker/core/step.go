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
	c.now = now
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
	case EvTold:
		c.told(now, ev.Data, fx)
	case EvStop:
		c.stop(now, fx)
	default:
		panic(fmt.Sprintf("core: there is no event of kind %d", ev.Kind))
	}
}

// settle carries an event through to its end: what is committed is applied,
// what can be delivered is, what is to be proposed is, until nothing moves.
func (c *Core) settle(now Time, fx *Effects) {
	for c.ready {
		moved := c.runGroups(now, fx)
		if c.exited {
			return
		}
		c.serveResumed(now, fx)
		c.deliverAll(now, fx)
		if c.stopping == draining {
			c.proposeAllLedgers(now)
		}
		c.handIn(fx)
		released := c.write(now, fx)
		c.writer.retire(fx)
		c.moveOn(fx)
		if !moved && !released && !c.pending() {
			break
		}
	}
	c.answerCurious(fx)
	c.goOnStopping(now, fx)
	c.flushAll(now, fx)
	c.flushPeers(fx)
}

// pending reports that a group wants something.
func (c *Core) pending() bool {
	for _, s := range c.seats {
		if c.quarantine == "" && s.group != nil && s.group.Pending() {
			return true
		}
	}
	return false
}

// serveResumed acts on the commands that waited.
func (c *Core) serveResumed(now Time, fx *Effects) {
	for len(c.resumed) > 0 {
		cn := c.resumed[0]
		c.resumed = c.resumed[1:]
		c.serve(now, cn, fx)
	}
}

// enact applies one committed entry to its group, and then does this node's
// part.
func (c *Core) enact(now Time, s *seat, o outcome, fx *Effects) {
	if o.group == 0 {
		name, err := c.meta.apply(o.kind, o.payload)
		if err != nil {
			c.cannotApply(o, err, fx)
			return
		}
		switch {
		case o.kind == kindMembers:
			c.membersChanged(o, fx)
			return
		case o.kind == kindChannelDelete && s.leads:
			c.channelDeleted(o.payload)
		}
		c.workOn(now, name, fx)
		return
	}
	payload := o.payload
	if c.cfg.Plant.Is(plant.FinishLostAtRecovery) && o.kind == kindLedger && s.own(o) {
		payload = withoutFinishes(c.group(o.group), payload)
	}
	done, err := c.group(o.group).apply(o.kind, payload, o.where)
	if err != nil {
		c.cannotApply(o, err, fx)
		return
	}
	p := done.partition
	if log := s.newStamp(o); log != 0 {
		s.clock.hear(now, log)
	}
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
		if p != nil {
			c.dropChannels(p, fx)
			c.workOn(now, p.topic, fx)
		}
	case kindPartitionOpen:
		c.workOn(now, p.topic, fx)
	}
}

// cannotApply ends the part of a node whose state is another than that of the
// node that proposed an entry.
func (c *Core) cannotApply(o outcome, err error, fx *Effects) {
	why := fmt.Sprintf("entry %d of group %d is committed and cannot be applied: %v", o.index, o.group, err)
	if !c.clustered() {
		c.exit(fx, why+"; this program cannot have written it: keep the data directory and report it")
		return
	}
	c.enterQuarantine(why, fx)
}

func (c *Core) created(now Time, ev Event, fx *Effects) {
	if !c.ready {
		c.firstCreated(ev, fx)
		return
	}
	c.writer.created(now, ev, fx)
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
		c.writer.syncing, c.writer.durableBatch = 0, c.writer.syncBatch
	} else {
		c.writer.synced(now)
	}
	if !c.ready {
		c.recovered(now, fx)
		return
	}
	c.releaseDurable(fx)
	c.birth(fx)
}

// stop begins a graceful stop. Other nodes take over first what this one
// leads.
func (c *Core) stop(now Time, fx *Effects) {
	if c.stopping != serving {
		return
	}
	c.stopping = draining
	fx.log(Info, "stopping: publishes are refused, %d connections will be closed", len(c.conns))
	for _, name := range sortedKeys(c.works) {
		for _, op := range c.takeWaiting(name) {
			c.fail(op, stopText, fx)
		}
	}
	c.deadlines.set(&c.patience, now.Mono+stopPatience, stopTimer{})
}

// stopPatience is how long a stop waits for what other nodes, or a full disk,
// have to do with it.
const stopPatience = 2000 * millisecond

// stopTimer is due when a stop waits no longer.
type stopTimer struct{}

func (stopTimer) expire(c *Core, _ Time, fx *Effects) {
	c.hurry = true
	if n := c.unfinished(); n > 0 {
		fx.log(Warn, "stopping: %d entries are not written or not committed: what consumers finished last may be delivered again", n)
	}
}

const stopText = "the broker is stopping"

// unfinished is how many entries of this node are on their way.
func (c *Core) unfinished() (n int) {
	for _, s := range c.seats {
		n += len(s.proposed.list)
	}
	return n + len(c.queue)
}

// idle reports that nothing of this node's is on its way.
func (c *Core) idle() bool {
	for _, s := range c.seats {
		if s.leads && c.clustered() && c.successorOf(s) != 0 {
			return false
		}
	}
	return c.unfinished() == 0 && len(c.writer.open) == 0 && len(c.held) == 0
}

// goOnStopping takes the next step of a graceful stop when it is time: first
// what was proposed comes back, ledgers too; then one durable mark; then the
// connections are closed.
func (c *Core) goOnStopping(now Time, fx *Effects) {
	if !c.ready || c.writer.syncing != 0 {
		return
	}
	if c.stopping == draining && (c.idle() || c.hurry && len(c.writer.open) == 0) {
		c.deadlines.cancel(&c.patience)
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

// failed is what the process says when the disk gives up.
func failed(what, why string) string {
	return fmt.Sprintf("%s failed, so nothing more can be promised; what was acknowledged is safe, look at the disk and start again: %s", what, why)
}
