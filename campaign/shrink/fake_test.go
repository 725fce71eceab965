package shrink

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pestle/checker"
	"pestle/faults"
	"pestle/scenarios"
	"pestle/workload"
)

var (
	wanted  = Fingerprint{Property: "no-data-loss", Cause: "acked but gone"}
	another = Fingerprint{Property: "message-ordering", Cause: "overtaken"}
)

// failing is a verdict that shows these fingerprints, in this order.
func failing(shown ...Fingerprint) checker.Verdict {
	v := checker.Verdict{Status: checker.Pass}
	for i, f := range shown {
		v.Status = checker.Fail
		v.Properties = append(v.Properties, checker.Property{
			Slug: f.Property, Required: true, Status: checker.Fail, Total: 1,
			Violations: []checker.Violation{{T: int64(i), Cause: f.Cause}},
		})
	}
	return v
}

// fake is an oracle of which only the verdict is made up: every fault takes
// effect at its time, and every message of the first three turns is sent, but
// for those that the plan leaves out.
type fake struct {
	t       testing.TB
	verdict func(p scenarios.Plan, noise uint64) checker.Verdict
	runs    map[string]int // by plan hash
}

func (f *fake) try(_ context.Context, p scenarios.Plan, noise uint64) (Trial, error) {
	if err := errors.Join(p.Validate(), p.RunsIn(scenarios.Sim)); err != nil {
		f.t.Errorf("a candidate is no plan: %v", err)
	}
	if f.runs == nil {
		f.runs = map[string]int{}
	}
	f.runs[p.Hash()]++
	trial := Trial{Verdict: f.verdict(p, noise), TraceHash: "0123456789abcdef", WarmUp: 2 * second, Sentinels: len(p.Workload.Producers)}
	for _, x := range p.Faults {
		at := x.Anchor.At
		if x.Anchor.After != nil {
			at = 5 * second
		}
		trial.Faults = append(trial.Faults, faults.Entry{Ref: x.Ref, Kind: x.Kind, Target: x.Target, Asked: at, Effective: at, Ended: at + x.For})
	}
	for i, x := range p.Workload.Producers {
		for counter := uint64(1); counter <= 3; counter++ {
			if sends(x, counter) {
				trial.Sent = append(trial.Sent, workload.ID{Producer: i + 1, Counter: counter})
			}
		}
	}
	return trial, nil
}

func sends(x scenarios.Producer, counter uint64) bool {
	return x.Only == nil || slices.ContainsFunc(x.Only, func(r [2]uint64) bool { return r[0] <= counter && counter <= r[1] })
}

// example is a plan with ten faults of several kinds, three producers and three
// consumers.
func example(t testing.TB) scenarios.Plan {
	t.Helper()
	s, err := scenarios.Load("testdata/many.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenarios.Expand(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func has(p scenarios.Plan, kind faults.Kind, role string) bool {
	return slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Kind == kind && strings.HasPrefix(f.Target, role) })
}

func searched(t testing.TB, f *fake, change func(*Options)) (Result, error) {
	t.Helper()
	f.t = t
	o := Options{
		Plan: example(t), Noise: 7, World: scenarios.Sim, Oracle: f.try, Accept: Simulated(),
		Spent: func() time.Duration { return 0 },
	}
	if change != nil {
		change(&o)
	}
	return Shrink(t.Context(), o)
}
