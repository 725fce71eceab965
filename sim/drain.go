package sim

import (
	"fmt"

	"pestle/broker/core"
	"pestle/faults"
	"pestle/history"
)

// drain stops the producers, each after one last message that was acked, and
// waits until every channel has delivered it and holds nothing more.
func (w *world) drain() {
	w.enter(history.PhaseDrain)
	if w.plan.Workload.ConsumeAfterChaos {
		w.startAll(faults.Consumer)
	}
	w.sentinels = newSentinels(w.plan.Workload)
	bound := w.now() + w.plan.Phases.DrainWithin
	for _, p := range w.processes {
		if p.role == faults.Producer {
			p.post(w.now()+w.harness.Between(minCallLatency, maxCallLatency), evDrain, 0)
		}
	}
	if w.run(bound, w.sentinels.sent) {
		w.empty(bound)
	}
}

// empty asks for the backlog until each channel has delivered every sentinel
// and holds nothing, twice in a row, and notes that. The checker sees when it
// was not proven.
func (w *world) empty(bound int64) {
	s := w.sentinels
	seen := make([]int, len(s.channels))
	left := len(s.channels)
	var last *core.Stats
	for left > 0 && w.now() < bound && !w.over() {
		next := w.now() + statsEvery
		if stats := w.leading(); stats != nil {
			left -= w.noteEmpty(stats, seen)
			last = stats
		}
		w.run(min(bound, next), func() bool { return false })
	}
	if !w.over() {
		w.noteBacklog(last, seen)
	}
}

// noteBacklog says of each channel that was not proven to be empty what it
// held last.
func (w *world) noteBacklog(last *core.Stats, seen []int) {
	for i, channel := range w.sentinels.channels {
		if seen[i] >= 2 {
			continue
		}
		text := "no broker that leads the topic gave statistics"
		if last != nil {
			n, _ := backlog(last, w.plan.Workload.Topic, channel)
			text = fmt.Sprintf("%d messages left", n)
		}
		w.note(history.Event{Ev: history.Note, What: history.NoteBacklog, Topic: w.plan.Workload.Topic, Channel: channel, Text: text})
	}
}

// noteEmpty looks at one snapshot and returns how many channels are proven to
// be empty by it.
func (w *world) noteEmpty(stats *core.Stats, seen []int) (proven int) {
	for i, channel := range w.sentinels.channels {
		n, known := backlog(stats, w.plan.Workload.Topic, channel)
		if !known || n != 0 || !w.sentinels.delivered(i) {
			if seen[i] < 2 {
				seen[i] = 0
			}
			continue
		}
		if seen[i]++; seen[i] == 2 {
			proven++
			w.note(history.Event{Ev: history.Note, What: history.NoteDrained, Topic: w.plan.Workload.Topic, Channel: channel})
		}
	}
	return proven
}

// backlog is how many messages a channel still holds: waiting, in the topic
// or the channel, in flight or deferred.
func backlog(stats *core.Stats, topic, channel string) (n int64, known bool) {
	for i := range stats.Topics {
		t := &stats.Topics[i]
		if t.Name != topic {
			continue
		}
		for j := range t.Channels {
			if c := &t.Channels[j]; c.Name == channel {
				return t.Depth + c.Depth + c.InFlight + c.Deferred, true
			}
		}
	}
	return 0, false
}
