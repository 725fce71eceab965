package sim

import (
	"strings"

	"pestle/broker/core"
	"pestle/history"
	"pestle/sim/invariant"
	"pestle/sim/random"
)

const (
	// sampleEvery is after how many events at the earliest the disks of the
	// cluster are looked at again: it takes a recovery of each.
	sampleEvery = 2000
	// statisticsEvery is how often every broker of a cluster is asked for its
	// statistics, so that somebody looks at them while faults are active.
	statisticsEvery = second
)

// watch looks at what the brokers of a cluster show, from outside. A run of one
// broker has none: there is nobody to agree with.
type watch struct {
	*invariant.Watch
	nextSample uint64 // in events of the trace
	breach     *invariant.Breach
}

// look compares what a broker shows after an event with what must be true.
func (b *broker) look(now int64) {
	w := b.watch
	if w == nil || w.breach != nil {
		return
	}
	if b.wiped && b.core.TakesPart() {
		b.breached(now, &invariant.Breach{Name: invariant.UsedOnce, Detail: b.name + " votes and acknowledges under the id that it had before its disk was emptied"})
		return
	}
	for group := range groupsOf(b.core) {
		before := w.Applied(group)
		if b.breached(now, w.Show(b.number, group, viewOf(b.core, group))) {
			return
		}
		if w.Applied(group) > before && b.trace.events >= w.nextSample {
			w.nextSample = b.trace.events + sampleEvery
			if b.breached(now, b.world.majority(group)) {
				return
			}
		}
	}
}

// breached ends the run when an invariant is broken; the checker finds it in
// the history. It reports whether one is.
func (b *broker) breached(now int64, found *invariant.Breach) bool {
	if found == nil {
		return false
	}
	b.watch.breach = found
	text := found.Name + ": " + found.Detail
	b.say(now, b.name, "breaks the invariant "+text, 0, 0)
	b.world.note(history.Event{Ev: history.Note, What: history.NoteInvariant, Target: b.name, Text: text})
	return true
}

// majority looks whether what is applied is on enough disks. It says nothing
// when some disk may have lost what it confirmed.
func (w *world) majority(group uint32) *invariant.Breach {
	var views []invariant.View
	for _, b := range w.brokers {
		if !b.honest() {
			return nil
		}
		image, found := b.durable()
		if found != nil {
			return found
		}
		if group < groupsOf(image) {
			views = append(views, viewOf(image, group))
		}
	}
	return w.watch.Majority(group, views, max(1, w.plan.Target.Nodes))
}

// honest reports whether a broker's disk holds all that the broker believes.
func (b *broker) honest() bool {
	return b.config().Durability == core.Fsync && !b.mayHaveLost(b.process)
}

// durable is the core that a broker would recover from what is durable on its
// disk.
func (b *broker) durable() (*core.Core, *invariant.Breach) {
	var fx core.Effects
	r := core.NewRecovery(b.config())
	for _, f := range b.disk.Durable() {
		if err := r.Feed(f.Name, f.Content); err != nil {
			return nil, &invariant.Breach{Name: invariant.Restart, Detail: b.name + " could not start with what is durable on its disk: " + err.Error()}
		}
	}
	was := b.lots.stream
	b.lots.stream = random.New(b.seed, "durable")
	image, err := r.Finish(core.Time{}, &fx)
	b.lots.stream = was
	if err != nil {
		return nil, &invariant.Breach{Name: invariant.Restart, Detail: b.name + " could not start with what is durable on its disk: " + err.Error()}
	}
	return image, nil
}

// lookAtDisk remembers what the next life of a broker has to begin with.
func (b *broker) lookAtDisk(now int64) {
	w := b.watch
	if w == nil || w.breach != nil {
		return
	}
	w.Forget(b.number)
	if !b.honest() {
		return
	}
	image, found := b.durable()
	if b.breached(now, found) {
		return
	}
	for group := range groupsOf(image) {
		if b.breached(now, w.Ended(b.number, group, viewOf(image, group))) {
			return
		}
	}
}

// lookAtStatistics checks the statistics that a broker gave.
func (b *broker) lookAtStatistics(now int64, s *core.Stats) {
	if b.watch == nil || b.watch.breach != nil {
		return
	}
	if s.Quarantine != "" && b.honest() {
		b.breached(now, &invariant.Breach{Name: invariant.Quarantine, Detail: b.name + " takes part in nothing although its disk has lost nothing: " + strings.TrimSpace(s.Quarantine)})
		return
	}
	b.breached(now, invariant.OfStatistics(s))
}

// askStatistics asks every broker that serves, now and again later.
func (w *world) askStatistics(now int64) {
	for _, b := range w.brokers {
		if b.ready {
			w.ask(now, b.process, core.Request{Kind: core.ReqStats})
		}
	}
	w.later(now+statisticsEvery, evStatistics, 0, 0)
}
