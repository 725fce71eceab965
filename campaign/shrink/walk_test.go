package shrink

import (
	"slices"
	"testing"

	"pestle/checker"
	"pestle/faults"
	"pestle/scenarios"
)

// What the failure needs stays, and nothing else.
func TestShrink(t *testing.T) {
	for name, c := range map[string]struct {
		needs func(p scenarios.Plan) bool
		want  Size
	}{
		"nothing":                {func(scenarios.Plan) bool { return true }, Size{0, 1, 1, 1}},
		"a kill of the broker":   {func(p scenarios.Plan) bool { return has(p, faults.Kill, "broker") }, Size{1, 1, 1, 1}},
		"two kinds, two targets": {func(p scenarios.Plan) bool { return has(p, faults.Kill, "broker") && has(p, faults.Kill, "consumer-a") }, Size{2, 1, 1, 1}},
		"two channels": {func(p scenarios.Plan) bool {
			var channels []string
			for _, x := range p.Workload.Consumers {
				channels = append(channels, x.Channel)
			}
			return len(slices.Compact(channels)) == 2
		}, Size{0, 1, 1, 2}},
		"the second message of two producers": {func(p scenarios.Plan) bool {
			n := 0
			for _, x := range p.Workload.Producers {
				if sends(x, 2) {
					n++
				}
			}
			return n >= 2
		}, Size{0, 4, 2, 1}},
		"two messages of one producer and a power loss": {func(p scenarios.Plan) bool {
			return slices.ContainsFunc(p.Workload.Producers, func(x scenarios.Producer) bool { return sends(x, 1) && sends(x, 3) }) &&
				has(p, faults.PowerLoss, "broker")
		}, Size{1, 3, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{verdict: func(p scenarios.Plan, _ uint64) checker.Verdict {
				if c.needs(p) {
					return failing(wanted)
				}
				return failing()
			}}
			r, err := searched(t, f, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.After != c.want || r.Before != (Size{11, 12, 3, 3}) || !r.Complete || r.Symptom.Fingerprint != wanted {
				t.Errorf("%+v to %+v, want %+v; %+v\n%s", r.Before, r.After, c.want, r.Symptom, r.Plan.Timetable())
			}
			again, err := searched(t, f, nil)
			if err != nil || again.Plan.Hash() != r.Plan.Hash() || again.Noise != r.Noise || again.Runs != r.Runs {
				t.Errorf("the same search came to %s after %d runs, before to %s after %d; error %v", again.Plan.ShortHash(), again.Runs, r.Plan.ShortHash(), r.Runs, err)
			}
		})
	}
}

// Numbers become plain where nothing depends on them.
func TestShrinkNumbers(t *testing.T) {
	f := &fake{verdict: func(p scenarios.Plan, _ uint64) checker.Verdict {
		if has(p, faults.Kill, "broker") && p.Faults[0].For >= 30*millisecond {
			return failing(wanted)
		}
		return failing()
	}}
	r, err := searched(t, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := r.Plan
	x, c := p.Workload.Producers[0], p.Workload.Consumers[0]
	if p.Faults[0].For != 100*millisecond || p.Faults[0].Anchor.At%(100*millisecond) != 0 ||
		p.Phases.Chaos != second || p.Phases.DrainWithin != second || p.Phases.WarmUpAcks != 0 || len(p.Phases.Quiet) > 0 || p.Claims != nil ||
		x.MinSize != plainPayload || x.MaxSize != plainPayload || x.Pending != 1 || c.InFlight != 1 || c.RequeuePermille != 0 ||
		p.Target.Knobs != nil || p.Network == nil || *p.Network != (scenarios.Network{Latency: millisecond}) {
		t.Errorf("%s\n%s", p.Timetable(), p.Canonical())
	}
}

// What waited for another fault gets a time of its own.
func TestShrinkTimesTriggers(t *testing.T) {
	f := &fake{verdict: func(p scenarios.Plan, _ uint64) checker.Verdict {
		if has(p, faults.Pause, "broker") && has(p, faults.Kill, "producer") {
			return failing(wanted)
		}
		return failing()
	}}
	r, err := searched(t, f, nil)
	if err != nil || r.After.Faults != 2 {
		t.Fatalf("%+v, error %v", r.After, err)
	}
	for _, x := range r.Plan.Faults {
		if x.Anchor.After != nil {
			t.Errorf("%+v still waits for %+v", x, *x.Anchor.After)
		}
	}
}

// A fault that waits for a point of the broker's code gets a time only where
// that does under other noises too: not where it needs luck.
func TestShrinkKeepsNarrowPoints(t *testing.T) {
	point := faults.Fault{Ref: 1, Kind: faults.PowerLoss, Target: "broker-1", For: second,
		Anchor: after(faults.Event{Point: "journal-write", Count: 3, Process: "broker-1"})}
	for narrow, keeps := range map[bool]bool{true: true, false: false} {
		f := &fake{verdict: func(p scenarios.Plan, noise uint64) checker.Verdict {
			if has(p, faults.PowerLoss, "broker") && (p.Faults[0].Anchor.After != nil || !narrow || noise == 7) {
				return failing(wanted)
			}
			return failing()
		}}
		r, err := searched(t, f, func(o *Options) { o.Plan.Faults = []faults.Fault{point} })
		if err != nil || len(r.Plan.Faults) != 1 || (r.Plan.Faults[0].Anchor.After != nil) != keeps {
			t.Errorf("narrow %v: error %v\n%s", narrow, err, r.Plan.Timetable())
		}
	}
}

// Where the violated message does not fail without the luck of the others, an
// end of the broker at a point of its code is tried in their place, with the
// consumer there and away.
func TestShrinkAtAPoint(t *testing.T) {
	for _, away := range []bool{false, true} {
		f := &fake{verdict: func(p scenarios.Plan, noise uint64) checker.Verdict {
			lucky := len(p.Faults) >= 11 && sends(p.Workload.Producers[0], 1)
			told := slices.ContainsFunc(p.Faults, func(x faults.Fault) bool {
				on := x.Anchor.After
				return on != nil && on.Point == "ack" && on.Count == 2 && x.Kind == faults.PowerLoss
			}) && (!away || has(p, faults.Kill, "consumer-b"))
			if !lucky && !told {
				return failing()
			}
			v := failing(wanted)
			v.Properties[0].Violations[0].ID, v.Properties[0].Violations[0].Channel = "producer-2-2", "b"
			return v
		}}
		want := Size{Faults: 1, Messages: 1, Producers: 1, Consumers: 1}
		if away {
			want.Faults = 2
		}
		r, err := searched(t, f, nil)
		if err != nil || r.After != want {
			t.Errorf("away %v: %+v, want %+v, error %v\n%s", away, r.After, want, err, r.Plan.Timetable())
		}
	}
}

// Where the messages of the warm-up matter, they become messages of chaos, and
// the rest comes later by as much.
func TestShrinkWarmUp(t *testing.T) {
	first := example(t).Faults[0].Anchor.At
	f := &fake{verdict: func(p scenarios.Plan, _ uint64) checker.Verdict {
		if len(p.Faults) > 0 && (p.Phases.WarmUpAcks > 0 || p.Faults[0].Anchor.At >= first+2*second) {
			return failing(wanted)
		}
		return failing()
	}}
	r, err := searched(t, f, nil)
	if err != nil || r.Plan.Phases.WarmUpAcks != 0 || r.Plan.Faults[0].Anchor.At < first+2*second {
		t.Errorf("error %v\n%s", err, r.Plan.Timetable())
	}
}

// Messages that no violation names are left out first, all at once: what
// follows runs without them.
func TestShrinkKeepsTheViolated(t *testing.T) {
	large := 0
	f := &fake{verdict: func(p scenarios.Plan, _ uint64) checker.Verdict {
		x := p.Workload.Producers[0]
		if x.Only == nil {
			large++
		}
		if !sends(x, 1) || !sends(x, 3) {
			return failing()
		}
		v := failing(wanted)
		v.Properties[0].Violations = []checker.Violation{
			{ID: "producer-1-1", Cause: wanted.Cause}, {ID: "producer-1-3", Cause: wanted.Cause},
		}
		return v
	}}
	r, err := searched(t, f, nil)
	if err != nil || r.After.Messages != 3 {
		t.Fatalf("%+v, error %v", r.After, err)
	}
	if large > 12 {
		t.Errorf("%d runs had all messages", large)
	}
}

// Outside sim, where a run takes its time, messages and numbers stay.
func TestShrinkCoarse(t *testing.T) {
	f := &fake{verdict: func(p scenarios.Plan, _ uint64) checker.Verdict {
		if has(p, faults.Kill, "broker") {
			return failing(wanted)
		}
		return failing()
	}}
	r, err := searched(t, f, func(o *Options) { o.Coarse = true })
	if err != nil || r.After != (Size{1, 4, 1, 1}) || r.Plan.Workload.Producers[0].Only != nil || r.Plan.Network != nil {
		t.Errorf("%+v, error %v\n%s", r.After, err, r.Plan.Timetable())
	}
}
