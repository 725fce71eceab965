package shrink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
	"pestle/workload"
)

// What a trial is read from.
func TestWatch(t *testing.T) {
	var w Watch
	for i, e := range []history.Event{
		{Ev: history.Phase, What: history.PhaseBoot},
		{Ev: history.Phase, What: history.PhaseWarmUp},
		{Ev: history.Attempt, ID: "producer-1-1", Try: 1},
		{Ev: history.Attempt, ID: "producer-2-1", Try: 1},
		{Ev: history.Phase, What: history.PhaseChaos},
		{Ev: history.Attempt, ID: "producer-2-1", Try: 2},
		{Ev: history.Ack, ID: "producer-1-1", Try: 1},
		{Ev: history.Phase, What: history.PhaseDrain},
		{Ev: history.Attempt, ID: "producer-1-2", Try: 1},
		{Ev: history.Attempt, ID: "producer-2-1", Try: 3},
		{Ev: history.Attempt, ID: "producer-2-2", Try: 1},
	} {
		e.T = int64(i)
		w.Observe(e)
	}
	got := w.Trial(checker.Verdict{Status: checker.Pass}, []faults.Entry{{Ref: 1}}, "00")
	if !slices.Equal(got.Sent, []workload.ID{{Producer: 1, Counter: 1}, {Producer: 2, Counter: 1}}) || got.Sentinels != 2 ||
		got.ChaosBegan != 4 || got.WarmUp != 3 || len(got.Faults) != 1 || got.TraceHash != "00" || got.Verdict.Status != checker.Pass {
		t.Errorf("%+v", got)
	}
}

// A candidate fails under another noise than the one before; the noise is kept
// with the plan.
func TestShrinkRollsNoise(t *testing.T) {
	f := &fake{verdict: func(p scenarios.Plan, noise uint64) checker.Verdict {
		if noise == 7 && len(p.Faults) >= 7 || noise == uint64(len(p.Faults)) {
			return failing(wanted)
		}
		return failing()
	}}
	r, err := searched(t, f, nil)
	if err != nil || len(r.Plan.Faults) != 0 || r.Noise != 0 {
		t.Errorf("%d faults under noise %d, want none under noise 0; error %v", len(r.Plan.Faults), r.Noise, err)
	}
	once := func(o *Options) { o.Accept = Acceptance{Runs: 1, Hits: 1} }
	if r, err = searched(t, f, once); err != nil || len(r.Plan.Faults) != 7 || r.Noise != 7 {
		t.Errorf("with one noise each: %d faults under noise %d, want 7 under noise 7; error %v", len(r.Plan.Faults), r.Noise, err)
	}
	order := noises{first: 2}
	for i, want := range []uint64{2, 0, 1, 3, 4} {
		if got := order.next(); got != want {
			t.Errorf("noise %d is %d, want %d", i, got, want)
		}
	}
}

// A candidate that fails otherwise is a finding, and is not followed.
func TestShrinkDoesNotSlip(t *testing.T) {
	f := &fake{verdict: func(p scenarios.Plan, _ uint64) checker.Verdict {
		if has(p, faults.Kill, "broker") {
			return failing(wanted)
		}
		return failing(another) // ever smaller plans do
	}}
	r, err := searched(t, f, nil)
	if err != nil || r.Symptom.Fingerprint != wanted || !has(r.Plan, faults.Kill, "broker") {
		t.Fatalf("%v, %v\n%s", err, r.Symptom, r.Plan.Timetable())
	}
	if len(r.Others) != 1 || r.Others[0].Fingerprint != another || has(r.Others[0].Plan, faults.Kill, "broker") {
		t.Errorf("met %+v, want %s once, with its plan", r.Others, another)
	}
}

// The failure shrunk is that of the earliest violation, or the one asked for.
func TestShrinkWants(t *testing.T) {
	f := &fake{verdict: func(p scenarios.Plan, _ uint64) checker.Verdict {
		if has(p, faults.Kill, "broker") {
			return failing(another, wanted)
		}
		return failing()
	}}
	for want, got := range map[Fingerprint]Fingerprint{{}: another, another: another, wanted: wanted} {
		r, err := searched(t, f, func(o *Options) { o.Want = want })
		if err != nil || r.Symptom.Fingerprint != got || r.After.Faults != 1 {
			t.Errorf("asked for %s: shrunk %s to %d faults, error %v", want, r.Symptom.Fingerprint, r.After.Faults, err)
		}
	}
	_, err := searched(t, f, func(o *Options) { o.Want = Fingerprint{"no-data-corruption", "flipped"} })
	if !errors.Is(err, ErrNoFailure) || !strings.Contains(err.Error(), "no-data-corruption: flipped") {
		t.Errorf("asked for what is not shown: %v", err)
	}
	pass := &fake{verdict: func(scenarios.Plan, uint64) checker.Verdict { return failing() }}
	if _, err := searched(t, pass, nil); !errors.Is(err, ErrNoFailure) {
		t.Errorf("a plan that passes: %v", err)
	}
	if _, err := searched(t, f, func(o *Options) { o.Accept = Acceptance{Runs: 2, Hits: 3} }); err == nil {
		t.Error("three of two runs are accepted")
	}
}

