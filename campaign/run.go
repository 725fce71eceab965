package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"pestle/campaign/process"
	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/reports"
	"pestle/scenarios"
)

// FaultsName is the actuation journal's file in a run directory.
const FaultsName = "faults.ndjson"

// Options say where and how to run a plan.
type Options struct {
	Dir      string // run directory; must not exist, or be empty
	Command  string // the line that reproduces the run, for the reports
	Program  string // Pestle's own binary
	Progress func(process.Progress)
}

// Result is what a run amounts to.
type Result struct {
	Dir     string // run directory; empty when a bare history was judged
	Run     reports.Run
	Verdict checker.Verdict
	Outcome reports.Outcome
	File    reports.VerdictFile
}

// Run carries out one plan in the process world, judges it while it runs and
// writes the reports. The error is nil unless not even a verdict could be
// written: a failing harness is part of the result. It is ErrInUse when the
// directory holds something.
func Run(ctx context.Context, plan scenarios.Plan, o Options) (Result, error) {
	if err := makeDir(o.Dir); err != nil {
		return Result{}, err
	}
	if err := scenarios.WritePlan(filepath.Join(o.Dir, process.PlanName), plan); err != nil {
		return Result{}, err
	}
	began := time.Now()
	check := checker.New(Config(plan))
	world := process.New(process.Options{
		Plan: plan, Dir: o.Dir, Program: o.Program, Progress: o.Progress,
		Sink: check.Observe,
	})
	outcome, err := world.Run(ctx)
	verdict := check.Verdict()
	missing := errors.Is(err, process.ErrTargetMissing)
	if missing {
		verdict.Status, verdict.Reason = checker.Inconclusive, err.Error()
		err = nil
	}
	run := reports.Run{
		ID: filepath.Base(o.Dir), Scenario: plan.Scenario, Seed: plan.Seed, PlanHash: plan.Hash(),
		World: "process", Command: o.Command,
		Started: began.UTC().Format(time.RFC3339), Elapsed: int64(time.Since(began)),
		Environment: environment(outcome.TargetVersion),
		Partial:     outcome.Interrupted,
		FaultLog:    outcome.Faults,
	}
	if err != nil {
		run.HarnessError = err.Error()
	}
	events, err := recorded(o.Dir, missing)
	if err != nil && run.HarnessError == "" {
		run.HarnessError = err.Error()
	}
	if err := writeFaults(o.Dir, outcome.Faults); err != nil {
		return Result{}, first(run, err)
	}
	result, err := report(o.Dir, run, plan, verdict, events)
	if err == nil && result.Outcome == reports.Passed {
		err = os.RemoveAll(filepath.Join(o.Dir, "data"))
	}
	if err != nil {
		return Result{}, first(run, err)
	}
	return result, nil
}

// first puts what broke the run before what the reports failed of: on a full
// disk the one is the other's cause.
func first(run reports.Run, err error) error {
	if run.HarnessError == "" {
		return err
	}
	return fmt.Errorf("%s; then: %w", run.HarnessError, err)
}

// recorded reads the run's history; a run that never began has none.
func recorded(dir string, none bool) ([]history.Event, error) {
	if none {
		return nil, nil
	}
	return stream.ReadDir(dir)
}

// report writes verdict.json and report.html.
func report(dir string, run reports.Run, plan scenarios.Plan, verdict checker.Verdict, events []history.Event) (Result, error) {
	result := newResult(dir, run, verdict, events)
	if err := reports.WriteVerdict(dir, result.File); err != nil {
		return Result{}, err
	}
	return result, reports.WriteHTML(dir, run, plan, verdict, events)
}

func environment(target string) reports.Environment {
	return reports.Environment{
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		Pestle: release, Target: target,
	}
}

// ErrInUse means that a run directory holds another run.
var ErrInUse = errors.New("the directory is not empty")

// makeDir makes the run directory, or takes an empty one.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the run directory: %w", err)
	}
	held, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read the run directory: %w", err)
	}
	if len(held) > 0 {
		return fmt.Errorf("run directory %s: %w; name another with --out, or remove it", dir, ErrInUse)
	}
	return nil
}

func writeFaults(dir string, entries []faults.Entry) error {
	var lines []byte
	for _, e := range entries {
		lines = faults.AppendEntry(lines, e)
	}
	if err := os.WriteFile(filepath.Join(dir, FaultsName), lines, 0o644); err != nil {
		return fmt.Errorf("write the actuation journal: %w", err)
	}
	return nil
}
