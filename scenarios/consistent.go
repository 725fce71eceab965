//det:ring0

package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pestle/checker"
)

// consistent returns the first contradiction between keys that are each fine,
// or nil.
func (s Scenario) consistent() error {
	return firstError(
		s.targetFits(),
		s.workloadFits(),
		s.phasesFit(),
		s.judgementFits(),
		s.faultsFitEveryNumber(),
		s.worldsFit(),
	)
}

// at returns the place of a key in the file: its own, or that of the nearest
// mapping around it when the key is left out.
func (s Scenario) at(path string) string {
	for {
		if where, ok := s.where[path]; ok {
			return where
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return s.where[""]
		}
		path = path[:i]
	}
}

// gives tells whether the file has a key.
func (s Scenario) gives(path string) bool {
	_, given := s.where[path]
	return given
}

// contradiction is an error about the key at path.
func (s Scenario) contradiction(path, format string, args ...any) error {
	return fmt.Errorf("%s: %s %s", s.at(path), path, fmt.Sprintf(format, args...))
}

func (s Scenario) targetFits() error {
	t := s.Target
	pestle := t.Kind == "pestle"
	switch {
	case !pestle && t.Durability != "":
		return s.contradiction("target.durability", "is for kind pestle; nsqd is set by target.flags")
	case !pestle && t.Disk != "":
		return s.contradiction("target.disk", "is for kind pestle")
	case !pestle && t.Plant != "":
		return s.contradiction("target.plant", "is for kind pestle")
	case !pestle && s.gives("target.nodes"):
		return s.contradiction("target.nodes", "are for kind pestle")
	case !pestle && s.knobs != nil:
		return s.contradiction("target.knobs", "are for kind pestle")
	case pestle && t.Address != "":
		return s.contradiction("target.address", "is for kind nsq")
	case pestle && t.HTTP != "":
		return s.contradiction("target.http", "is for kind nsq")
	case t.Address != "" && t.HTTP == "":
		return s.contradiction("target.address", "needs target.http beside it: the drain is proven by nsqd's statistics")
	case t.HTTP != "" && t.Address == "":
		return s.contradiction("target.http", "needs target.address beside it")
	case t.Address != "" && len(t.Flags) > 0:
		return s.contradiction("target.flags", "are for an nsqd that Pestle starts; the one at target.address runs already")
	case t.Address != "" && len(s.faults) > 0:
		return s.contradiction("faults", "cannot be: Pestle does not touch the nsqd at target.address; leave target.address out to have one started")
	}
	return nil
}

func (s Scenario) workloadFits() error {
	w := s.workload
	for i, c := range w.channels {
		if slices.ContainsFunc(w.channels[:i], func(o channel) bool { return o.name == c.name }) {
			return s.contradiction("workload.channels."+strconv.Itoa(i)+".name", "is %s like that of an earlier channel", c.name)
		}
	}
	if w.consumeAfterChaos && len(w.channels) > 1 {
		return s.contradiction("workload.channels", "are %d, but with workload.consume: after-chaos there can be one: the first channel that is made gets the topic's backlog, the next one nothing", len(w.channels))
	}
	if w.atMostOnce && w.tries != 1 {
		return s.contradiction("workload.send.tries", "is %d, but at-most-once never sends a message twice; leave it out", w.tries)
	}
	p := s.phases
	if can := w.acksWithin(p.warmUpWithin, w.rate.lo); p.warmUpAcks > can {
		return s.contradiction("phases.warm_up.acks", "is %d, but %d producers at %d/s send only %d messages in %s", p.warmUpAcks, w.producers, w.rate.lo, can, formatDuration(p.warmUpWithin))
	}
	need := resolving(w.tries, w.timeout, w.backoff)
	if p.drain < need {
		return s.contradiction("phases.drain", "is %s, but a producer may need %s to resolve its open sends (tries, timeout and backoff of workload.send)", formatDuration(p.drain), formatDuration(need))
	}
	if need += w.holding(); p.drain < need {
		return s.contradiction("phases.drain", "is %s, but the last messages may need %s: to be sent, and then to wait until their deferral, requeue_delay or, when forgotten, msg_timeout is over", formatDuration(p.drain), formatDuration(need))
	}
	return s.holdingBackFits()
}

