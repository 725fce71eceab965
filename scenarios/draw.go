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
	also   []faults.Fault // the same on other brokers at once
	cause  *occurrence    // that it waits for
	effect []*occurrence  // that wait for it
	left   bool           // out of the plan: no place
}

// faults lists the faults of an occurrence.
func (o *occurrence) faults() []faults.Fault {
	return append([]faults.Fault{o.fault}, o.also...)
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
			s.drawTarget(seed, o, s.targets(seed, s.faults[o.line]))
		}
	}
	for _, o := range all {
		if o.cause == nil {
			continue
		}
		targets := s.targets(seed, s.faults[o.line])
		for _, held := range o.cause.faults() {
			switch {
			case !faults.Together(held.Kind, o.fault.Kind):
				targets = without(targets, held.Target)
			case slices.Contains(targets, held.Target):
				targets = []string{held.Target}
			}
		}
		s.drawTarget(seed, o, targets)
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
	if several(line.target) {
		s.drawSeveral(seed, o, candidates)
		return
	}
	f.Target = pick(stream(seed, o.key, "target"), candidates)
	if line.peer != "" {
		f.Peer = pick(stream(seed, o.key, "peer"), apart(s.candidates(line.peer), f.Target))
	}
	s.drawPasser(o)
	f.Among = s.among(f.Shape, f.Target)
	f.Side = s.drawSide(stream(seed, o.key, "side"), *f)
	f.Away = s.away(*f, 1)
}

// drawSeveral draws the brokers that are hit at once, each for its own time.
func (s Scenario) drawSeveral(seed uint64, o *occurrence, brokers []string) {
	line := s.faults[o.line]
	if line.target == mostBrokers {
		shuffle(stream(seed, o.key, "target"), brokers)
		brokers = brokers[:min(len(brokers), majority(s.Target.nodes()))]
		slices.Sort(brokers)
	}
	o.fault.Target = brokers[0]
	s.drawPasser(o)
	o.fault.Away = s.away(o.fault, len(brokers))
	for _, name := range brokers[1:] {
		f := o.fault
		f.Target = name
		f.For = duration(stream(seed, o.key, "for "+name), line.length)
		o.also = append(o.also, f)
	}
}

// drawPasser says whose points the fault waits for, if it waits for any: those
// of the broker that the line names, or else of the target, where that is one
// broker, or of any.
func (s Scenario) drawPasser(o *occurrence) {
	after := o.fault.Anchor.After
	if after == nil || after.Point == "" {
		return
	}
	line := s.faults[o.line]
	role, _ := faults.RoleOf(o.fault.Target)
	switch {
	case line.after.process != "":
		after.Process = line.after.process
	case !s.Target.clustered():
		after.Process = s.Target.brokers()[0]
	case role == faults.Broker && !several(line.target):
		after.Process = o.fault.Target
	default:
		after.Process = faults.AnyProcess
	}
}

// among tells who takes part in a partition: of a cluster, where the target is
// one of the brokers, the brokers only. The clients reach both sides then.
func (s Scenario) among(shape faults.Shape, target string) faults.Role {
	if role, _ := faults.TargetRole(target); shape != "" && s.Target.clustered() && role == faults.Broker {
		return faults.Broker
	}
	return ""
}

// away is how many brokers may be away at once beside a fault that takes one
// away, and so many others with it.
func (s Scenario) away(f faults.Fault, together int) int {
	spec, _ := faults.Find(f.Kind)
	if role, _ := faults.TargetRole(f.Target); !s.Target.clustered() || !spec.TakesAway || role != faults.Broker {
		return 0
	}
	return max(together, faults.Expendable(s.Target.nodes()))
}

// drawSide draws who stands where in a partition; see faults.Shape.
func (s Scenario) drawSide(r *random.Stream, f faults.Fault) []string {
	all := s.processes()
	if f.Among != "" {
		all = s.Target.family(f.Target)
	}
	others := without(all, f.Target)
	brokers := s.Target.nodes()
	switch f.Shape {
	case faults.Halves:
		return append([]string{f.Target}, half(r, others, 0)...)
	case faults.Majority:
		return append([]string{f.Target}, some(r, others, majority(brokers)-1)...)
	case faults.Minority:
		return append([]string{f.Target}, some(r, others, faults.Expendable(brokers)-1)...)
	case faults.Bridge:
		return half(r, others, 1)
	case faults.Ring:
		shuffle(r, others)
		return append([]string{f.Target}, others...)
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

// some draws so many of the list.
func some(r *random.Stream, list []string, n int) []string {
	shuffle(r, list)
	side := list[:n]
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
		for _, f := range o.faults() {
			f.Ref = len(out) + 1
			out = append(out, f)
		}
	}
	withEffects := func(o *occurrence) {
		ref := len(out) + 1
		add(o)
		for _, e := range o.effect {
			e.fault.Anchor.After.Fault = ref // it is that of its companions too
			add(e)
		}
	}
	for _, o := range byTime(all) {
		withEffects(o)
	}
	for _, o := range all {
		if o.cause == nil && o.fault.Anchor.After != nil {
			withEffects(o)
		}
	}
	return out
}

// describe names an occurrence in an error.
func (s Scenario) describe(o *occurrence) string {
	return fmt.Sprintf("%s (%s %s)", s.faults[o.line].path, o.fault.Kind, o.fault.Target)
}
