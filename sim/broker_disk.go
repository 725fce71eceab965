package sim

import (
	"pestle/broker/core"
	"pestle/sim/disk"
)

// issue begins the next change of the disk, if none is under way.
func (b *broker) issue(now int64) {
	if b.changing || b.stuck || len(b.changes) == 0 {
		return
	}
	e := b.changes[0]
	var out disk.Outcome
	switch e.Kind {
	case core.FxCreate:
		out = b.disk.Create(e.File, e.N)
	case core.FxRecycle:
		out = b.disk.Recycle(e.From, e.File, e.Data)
	case core.FxWrite:
		out = b.disk.Write(e.File, e.Offset, e.Data)
	case core.FxSync:
		out = b.disk.Sync(e.File)
	default:
		out = b.disk.Remove(e.File)
	}
	if b.stuck = out.Stuck; out.Stuck {
		return
	}
	b.changes[0] = core.Effect{}
	if b.changes = b.changes[1:]; len(b.changes) == 0 {
		b.changes = nil
	}
	b.changing, b.change, b.outcome = true, e, out
	b.post(now+out.Latency, evDisk, e.Token)
}

// changed ends the change under way and goes on with the next.
func (b *broker) changed(now int64) {
	b.disk.Complete()
	b.changing = false
	e, out := b.change, b.outcome
	b.traceDisk(now, b.process, &e, &out)
	answer := core.Event{Token: e.Token, Failed: out.Failed, Text: out.Text}
	switch e.Kind {
	case core.FxCreate, core.FxRecycle:
		answer.Kind = core.EvCreated
	case core.FxSync:
		answer.Kind = core.EvSynced
	default:
		if out.Failed { // the core has no event for it: on such a disk it would only get worse
			b.exit(now, out.Text)
			return
		}
		b.issue(now)
		return
	}
	b.step(now, answer) // which issues the next, unless it ends the process
}

// startRead begins a read, beside everything else.
func (b *broker) startRead(now int64, e core.Effect) {
	slot := uint64(len(b.reads))
	if last := len(b.free) - 1; last >= 0 {
		slot, b.free = b.free[last], b.free[:last]
	} else {
		b.reads = append(b.reads, read{})
	}
	b.reads[slot] = read{effect: e}
	b.tryRead(now, slot)
}

func (b *broker) tryRead(now int64, slot uint64) {
	r := &b.reads[slot]
	r.outcome = b.disk.Read(r.effect.File, r.effect.Offset, r.effect.N)
	if r.stuck = r.outcome.Stuck; !r.stuck {
		b.post(now+r.outcome.Latency, evRead, slot)
	}
}

func (b *broker) readDone(now int64, slot uint64) {
	r := b.reads[slot]
	b.reads[slot] = read{}
	b.free = append(b.free, slot)
	b.step(now, core.Event{Kind: core.EvRead, Token: r.effect.Token,
		Data: r.outcome.Data, Failed: r.outcome.Failed, Text: r.outcome.Text})
}

// unstick tries again what a stuck disk did not begin.
func (b *broker) unstick(now int64) {
	if b.core == nil {
		return
	}
	b.stuck = false
	b.issue(now)
	for slot := range b.reads {
		if b.reads[slot].stuck {
			b.tryRead(now, uint64(slot))
		}
	}
}
