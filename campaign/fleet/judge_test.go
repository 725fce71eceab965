package fleet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/campaign/result"
	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/reports"
	"pestle/scenarios"
	"pestle/sim"
)

// One seed in twenty is run twice without having failed.
func TestRepeated(t *testing.T) {
	n := 0
	for seed := range uint64(100_000) {
		if repeated(seed) {
			n++
		}
	}
	if n < 4_800 || n > 5_200 {
		t.Errorf("%d of 100000 seeds, want about 5 %%", n)
	}
}

func planOf(t *testing.T, text string, seed uint64) scenarios.Plan {
	t.Helper()
	s, err := scenarios.Parse("tiny.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := scenarios.Expand(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// A run that goes otherwise the second time is a failure of the harness,
// whatever it was before.
func TestRepeatFindsDivergence(t *testing.T) {
	plan := planOf(t, losing, 1)
	first, err := sim.Run(sim.Options{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	r := result.Record{Outcome: reports.Failed}
	if repeat(plan, first, &r); !r.Repeated || r.Diverged || r.Outcome != reports.Failed || r.Error != "" {
		t.Errorf("a run and itself: %+v", r)
	}
	first.TraceHash++ // as if it had been another run
	if repeat(plan, first, &r); !r.Diverged || r.Outcome != reports.HarnessError ||
		!strings.Contains(r.Error, "two runs of one plan have the traces "+traceText(first.TraceHash)) ||
		!strings.HasSuffix(r.Error, "it is not deterministic; the difference did not come again") {
		t.Errorf("two runs: %+v", r)
	}
}

// What a record says of a verdict.
func TestJudged(t *testing.T) {
	verdict := checker.Verdict{
		Status: checker.Inconclusive,
		Reason: "the warm-up never ended; no-data-loss: drain not proven; seen too little; claim gave-up was not reached",
		Properties: []checker.Property{
			{Slug: "no-data-corruption", Required: true, Status: checker.Pass},
			{Slug: "message-ordering", Status: checker.NotApplicable},
			{Slug: "no-data-loss", Required: true, Status: checker.Inconclusive, Reason: "drain not proven; seen too little"},
			{Slug: "consumer-progress", Status: checker.Fail, Violations: []checker.Violation{{Cause: "late"}}},
		},
		Claims: []checker.Claim{{Name: "gave-up", Required: true}, {Name: "retried", Reached: true}, {Name: "resumed"}},
	}
	planned := []faults.Fault{{Kind: faults.Reset}, {Kind: faults.Kill}, {Kind: faults.Kill}}
	happened := []faults.Entry{{Kind: faults.Kill, Effective: 5}, {Kind: faults.Kill, Effective: faults.Never}, {Kind: faults.Reset, Effective: faults.Never}}
	got := judged(verdict, reports.Run{FaultLog: happened}, scenarios.Plan{Faults: planned}, &watch{})
	want := result.Record{
		Outcome: reports.Inconclusive, Judged: true,
		Missing: []string{"the warm-up never ended", "no-data-loss: drain not proven; seen too little", "claim gave-up was not reached"},
		NotPassed: map[string]checker.Status{
			"message-ordering": checker.NotApplicable, "no-data-loss": checker.Inconclusive, "consumer-progress": checker.Fail,
		},
		Faults: []result.FaultCount{{Kind: "kill", Planned: 2, Effective: 1}, {Kind: "reset", Planned: 1}},
		Claims: []string{"retried"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inconclusive:\n%s", diff)
	}

	verdict.Status, verdict.Reason = checker.Fail, ""
	verdict.Properties[3].Required = true
	verdict.Properties[3].Violations = []checker.Violation{{Cause: "late", T: 70, Detail: "a"}, {Cause: "late", T: 80}, {Cause: "stuck", T: 75, Detail: "b"}}
	got = judged(verdict, reports.Run{}, scenarios.Plan{}, &watch{origin: 50})
	violations := []result.Violation{
		{Property: "consumer-progress", Cause: "late", At: 20, Detail: "a"},
		{Property: "consumer-progress", Cause: "stuck", At: 25, Detail: "b"},
	}
	if diff := cmp.Diff(violations, got.Violations); got.Outcome != reports.Failed || diff != "" {
		t.Errorf("failed: outcome %s\n%s", got.Outcome, diff)
	}

	got = judged(verdict, reports.Run{HarnessError: "no disk"}, scenarios.Plan{}, &watch{})
	if got.Outcome != reports.HarnessError || got.Error != "no disk" {
		t.Errorf("a broken harness: %+v", got)
	}
}

// A recovery is from the end of the last active fault to the next ack.
func TestSlowestRecovery(t *testing.T) {
	type line = history.Event
	effective := func(at int64, kind string) line {
		return line{T: at, Ev: history.Fault, What: kind, Edge: history.EdgeEffective}
	}
	ended := func(at int64, kind string) line {
		return line{T: at, Ev: history.Fault, What: kind, Edge: history.EdgeEnded}
	}
	ack := func(at int64) line { return line{T: at, Ev: history.Ack} }
	drain := line{T: 90, Ev: history.Phase, What: history.PhaseDrain}
	for _, c := range []struct {
		name   string
		events []line
		want   *result.Slowest
	}{
		{"no fault", []line{ack(1), ack(9)}, nil},
		{"one", []line{effective(10, "kill"), ack(15), ended(20, "kill"), ack(27), ack(40)}, &result.Slowest{Kind: "kill", Took: 7}},
		{"the slowest of two", []line{effective(1, "kill"), ended(2, "kill"), ack(3), effective(4, "reset"), ended(5, "reset"), ack(15)},
			&result.Slowest{Kind: "reset", Took: 10}},
		{"another one is still active", []line{effective(1, "kill"), effective(2, "loss"), ended(3, "kill"), ack(20), ended(30, "loss"), ack(31)},
			&result.Slowest{Kind: "loss", Took: 1}},
		{"the next one comes first", []line{effective(1, "kill"), ended(2, "kill"), effective(3, "pause"), ended(50, "pause"), ack(52)},
			&result.Slowest{Kind: "pause", Took: 2}},
		{"the producers stop first", []line{effective(1, "kill"), ended(2, "kill"), drain, ack(99)}, nil},
	} {
		var w watch
		for _, e := range c.events {
			w.observe(e)
		}
		if diff := cmp.Diff(c.want, w.recovery); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}
