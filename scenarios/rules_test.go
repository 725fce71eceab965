package scenarios

import (
	"fmt"
	"slices"

	"pestle/faults"
)

// brokenRules checks a plan against its scenario by the plain meaning of the
// keys, without the code that made it.
func brokenRules(s Scenario, p Plan) []string {
	var wrong []string
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }

	s = s.of(int64(p.Target.nodes()))
	type stretch struct {
		faults.Fault
		from, to int64
	}
	var known []stretch
	for _, f := range p.Faults {
		from := f.Anchor.At
		if e := f.Anchor.After; e != nil {
			if e.Fault == 0 {
				continue // its time is not in the plan
			}
			from = p.Faults[e.Fault-1].Anchor.At + e.Delay
		}
		known = append(known, stretch{f, from, from + f.For + faults.Settle})
	}
	related := func(a, b faults.Fault) bool {
		waits := func(f, of faults.Fault) bool { return f.Anchor.After != nil && f.Anchor.After.Fault == of.Ref }
		return waits(a, b) || waits(b, a)
	}
	most := faults.Expendable(p.Target.nodes())
	for i, a := range known {
		if a.to > p.Phases.Chaos {
			bad("fault %d reaches %s, beyond the chaos", a.Ref, formatDuration(a.to))
		}
		for _, q := range p.Phases.Quiet {
			if a.from < q.To+faults.Clearance && q.From < a.to {
				bad("fault %d (%s to %s) reaches into the quiet window at %s", a.Ref, formatDuration(a.from), formatDuration(a.to), formatDuration(q.From))
			}
		}
		away := []string{a.Target}
		for j, b := range known {
			if i == j || a.from >= b.to || b.from >= a.to {
				continue
			}
			meet := a.Target == b.Target || faults.MayMeet(a.Target, b.Target) && !related(a.Fault, b.Fault)
			if meet && a.Kind != faults.BitRot && b.Kind != faults.BitRot {
				bad("faults %d and %d are both on %s", a.Ref, b.Ref, a.Target)
			}
			if b.Away > 0 && b.from <= a.from && !slices.Contains(away, b.Target) {
				away = append(away, b.Target)
			}
		}
		if a.Away > 0 && len(away) > max(most, a.Away) {
			bad("when fault %d begins %d brokers are away", a.Ref, len(away))
		}
	}
	lost := map[string]bool{}
	for _, f := range p.Faults {
		if spec, _ := faults.Find(f.Kind); spec.Loses() {
			lost[f.Target] = true
			if faults.IsSelector(f.Target) {
				lost[fmt.Sprint(f.Target, f.Ref)] = true
			}
		}
		role, _ := faults.TargetRole(f.Target)
		if spec, _ := faults.Find(f.Kind); (f.Away > 0) != (most > 0 && spec.TakesAway && role == faults.Broker) {
			bad("fault %d, a %s of %s, lets %d be away", f.Ref, f.Kind, f.Target, f.Away)
		}
		if f.Away > most && !slices.ContainsFunc(s.faults, func(l faultLine) bool { return several(l.target) && l.kind == string(f.Kind) }) {
			bad("fault %d lets %d brokers be away", f.Ref, f.Away)
		}
	}
	if len(lost) > most && !slices.Equal(p.Properties, []string{"no-data-corruption"}) {
		bad("%d brokers lose what they held: %v", len(lost), lost)
	}
	sure := len(s.faults) > 0
	for _, line := range s.faults {
		least := line.times.lo
		if s.leftToChance(line) {
			least, sure = 0, false
		}
		each := int64(1)
		switch line.target {
		case "brokers":
			each = int64(p.Target.nodes())
		case "majority":
			each = int64(p.Target.nodes()/2 + 1)
		}
		if n := int64(countLine(s, p, line)); n < each*least || n > each*line.times.hi || n%each != 0 {
			bad("%s happens %d times, not %d..%d", line.path, n, each*least, each*line.times.hi)
		}
	}
	for _, f := range p.Faults {
		if !slices.ContainsFunc(s.faults, func(l faultLine) bool { return fits(s, f, l) }) {
			bad("fault %d is of no line", f.Ref)
		}
	}
	if sure && len(known) > 0 && known[0].from >= p.Phases.Quiet[0].From {
		bad("no fault before the first quiet window")
	}
	return wrong
}

// countLine counts the faults of the plan that fit the line.
func countLine(s Scenario, p Plan, line faultLine) int {
	n := 0
	for _, f := range p.Faults {
		if fits(s, f, line) {
			n++
		}
	}
	return n
}

// fits tells whether the line may have made the fault.
func fits(s Scenario, f faults.Fault, l faultLine) bool {
	in := func(v int64, of span) bool { return v >= of.lo && v <= of.hi }
	if string(f.Kind) != l.kind || string(f.Shape) != l.shape || !in(f.For, l.length) ||
		!slices.Contains(s.candidates(l.target), f.Target) || (l.peer == "") != (f.Peer == "") || f.Peer != "" && !slices.Contains(s.candidates(l.peer), f.Peer) {
		return false
	}
	if f.Away > 0 && several(l.target) != (f.Away > faults.Expendable(s.Target.nodes())) || l.target == "brokers" && f.Away != s.Target.nodes() {
		return false
	}
	for _, p := range l.params {
		if !in(f.Value(p.name), p.span) {
			return false
		}
	}
	after := f.Anchor.After
	if after == nil || l.after == nil {
		return after == nil && l.after == nil
	}
	return (after.Fault > 0) == (l.after.fault != "") && in(after.Delay, l.after.delay) &&
		after.Point == l.after.point && (after.Point == "" || in(after.Count, l.after.count))
}