// No plan is tried twice, and none more often than it may be.
func TestShrinkRemembers(t *testing.T) {
	f := &fake{verdict: func(p scenarios.Plan, _ uint64) checker.Verdict {
		if has(p, faults.Kill, "broker") && has(p, faults.Kill, "consumer-a") && has(p, faults.Pause, "broker") {
			return failing(wanted)
		}
		return failing()
	}}
	r, err := searched(t, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for hash, n := range f.runs {
		if runs += n; n > Simulated().Runs {
			t.Errorf("plan %.16s ran %d times", hash, n)
		}
	}
	if runs != r.Runs || r.Candidates != len(f.runs)-1 || r.Repeated == 0 {
		t.Errorf("%d runs of %d plans; told are %d runs and %d candidates, %d of them repeated", runs, len(f.runs), r.Runs, r.Candidates, r.Repeated)
	}
}

// Where runs cannot be repeated, so many of so many have to fail; a candidate
// is given up as soon as they cannot.
func TestShrinkByShares(t *testing.T) {
	counted := map[string]int{}
	f := &fake{verdict: func(p scenarios.Plan, _ uint64) checker.Verdict {
		hash := p.Hash()
		counted[hash]++
		switch {
		case has(p, faults.Kill, "broker"): // three runs in four
			if counted[hash]%4 != 0 {
				return failing(wanted)
			}
		case counted[hash]%4 == 2: // one in four
			return failing(wanted)
		}
		return failing()
	}}
	r, err := searched(t, f, func(o *Options) { o.Accept = Acceptance{Runs: 4, Hits: 2} })
	if err != nil || len(r.Plan.Faults) != 1 || !has(r.Plan, faults.Kill, "broker") {
		t.Errorf("error %v\n%s", err, r.Plan.Timetable())
	}
	for hash, n := range f.runs {
		if n > 4 {
			t.Errorf("plan %.16s ran %d times", hash, n)
		}
	}

	never := &fake{verdict: func(p scenarios.Plan, noise uint64) checker.Verdict {
		if len(p.Faults) == 11 {
			return failing(wanted)
		}
		return failing()
	}}
	r, err = searched(t, never, func(o *Options) { o.Accept = Acceptance{Runs: 5, Hits: 3} })
	if err != nil || r.Noise != 7 {
		t.Errorf("noise %d, want 7, under which the first of three runs failed; error %v", r.Noise, err)
	}
	for hash, n := range never.runs {
		if hash != r.Plan.Hash() && n > 4 && n != 3 {
			t.Errorf("plan %.16s ran %d times, though it was clear after three that no three of five would fail", hash, n)
		}
	}
}

// The search ends with its time, and what it had by then is its result.
func TestShrinkEndsInTime(t *testing.T) {
	spent := time.Duration(0)
	f := &fake{verdict: func(p scenarios.Plan, _ uint64) checker.Verdict {
		spent += time.Second
		if has(p, faults.Kill, "broker") {
			return failing(wanted)
		}
		return failing()
	}}
	r, err := searched(t, f, func(o *Options) {
		o.Spent = func() time.Duration { return time.Hour + spent }
		o.CPU = 5 * time.Second
	})
	if err != nil || r.Complete || r.Runs != 5 || r.CPU != 5*time.Second || !has(r.Plan, faults.Kill, "broker") {
		t.Errorf("complete %v after %d runs and %s, error %v", r.Complete, r.Runs, r.CPU, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopping := &fake{t: t, verdict: func(scenarios.Plan, uint64) checker.Verdict { cancel(); return failing(wanted) }}
	r, err = Shrink(ctx, Options{Plan: example(t), Oracle: stopping.try, Accept: Simulated()})
	if err != nil || r.Complete || r.Runs != 1 {
		t.Errorf("stopped by its caller: complete %v after %d runs, error %v", r.Complete, r.Runs, err)
	}
}

// A candidate that breaks the harness proves nothing.
func TestShrinkOutlivesABrokenHarness(t *testing.T) {
	f := &fake{verdict: func(scenarios.Plan, uint64) checker.Verdict { return failing(wanted) }}
	f.t = t
	r, err := Shrink(t.Context(), Options{Plan: example(t), Accept: Simulated(), Oracle: func(ctx context.Context, p scenarios.Plan, noise uint64) (Trial, error) {
		if !has(p, faults.Kill, "broker") {
			return Trial{}, fmt.Errorf("no kill of the broker")
		}
		return f.try(ctx, p, noise)
	}})
	if err != nil || len(r.Plan.Faults) != 1 || r.Broken == 0 || r.BrokenFirst != "no kill of the broker" {
		t.Errorf("%d faults, %d broken, first %q; error %v", len(r.Plan.Faults), r.Broken, r.BrokenFirst, err)
	}
	_, err = Shrink(t.Context(), Options{Plan: example(t), Accept: Simulated(), Oracle: func(context.Context, scenarios.Plan, uint64) (Trial, error) {
		return Trial{}, errors.New("no disk")
	}})
	if err == nil || errors.Is(err, ErrNoFailure) || !strings.Contains(err.Error(), "no disk") {
		t.Errorf("a harness that is broken from the start: %v", err)
	}
}