// holdingBackFits looks at what keeps messages from being done: deferrals and
// consumers that forget.
func (s Scenario) holdingBackFits() error {
	w := s.workload
	if by := w.deferBy; by.lo%millisecond != 0 || by.hi%millisecond != 0 {
		return s.contradiction("workload.defer.by", "is not in whole milliseconds, which is what NSQ counts in")
	}
	for i, c := range w.channels {
		if c.forget.hi > 0 && c.inFlight.hi == 1 {
			return s.contradiction("workload.channels."+strconv.Itoa(i)+".forget", "is up to %s, but with in_flight: 1 a forgotten message would hold up all others; allow 2", formatPercent(c.forget.hi))
		}
	}
	return nil
}

// holding is how long a message may have to wait at most because the target is
// asked for it, or because a consumer forgot it.
func (w workload) holding() int64 {
	back := int64(0)
	for _, c := range w.channels {
		if c.requeue.hi > 0 {
			back = max(back, c.requeueDelay.hi)
		}
		if c.forget.hi > 0 {
			back = max(back, w.msgTimeout.hi)
		}
	}
	if w.deferShare.hi > 0 {
		back += w.deferBy.hi
	}
	return back
}

// holdsBack tells whether the target is asked to hold any message back.
func (s Scenario) holdsBack() bool {
	return s.workload.deferShare.hi > 0 || slices.ContainsFunc(s.workload.channels, func(c channel) bool {
		return c.requeue.hi > 0 && c.requeueDelay.hi >= millisecond
	})
}

// acksWithin is how many messages are sent in a stretch of time at most, if
// each producer sends that many in a second.
func (w workload) acksWithin(length, rate int64) int64 {
	return int64(w.producers) * rate * (length / millisecond) / 1000
}

// resolving is how long the outcome of a message can stay open at most; beyond
// an hour the exact length does not matter.
func resolving(tries int, timeout, backoff int64) int64 {
	total := timeout
	for range tries - 1 {
		total += timeout + backoff
		if total > hour {
			return total
		}
		backoff *= 2
	}
	return total
}

func (s Scenario) phasesFit() error {
	p := s.phases
	if p.quietFor >= p.quietEvery {
		return s.contradiction("phases.quiet.for", "is %s, but a window begins every %s; make it shorter", formatDuration(p.quietFor), formatDuration(p.quietEvery))
	}
	if p.recovery >= p.quietFor {
		return s.contradiction("phases.recovery", "is %s, but a quiet window lasts only %s: nothing could be judged in it", formatDuration(p.recovery), formatDuration(p.quietFor))
	}
	return nil
}

// judgementFits finds what is required but could not be judged or met.
func (s Scenario) judgementFits() error {
	if slices.Contains(s.properties, checker.NotEarly) && !s.holdsBack() {
		return s.contradiction("properties", "contain not-early, but nothing is held back: set workload.defer, or requeue and requeue_delay of a channel")
	}
	progress := slices.Contains(s.properties, checker.ProducerProgress) || slices.Contains(s.properties, checker.ConsumerProgress)
	if progress && len(s.phases.windows()) == 0 {
		return s.contradiction("phases.chaos", "is %s and ends before the first quiet window (%s to %s), where the progress properties are judged; make it longer, make phases.quiet.every shorter or leave those properties out",
			formatDuration(s.phases.chaos), formatDuration(s.phases.quietEvery), formatDuration(s.phases.quietEvery+s.phases.quietFor))
	}
	if s.workload.consumeAfterChaos {
		if slices.Contains(s.properties, checker.ConsumerProgress) {
			return s.contradiction("properties", "contain consumer-progress, but with workload.consume: after-chaos nothing is consumed in a quiet window; list the other properties")
		}
		if slices.Contains(s.claims, checker.ClaimConsumerResumed) {
			return s.contradiction("claims", "contain consumer-resumed-after-kill, but with workload.consume: after-chaos no consumer runs while faults are active")
		}
	}
	if s.workload.atMostOnce {
		for _, c := range []string{checker.ClaimRetriedFailedSend, checker.ClaimGaveUp} {
			if slices.Contains(s.claims, c) {
				return s.contradiction("claims", "contain %s, but with at-most-once nothing is sent twice", c)
			}
		}
	}
	return nil
}
