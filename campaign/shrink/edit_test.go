package shrink

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pestle/faults"
	"pestle/scenarios"
	"pestle/workload"
)

func after(e faults.Event) faults.Anchor { return faults.Anchor{After: &e} }

// A fault that waited for one left out gets its time; where it never took
// effect, it goes too. Refs count anew.
func TestKeepFaults(t *testing.T) {
	p := example(t)
	p.Faults = []faults.Fault{
		{Ref: 1, Kind: faults.Pause, Target: "broker-1", For: second, Anchor: faults.Anchor{At: 3 * second}},
		{Ref: 2, Kind: faults.Kill, Target: "producer-1", For: second, Anchor: after(faults.Event{Fault: 1, Delay: 5})},
		{Ref: 3, Kind: faults.Kill, Target: "producer-2", For: second, Anchor: after(faults.Event{Fault: 1})},
		{Ref: 4, Kind: faults.Stop, Target: "broker-1", For: second, Anchor: after(faults.Event{Acks: 9})},
		{Ref: 5, Kind: faults.Pause, Target: "producer-1", For: second, Anchor: faults.Anchor{At: 9 * second}},
		{Ref: 6, Kind: faults.Kill, Target: "broker-1", For: second, Anchor: after(faults.Event{Fault: 5})},
	}
	trial := Trial{Faults: []faults.Entry{
		{Ref: 1, Effective: 3*second + 1}, {Ref: 2, Effective: 3*second + 8}, {Ref: 3, Effective: faults.Never}, {Ref: 4, Effective: 7 * second},
	}}
	before := p.Hash()
	for _, c := range []struct {
		keep []int
		want []faults.Fault
	}{
		{[]int{1, 2, 3, 4, 5, 6}, p.Faults},
		{nil, nil},
		{[]int{1, 3}, []faults.Fault{
			p.Faults[0],
			{Ref: 2, Kind: faults.Kill, Target: "producer-2", For: second, Anchor: after(faults.Event{Fault: 1})},
		}},
		{[]int{4, 5, 6}, []faults.Fault{
			{Ref: 1, Kind: faults.Stop, Target: "broker-1", For: second, Anchor: after(faults.Event{Acks: 9})},
			{Ref: 2, Kind: faults.Pause, Target: "producer-1", For: second, Anchor: faults.Anchor{At: 9 * second}},
			{Ref: 3, Kind: faults.Kill, Target: "broker-1", For: second, Anchor: after(faults.Event{Fault: 2})},
		}},
		{[]int{2, 3, 4}, []faults.Fault{
			{Ref: 1, Kind: faults.Kill, Target: "producer-1", For: second, Anchor: faults.Anchor{At: 3*second + 8}},
			{Ref: 2, Kind: faults.Stop, Target: "broker-1", For: second, Anchor: after(faults.Event{Acks: 9})},
		}},
	} {
		want := p
		want.Faults = c.want
		if got := keepFaults(p, trial, func(f faults.Fault) bool { return slices.Contains(c.keep, f.Ref) }); got.Hash() != want.Hash() {
			t.Errorf("keeping %d:\n%s\nwant\n%s", c.keep, got.Timetable(), want.Timetable())
		}
	}
	if p.Hash() != before {
		t.Error("the plan itself was changed")
	}
}

// A producer leaves with its faults; those behind it move up with theirs.
func TestWithoutProducer(t *testing.T) {
	p := example(t)
	p.Faults = []faults.Fault{
		{Ref: 1, Kind: faults.Kill, Target: "producer-2", For: second},
		{Ref: 2, Kind: faults.Kill, Target: "producer-3", For: second},
		{Ref: 3, Kind: faults.Cut, Target: "broker-1", Peer: "producer-3", For: second},
		{Ref: 4, Kind: faults.Cut, Target: "broker-1", Peer: "producer-2", For: second},
		{Ref: 5, Kind: faults.Partition, Target: "broker-1", Shape: faults.Ring, Side: p.Processes(), For: second},
		{Ref: 6, Kind: faults.Partition, Target: "broker-1", Shape: faults.Bridge, Side: []string{"producer-2"}, For: second},
	}
	p.Workload.Producers[2].Only = [][2]uint64{{4, 4}}
	got := withoutProducer(p, Trial{}, "producer-2")
	want := copied(p)
	want.Workload.Producers = []scenarios.Producer{p.Workload.Producers[0], p.Workload.Producers[2]}
	want.Workload.Producers[1].Name = "producer-2"
	want.Faults = []faults.Fault{
		{Ref: 1, Kind: faults.Kill, Target: "producer-2", For: second},
		{Ref: 2, Kind: faults.Cut, Target: "broker-1", Peer: "producer-2", For: second},
		{Ref: 3, Kind: faults.Partition, Target: "broker-1", Shape: faults.Ring, For: second,
			Side: []string{"broker-1", "producer-1", "producer-2", "consumer-a-1", "consumer-b-1", "consumer-b-2"}},
	}
	if err := got.Validate(); err != nil || got.Hash() != want.Hash() {
		t.Errorf("error %v\n%s\nwant\n%s", err, got.Canonical(), want.Canonical())
	}
}

func TestCut(t *testing.T) {
	p := example(t)
	var trial Trial
	for _, f := range p.Faults {
		trial.Faults = append(trial.Faults, faults.Entry{Ref: f.Ref, Effective: int64(f.Ref) * second})
	}
	got := cut(p, trial, 4*second+1)
	if got.Phases.Chaos != 4*second+1 || len(got.Faults) != 4 || len(got.Phases.Quiet) != 0 {
		t.Errorf("%s", got.Timetable())
	}
	got = cut(p, trial, 10*second)
	if len(got.Faults) != 9 || len(got.Phases.Quiet) != 1 {
		t.Errorf("%s", got.Timetable())
	}
}

