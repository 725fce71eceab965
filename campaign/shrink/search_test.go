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
