//det:ring0

package scenarios

import (
	"fmt"
	"slices"
	"strconv"

	"pestle/faults"
	"pestle/sim/random"
)

// Expand draws every choice of a run. The same scenario and seed give the same
// plan; each draw has a stream of its own, keyed by what it is for, so that a
// change of one key or fault line leaves the draws of the others alone.
//
// The error says that the faults do not fit into the chaos.
func Expand(s Scenario, seed uint64) (Plan, error) {
	p := Plan{
		Schema:   PlanSchema,
		Scenario: s.Name,
		Seed:     seed,
		Target:   s.Target,
		Workload: s.workload.expand(seed),
		Phases: Phases{
			WarmUpAcks:   s.phases.warmUpAcks,
			WarmUpWithin: s.phases.warmUpWithin,
			Chaos:        s.phases.chaos,
			Quiet:        s.phases.windows(),
			Recovery:     s.phases.recovery,
			DrainWithin:  s.phases.drain,
		},
		Properties: s.properties,
		Claims:     s.claims,
	}
	occurrences := s.draw(seed)
	if err := s.place(seed, occurrences, p.Phases.Quiet); err != nil {
		return Plan{}, err
	}
	p.Faults = number(occurrences)
	return p, nil
}

func (w workload) expand(seed uint64) Workload {
	out := Workload{
		Topic:             w.topic,
		AtMostOnce:        w.atMostOnce,
		Tries:             w.tries,
		Backoff:           w.backoff,
		Timeout:           w.timeout,
		MsgTimeout:        w.msgTimeout,
		ConsumeAfterChaos: w.consumeAfterChaos,
	}
	for n := 1; n <= w.producers; n++ {
		name := producerName(n)
		out.Producers = append(out.Producers, Producer{
			Name: name, Interval: second / w.rate, Pending: w.pending,
			MinSize: int(w.payload.lo), MaxSize: int(w.payload.hi),
			Seed: random.New(seed, "producer", name).Uint64(),
		})
	}
	for _, c := range w.channels {
		for n := 1; n <= c.consumers; n++ {
			name := consumerName(c.name, n)
			out.Consumers = append(out.Consumers, Consumer{
				Name: name, Channel: c.name, InFlight: c.inFlight,
				RequeuePermille: c.requeue, RequeueDelay: c.requeueDelay,
				Seed: random.New(seed, "consumer", name).Uint64(),
			})
		}
	}
	return out
}

// occurrence is one fault on its way into the plan.
type occurrence struct {
	line   int      // index in Scenario.faults
	nth    int      // of its line, from 0
	of     int      // how many its line has
	key    []string // of its draws
	fault  faults.Fault
	cause  *occurrence   // that it waits for
	effect []*occurrence // that wait for it
}

// draw draws everything about the faults but the times of those that are not
// triggered.
func (s Scenario) draw(seed uint64) []*occurrence {
	var all []*occurrence
	for i, line := range s.faults {
		key := s.drawKey(i)
		times := between(stream(seed, key, "times"), line.times)
		for nth := range int(times) {
			o := &occurrence{line: i, nth: nth, of: int(times), key: slices.Concat(key, []string{strconv.Itoa(nth)})}
			o.fault.Kind = faults.Kind(line.kind)
			o.fault.For = duration(stream(seed, o.key, "for"), line.length)
			all = append(all, o)
		}
	}
	// Targets and triggers come second: a line may wait for a later one.
	for _, o := range all {
		if after := s.faults[o.line].after; after != nil {
			o.fault.Anchor.After = after.draw(seed, o.key)
			if after.fault != "" {
				o.cause = s.causeOf(o, all)
				o.cause.effect = append(o.cause.effect, o)
			}
		}
	}
	for _, o := range all {
		if o.cause == nil {
			o.drawTarget(seed, s.candidates(s.faults[o.line].target))
		}
	}
	for _, o := range all {
		if o.cause != nil {
			o.drawTarget(seed, without(s.candidates(s.faults[o.line].target), o.cause.fault.Target))
		}
	}
	return all
}

func (o *occurrence) drawTarget(seed uint64, candidates []string) {
	pick := stream(seed, o.key, "target").Below(int64(len(candidates)))
	o.fault.Target = candidates[pick]
}

func (a afterLine) draw(seed uint64, key []string) *faults.Event {
	e := &faults.Event{Delay: duration(stream(seed, key, "delay"), a.delay)}
	switch r := stream(seed, key, "after"); {
	case a.acks.hi > 0:
		e.Acks = between(r, a.acks)
	case a.attempts.hi > 0:
		e.Attempts = between(r, a.attempts)
	}
	return e
}

// causeOf finds the fault that o waits for: the n-th of the line it names for
// the n-th of its own. The scenario's checks leave no other case.
func (s Scenario) causeOf(o *occurrence, all []*occurrence) *occurrence {
	name := s.faults[o.line].after.fault
	for _, cause := range all {
		if s.faults[cause.line].name == name && cause.nth == o.nth {
			return cause
		}
	}
	panic("scenarios: no fault is named " + name)
}

// drawKey keys the draws of a fault line by what it is, not by where it
// stands: its name, or else its kind, target and number among its like.
func (s Scenario) drawKey(i int) []string {
	f := s.faults[i]
	if f.name != "" {
		return []string{"fault", f.name}
	}
	nth := 0
	for _, o := range s.faults[:i] {
		if o.name == "" && o.kind == f.kind && o.target == f.target {
			nth++
		}
	}
	return []string{"fault", f.kind, f.target, strconv.Itoa(nth)}
}

// number gives the faults their refs: those with a time in its order, each
// followed by those that wait for it, then the others in the order of the file.
func number(all []*occurrence) []faults.Fault {
	var out []faults.Fault
	add := func(o *occurrence) {
		o.fault.Ref = len(out) + 1
		out = append(out, o.fault)
		for _, e := range o.effect {
			e.fault.Ref, e.fault.Anchor.After.Fault = len(out)+1, o.fault.Ref
			out = append(out, e.fault)
		}
	}
	for _, o := range byTime(all) {
		add(o)
	}
	for _, o := range all {
		if o.cause == nil && o.fault.Anchor.After != nil {
			add(o)
		}
	}
	return out
}

// stream returns the stream of one draw.
func stream(seed uint64, key []string, purpose string) *random.Stream {
	return random.New(seed, slices.Concat(key, []string{purpose})...)
}

// between draws a number of a span.
func between(r *random.Stream, s span) int64 { return r.Between(s.lo, s.hi) }

// duration draws a duration of a span, in whole milliseconds where the span
// allows it: nobody wants to read more digits.
func duration(r *random.Stream, s span) int64 {
	if s.lo%millisecond == 0 && s.hi%millisecond == 0 {
		return r.Between(s.lo/millisecond, s.hi/millisecond) * millisecond
	}
	return between(r, s)
}

// describe names an occurrence in an error.
func (s Scenario) describe(o *occurrence) string {
	return fmt.Sprintf("%s (%s %s)", s.faults[o.line].path, o.fault.Kind, o.fault.Target)
}