func TestKeepMessages(t *testing.T) {
	p := keepMessages(example(t), []workload.ID{{Producer: 3, Counter: 9}, {Producer: 1, Counter: 2}, {Producer: 1, Counter: 4}, {Producer: 1, Counter: 3}})
	for i, want := range [][][2]uint64{{{2, 4}}, {}, {{9, 9}}} {
		if got := p.Workload.Producers[i].Only; got == nil || !slices.Equal(got, want) {
			t.Errorf("producer %d sends %d, want %d", i+1, got, want)
		}
	}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}

// Everything moves together; a message never before the first turn.
func TestEarlier(t *testing.T) {
	p := example(t) // a turn takes 50 ms
	p.Phases.Quiet = []scenarios.Quiet{{From: 8 * second, To: 11 * second}}
	p.Faults = []faults.Fault{
		{Ref: 1, Kind: faults.Kill, Target: "broker-1", For: second, Anchor: faults.Anchor{At: 3 * second}},
		{Ref: 2, Kind: faults.Kill, Target: "producer-1", For: second, Anchor: after(faults.Event{Fault: 1, Delay: 5})},
		{Ref: 3, Kind: faults.Kill, Target: "consumer-a-1", For: 3 * second, Anchor: faults.Anchor{At: second}},
	}
	p = keepMessages(p, []workload.ID{{Producer: 1, Counter: 61}, {Producer: 1, Counter: 70}, {Producer: 2, Counter: 20}, {Producer: 2, Counter: 30}})
	got := earlier(p, 2*second+49*millisecond)
	want := copied(p)
	want.Phases.Chaos -= 2049 * millisecond
	want.Phases.Quiet = []scenarios.Quiet{{From: 5951 * millisecond, To: 8951 * millisecond}}
	want.Faults[0].Anchor.At = 951 * millisecond
	want.Faults[2].Anchor.At, want.Faults[2].For = 0, 1951*millisecond
	want.Workload.Producers[0].Only = [][2]uint64{{21, 21}, {30, 30}}
	want.Workload.Producers[1].Only = [][2]uint64{{1, 1}, {11, 11}}
	if got.Hash() != want.Hash() {
		t.Errorf("\n%s\nwant\n%s", got.Canonical(), want.Canonical())
	}
}

// Whatever is left out of a plan, what is left is a plan, and the plan it came
// from is what it was.
func TestEditsLeaveAPlan(t *testing.T) {
	swarm, err := scenarios.Load("../../scenarios/swarm.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		p, err := scenarios.Expand(swarm, rapid.Uint64Range(1, 1000).Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			var trial Trial
			for _, f := range p.Faults {
				at := faults.Never
				if rapid.Bool().Draw(t, "effective") {
					at = rapid.Int64Range(f.Anchor.At, p.Phases.Chaos-1).Draw(t, "at")
				}
				trial.Faults = append(trial.Faults, faults.Entry{Ref: f.Ref, Effective: at, Ended: at})
			}
			before, was := p.Hash(), p
			switch rapid.IntRange(0, 4).Draw(t, "edit") {
			case 0:
				odd := rapid.IntRange(1, 3).Draw(t, "every")
				p = keepFaults(p, trial, func(f faults.Fault) bool { return f.Ref%odd == 0 })
			case 1:
				if list := p.Workload.Consumers; len(list) > 1 {
					p = withoutConsumer(p, trial, rapid.SampledFrom(list).Draw(t, "consumer").Name)
				}
			case 2:
				if list := p.Workload.Producers; len(list) > 1 {
					p = withoutProducer(p, trial, rapid.SampledFrom(list).Draw(t, "producer").Name)
				}
			case 3:
				p = cut(p, trial, rapid.Int64Range(minChaos, p.Phases.Chaos).Draw(t, "at"))
			case 4:
				p = keepMessages(p, []workload.ID{{Producer: 1, Counter: rapid.Uint64Range(1, 99).Draw(t, "counter")}})
			}
			if was.Hash() != before {
				t.Fatal("the plan itself was changed")
			}
			// Of a partition nothing may be left that divides; the search sees
			// that, and tries it no further.
			if err := p.Validate(); err != nil && !slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Kind == faults.Partition }) {
				t.Fatalf("%v\n%s", err, p.Canonical())
			}
		}
	})
}

func TestPlainerNumbers(t *testing.T) {
	for _, c := range []struct {
		plainer func(int64) []int64
		v       int64
		want    []int64
	}{
		{rounder, 1_234_567_890, []int64{second, 1200 * millisecond, 1230 * millisecond, 1235 * millisecond, 1234 * millisecond}},
		{rounder, 40 * millisecond, []int64{0}},
		{rounder, 0, nil},
		{rounder, second, nil},
		{smaller(0), 0, nil},
		{smaller(0), 350, []int64{0, 1, 10, 100, 300}},
		{smaller(1), 1, nil},
		{smaller(1), 7, []int64{1}},
		{smaller(20), 350, []int64{20, 100, 300}},
		{smaller(0), -350, []int64{0, -1, -10, -100, -300}},
		{smaller(millisecond), 42 * millisecond, []int64{millisecond, 10 * millisecond, 40 * millisecond}},
	} {
		if got := c.plainer(c.v); !slices.Equal(got, c.want) {
			t.Errorf("plainer than %d: %d, want %d", c.v, got, c.want)
		}
	}
}
