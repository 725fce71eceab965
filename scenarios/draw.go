//det:ring0

package scenarios

import (
	"fmt"
	"slices"
	"strconv"

	"pestle/faults"
	"pestle/sim/random"
)

// occurrence is one fault on its way into the plan.
type occurrence struct {
	line   int      // index in Scenario.faults
	nth    int      // of its line, from 0
	of     int      // how many its line has
	key    []string // of its draws
	fault  faults.Fault
	cause  *occurrence   // that it waits for
	effect []*occurrence // that wait for it
	left   bool          // out of the plan: no place
}

// draw draws everything about the faults but the times of those that are not
// triggered. Lines that the seed leaves out are not there, nor what waits for
// them.
func (s Scenario) draw(seed uint64) []*occurrence {
	var all []*occurrence
	for i, line := range s.faults {
		key := s.drawKey(i)
		if !s.on(seed, i) {
			continue
		}
		times := between(stream(seed, key, "times"), line.times)
		for nth := range int(times) {
			o := &occurrence{line: i, nth: nth, of: int(times), key: slices.Concat(key, []string{strconv.Itoa(nth)})}
			o.fault.Kind, o.fault.Maybe = faults.Kind(line.kind), s.leftToChance(line)
			o.fault.For = duration(stream(seed, o.key, "for"), line.length)
			line.drawParameters(seed, o)
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
			s.drawTarget(seed, o, s.candidates(s.faults[o.line].target))
		}
	}
	for _, o := range all {
		if o.cause != nil {
			s.drawTarget(seed, o, without(s.candidates(s.faults[o.line].target), o.cause.fault.Target))
		}
	}
	return all
}

// on tells whether the seed has the line: it, and the one that it waits for.
func (s Scenario) on(seed uint64, i int) bool {
	line := s.faults[i]
	if !stream(seed, s.drawKey(i), "chance").Permille(line.chance) {
		return false
	}
	if line.after == nil || line.after.fault == "" {
		return true
	}
	for j, cause := range s.faults {
		if cause.name == line.after.fault {
			return s.on(seed, j) // no further: chains are not allowed
		}
	}
	panic("scenarios: no fault is named " + line.after.fault)
}

// leftToChance tells whether some seeds do not have the line: it has a chance,
// or what it waits for has one.
func (s Scenario) leftToChance(line faultLine) bool {
	if line.chance < 1000 {
		return true
	}
	return line.after != nil && line.after.fault != "" && slices.ContainsFunc(s.faults, func(cause faultLine) bool {
		return cause.name == line.after.fault && cause.chance < 1000
	})
}

func (f faultLine) drawParameters(seed uint64, o *occurrence) {
	spec, _ := faults.Find(faults.Kind(f.kind))
	for _, p := range f.params {
		draw := between
		switch param, _ := spec.Param(p.name); shapeOf(param) {
		case durations, offsets:
			draw = duration
		case byteSizes:
			draw = size
		}
		o.fault.Set(p.name, draw(stream(seed, o.key, p.name), p.span))
	}
	o.fault.Shape = faults.Shape(f.shape)
}

// drawTarget draws whom the fault hits, and all that depends on it.
func (s Scenario) drawTarget(seed uint64, o *occurrence, candidates []string) {
	f, line := &o.fault, s.faults[o.line]
	f.Target = pick(stream(seed, o.key, "target"), candidates)
	if line.peer != "" {
		f.Peer = pick(stream(seed, o.key, "peer"), without(s.candidates(line.peer), f.Target))
	}
	if after := f.Anchor.After; after != nil && after.Point != "" {
		after.Process = s.passes(f.Target)
	}
	f.Side = drawSide(stream(seed, o.key, "side"), f.Shape, f.Target, s.processes())
}

// passes returns the process whose points a fault on target waits for: the
// target, or the broker where it is a client.
func (s Scenario) passes(target string) string {
	if role, _ := faults.RoleOf(target); role == faults.Broker {
		return target
	}
	return s.candidates(string(faults.Broker))[0]
}

// drawSide draws who stands where in a partition; see faults.Shape.
func drawSide(r *random.Stream, form faults.Shape, target string, processes []string) []string {
	others := without(processes, target)
	switch form {
	case faults.Halves:
		return append([]string{target}, half(r, others, 0)...)
	case faults.Bridge:
		return half(r, others, 1)
	case faults.Ring:
		shuffle(r, others)
		return append([]string{target}, others...)
	}
	return nil
}

// half draws some of the list: at least so many, and never all.
func half(r *random.Stream, list []string, least int64) []string {
	shuffle(r, list)
	side := list[:r.Between(least, int64(len(list))-1)]
	slices.Sort(side)
	return side
}

func shuffle(r *random.Stream, list []string) {
	for i := len(list) - 1; i > 0; i-- {
		j := r.Below(int64(i) + 1)
		list[i], list[j] = list[j], list[i]
	}
}

func pick(r *random.Stream, list []string) string { return list[r.Below(int64(len(list)))] }

func (a afterLine) draw(seed uint64, key []string) *faults.Event {
	e := &faults.Event{Delay: duration(stream(seed, key, "delay"), a.delay)}
	switch r := stream(seed, key, "after"); {
	case a.acks.hi > 0:
		e.Acks = between(r, a.acks)
	case a.attempts.hi > 0:
		e.Attempts = between(r, a.attempts)
	case a.point != "":
		e.Point, e.Count = a.point, between(r, a.count)
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

// describe names an occurrence in an error.
func (s Scenario) describe(o *occurrence) string {
	return fmt.Sprintf("%s (%s %s)", s.faults[o.line].path, o.fault.Kind, o.fault.Target)
}
