//det:ring0

package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pestle/checker"
	"pestle/faults"
)

// consistent returns the first contradiction between keys that are each fine,
// or nil.
func (s Scenario) consistent() error {
	return firstError(
		s.targetFits(),
		s.workloadFits(),
		s.phasesFit(),
		s.judgementFits(),
		s.faultsFit(),
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
	if can := w.acksWithin(p.warmUpWithin); p.warmUpAcks > can {
		return s.contradiction("phases.warm_up.acks", "is %d, but %d producers at %d/s send only %d messages in %s", p.warmUpAcks, w.producers, w.rate, can, formatDuration(p.warmUpWithin))
	}
	if need := resolving(w.tries, w.timeout, w.backoff); p.drain < need {
		return s.contradiction("phases.drain", "is %s, but a producer may need %s to resolve its open sends (tries, timeout and backoff of workload.send)", formatDuration(p.drain), formatDuration(need))
	}
	return nil
}

// acksWithin is how many messages are sent in a stretch of time at most.
func (w workload) acksWithin(length int64) int64 {
	return int64(w.producers) * w.rate * (length / millisecond) / 1000
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

func (s Scenario) faultsFit() error {
	total := int64(0)
	for _, f := range s.faults {
		total += f.times.hi
	}
	if total > faults.MaxFaults {
		return s.contradiction("faults", "happen up to %d times together; a plan holds %d", total, faults.MaxFaults)
	}
	for i, f := range s.faults {
		if err := s.faultFits(i, f); err != nil {
			return err
		}
	}
	return nil
}

func (s Scenario) faultFits(i int, f faultLine) error {
	spec, _ := faults.Find(faults.Kind(f.kind)) // the key table has no other kinds
	if f.length.lo < spec.MinFor || f.length.hi > spec.MaxFor {
		return s.contradiction(f.path+".for", "is %s; allowed for a %s: %s..%s", formatSpan(f.length, formatDuration), f.kind, formatDuration(spec.MinFor), formatDuration(spec.MaxFor))
	}
	if len(s.candidates(f.target)) == 0 {
		words := s.targetWords()
		return s.contradiction(f.path+".target", "is %q%s allowed: %s", f.target, orSemicolon(didYouMean(f.target, words)), strings.Join(words, ", "))
	}
	if s.workload.consumeAfterChaos && strings.HasPrefix(f.target, "consumer") {
		return s.contradiction(f.path+".target", "is %s, but with workload.consume: after-chaos no consumer runs while faults are active", f.target)
	}
	if f.name != "" {
		for _, o := range s.faults[:i] {
			if o.name == f.name {
				return s.contradiction(f.path+".name", "is %s like that of %s", f.name, o.path)
			}
		}
	}
	if f.after == nil {
		return nil
	}
	return s.afterFits(f)
}

func (s Scenario) afterFits(f faultLine) error {
	at, a := f.path+".after", f.after
	set := 0
	for _, on := range []bool{a.acks.hi > 0, a.attempts.hi > 0, a.fault != ""} {
		if on {
			set++
		}
	}
	if set != 1 {
		return s.contradiction(at, "has %d of acks, attempts and fault; write exactly one", set)
	}
	if a.fault == "" {
		can := s.workload.acksWithin(s.phases.chaos)
		if a.acks.hi > can {
			return s.contradiction(at+".acks", "is up to %d, but chaos of %s sees %d acks at most", a.acks.hi, formatDuration(s.phases.chaos), can)
		}
		// Every message may be tried again and again.
		if can *= int64(s.workload.tries); a.attempts.hi > can {
			return s.contradiction(at+".attempts", "is up to %d, but chaos of %s sees %d attempts at most", a.attempts.hi, formatDuration(s.phases.chaos), can)
		}
		return nil
	}
	return s.causeFits(f)
}

// causeFits checks the line that f waits for.
func (s Scenario) causeFits(f faultLine) error {
	at := f.path + ".after.fault"
	var names []string
	for _, cause := range s.faults {
		if cause.name != "" {
			names = append(names, cause.name)
		}
		if cause.name != f.after.fault {
			continue
		}
		switch {
		case cause.path == f.path:
			return s.contradiction(at, "is the line itself")
		case cause.after != nil && cause.after.fault != "":
			return s.contradiction(at, "is %s, which waits for a fault itself; chains are not allowed", cause.name)
		case f.times.hi > cause.times.lo:
			return s.contradiction(f.path+".times", "is up to %d, but %s happens only %d times for sure", f.times.hi, cause.name, cause.times.lo)
		}
		// The cause still holds its target.
		for _, target := range s.candidates(cause.target) {
			if others := without(s.candidates(f.target), target); len(others) == 0 {
				return s.contradiction(f.path+".target", "is %s, but %s holds that process then; name another", target, cause.name)
			}
		}
		return nil
	}
	return s.contradiction(at, "is %q, but no line has that name%s", f.after.fault, didYouMean(f.after.fault, names))
}

// without returns the list without one of its members.
func without(list []string, member string) []string {
	var out []string
	for _, s := range list {
		if s != member {
			out = append(out, s)
		}
	}
	return out
}
