package shrink_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pestle/campaign"
	"pestle/campaign/shrink"
	"pestle/reports"
	"pestle/scenarios"
)

// many is the plan of a broker that acknowledges from memory, under faults of
// which few matter.
func many(t testing.TB, seed uint64, set ...string) scenarios.Plan {
	t.Helper()
	s, err := scenarios.Load("testdata/many.yaml", set)
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenarios.Expand(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A broker that acknowledges before the disk loses what it held when it was
// killed: a kill or a power loss, and the message.
func TestShrinkALoss(t *testing.T) {
	for seed := uint64(1); seed <= 2; seed++ {
		o := shrink.Options{
			Plan: many(t, seed), World: scenarios.Sim, Oracle: shrink.Simulate, Accept: shrink.Simulated(), CPU: time.Minute,
		}
		small, err := shrink.Shrink(t.Context(), o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if small.Symptom.Property != "no-data-loss" || !small.Complete ||
			small.After.Faults > 3 || small.After.Messages > 10 || small.After.Faults >= small.Before.Faults {
			t.Errorf("seed %d: %+v became %+v, complete %v: %v\n%s", seed, small.Before, small.After, small.Complete, small.Symptom, small.Plan.Timetable())
		}
		trial, err := shrink.Simulate(t.Context(), small.Plan, small.Noise)
		if err != nil || trial.TraceHash != small.TraceHash {
			t.Errorf("seed %d: the smallest plan has the trace %s, when it was found %s; error %v", seed, trial.TraceHash, small.TraceHash, err)
		}
		if symptoms := shrink.Symptoms(trial.Verdict); len(symptoms) == 0 || symptoms[0].Fingerprint != small.Symptom.Fingerprint {
			t.Errorf("seed %d: the smallest plan shows %v", seed, symptoms)
		}
		if seed > 1 {
			continue
		}
		again, err := shrink.Shrink(t.Context(), o)
		if err != nil || again.Plan.Hash() != small.Plan.Hash() || again.TraceHash != small.TraceHash {
			t.Errorf("seed %d: shrunk again it is plan %s with trace %s, before %s with %s; error %v",
				seed, again.Plan.ShortHash(), again.TraceHash, small.Plan.ShortHash(), small.TraceHash, err)
		}
	}
}

// The result is a run directory like any other, with a story.
func TestShrinkARunDirectory(t *testing.T) {
	dir := t.TempDir()
	run, out := filepath.Join(dir, "run"), filepath.Join(dir, "small")
	if _, err := campaign.Run(t.Context(), many(t, 1), campaign.Options{World: campaign.WorldSim, Noise: 3, Dir: run}); err != nil {
		t.Fatal(err)
	}
	var last shrink.Progress
	small, err := shrink.Run(t.Context(), shrink.RunOptions{Run: run, Out: out, Progress: func(p shrink.Progress) { last = p }})
	if err != nil {
		t.Fatal(err)
	}
	verdict, err := reports.ReadVerdict(out)
	if err != nil || verdict.Status != reports.Failed || verdict.TraceHash != small.TraceHash || verdict.Noise != small.Noise || verdict.Command != "pestle replay "+out {
		t.Errorf("%v: status %s, trace %s, noise %d, %s; want fail, %s, %d", err, verdict.Status, verdict.TraceHash, verdict.Noise, verdict.Command, small.TraceHash, small.Noise)
	}
	plan, err := scenarios.ReadPlan(filepath.Join(out, "plan.json"))
	if err != nil || plan.Hash() != small.Plan.Hash() || plan.Hash() != small.Report.PlanHash {
		t.Errorf("%v: plan %s, want %s", err, plan.ShortHash(), small.Plan.ShortHash())
	}
	for _, name := range []string{"report.html", "faults.ndjson", "history/producer-1.ndjson", shrink.ReportName, shrink.SequenceName} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	diagram, err := os.ReadFile(filepath.Join(out, shrink.SequenceName))
	if err != nil {
		t.Fatal(err)
	}
	id := small.Symptom.Violation.ID
	for _, want := range []string{"no-data-loss: ", "producer-1   broker-1   disk   consumer-", "sends " + id + ", try 1", "acknowledges " + id, " takes effect\n"} {
		if !strings.Contains(string(diagram), want) {
			t.Errorf("%q is missing in\n%s", want, diagram)
		}
	}
	if last.Runs != small.Runs || last.Best != small.After {
		t.Errorf("the last that was told is %+v; in the end %d runs, %+v", last, small.Runs, small.After)
	}
	for i, other := range small.Report.Others {
		kept, err := reports.ReadVerdict(filepath.Join(out, other.Dir))
		if err != nil || kept.Status != reports.Failed {
			t.Errorf("another failure, %v, in %s: status %s, error %v", small.Others[i].Fingerprint, other.Dir, kept.Status, err)
		}
	}
	if _, err := shrink.Run(t.Context(), shrink.RunOptions{Run: run, Out: out}); !errors.Is(err, campaign.ErrInUse) {
		t.Errorf("into a directory in use: %v", err)
	}
}

func TestShrinkAPass(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := campaign.Run(t.Context(), many(t, 1, "target.durability=fsync"), campaign.Options{World: campaign.WorldSim, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	_, err := shrink.Run(t.Context(), shrink.RunOptions{Run: dir, Out: dir + "-small"})
	if !errors.Is(err, shrink.ErrNoFailure) {
		t.Errorf("a run that passes: %v", err)
	}
	if _, err := os.Stat(dir + "-small"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory is left behind: %v", err)
	}
}

// A simulation that panics is a failure of the harness, and not the end.
func TestSimulateOutlivesAPanic(t *testing.T) {
	p := many(t, 1)
	p.Workload.Producers[0].Interval = 0 // no valid plan
	if _, err := shrink.Simulate(context.Background(), p, 0); err == nil {
		t.Error("a plan that cannot be run is run")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shrink.Simulate(ctx, many(t, 1), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a run asked to end goes on: %v", err)
	}
}
