package conductor

import (
	"slices"
	"testing"

	"pestle/faults"
	"pestle/scenarios"
)

// What the host cannot carry out is left out, and so is what waits for it; the
// journal and the outcome say why, and the rest goes on under its own numbers.
func TestWhatAHostCannotDoIsLeftOut(t *testing.T) {
	host := newScripted(t)
	host.cannot[faults.Clog] = "the kernel has no tbf"
	run := prepared(t, scenarios.Plan{
		Target: scenarios.Target{Kind: "pestle", Nodes: 3, Durability: "fsync"},
		Faults: []faults.Fault{
			{Kind: faults.Clog, Target: "broker-1", BytesPerSecond: 1, For: millisecond},
			{Kind: faults.Kill, Target: "broker-2", Anchor: faults.Anchor{After: &faults.Event{Fault: 1}}},
			{Kind: faults.Clog, Target: "broker-3", BytesPerSecond: 1, For: millisecond},
			{Kind: faults.Kill, Target: "broker-3"},
		},
	}, host)
	begin(t, run, host)
	carryOut(t, run, 4)
	if got, want := host.calls(), []string{"signal broker-3 SIGKILL", "start broker-3"}; !slices.Equal(got, want) {
		t.Errorf("the host was told to %q, want %q", got, want)
	}
	if want := []string{"no clog was carried out: the kernel has no tbf"}; !slices.Equal(run.programme.why, want) {
		t.Errorf("reasons %q, want %q", run.programme.why, want)
	}
	var left []int
	for _, l := range journalOf(t, run) {
		if l.Edge == EdgeLeftOut {
			left = append(left, l.Ref)
		}
	}
	if want := []int{1, 3, 2}; !slices.Equal(left, want) {
		t.Errorf("left out are %v, want %v", left, want)
	}
	entries := run.programme.entries(run.scheduler)
	for ref, want := range map[int]string{
		1: "left out: the kernel has no tbf", 2: "left out: it waits for fault 1, which is left out", 4: "",
	} {
		if got := entries[ref-1].Note; got != want {
			t.Errorf("the note of fault %d is %q, want %q", ref, got, want)
		}
	}
}

// Signals are what every host has: nobody asks whether it can.
func TestSignalsAreNotAskedFor(t *testing.T) {
	host := newScripted(t)
	for _, k := range []faults.Kind{faults.Kill, faults.Stop, faults.Pause, faults.Wipe, faults.Replace} {
		host.cannot[k] = "of course it can"
		if p := newProgramme(scenarios.Plan{Faults: []faults.Fault{{Ref: 1, Kind: k}}}, host); len(p.left) > 0 {
			t.Errorf("a %s is left out", k)
		}
	}
}

// A fault that waits for a point gets a moment of its own: the same one each
// time, never in a quiet window or too near to one, and not the same for all.
func TestAPointBecomesATime(t *testing.T) {
	plan := scenarios.Plan{Seed: 7, Phases: scenarios.Phases{
		Chaos: 20e9, Quiet: []faults.Window{{From: 8e9, To: 13e9}},
	}}
	for ref := 1; ref <= 200; ref++ {
		plan.Faults = append(plan.Faults, faults.Fault{
			Ref: ref, Kind: faults.Kill, Target: "broker-1", For: 2e9,
			Anchor: faults.Anchor{After: &faults.Event{Point: "ack", Count: 1, Process: "broker-1"}},
		})
	}
	p, again := newProgramme(plan, newScripted(t)), newProgramme(plan, newScripted(t))
	before, after, seen := 0, 0, map[int64]bool{}
	for i, f := range p.faults {
		at := f.Anchor.At
		switch {
		case f.Anchor.After != nil, at != again.faults[i].Anchor.At:
			t.Fatalf("fault %d: anchor %+v, then %+v; want one moment", f.Ref, f.Anchor, again.faults[i].Anchor)
		case at >= 0 && at < 8e9-2e9-faults.Settle:
			before++
		case at >= 13e9 && at < 20e9-2e9-faults.Settle:
			after++
		default:
			t.Errorf("fault %d begins at %d ns: there is no room for it", f.Ref, at)
		}
		seen[at] = true
		if p.notes[f.Ref] == "" {
			t.Errorf("nothing says that fault %d has lost its point", f.Ref)
		}
	}
	if before < 50 || after < 50 || len(seen) < 190 {
		t.Errorf("%d before the quiet window, %d after it, %d moments; want them spread", before, after, len(seen))
	}
	if plan.Faults[0].Anchor.After == nil {
		t.Error("the plan was changed")
	}
}

// Where a fault has no room at all, the scheduler says so, not the programme.
func TestAPointWithoutRoom(t *testing.T) {
	plan := scenarios.Plan{Phases: scenarios.Phases{Chaos: 1e9}}
	if got := instead(plan, faults.Fault{Ref: 1, For: 2e9}); got != 0 {
		t.Errorf("it begins at %d ns, want at the start", got)
	}
}
