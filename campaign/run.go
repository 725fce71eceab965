package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"pestle/broker/plant"
	"pestle/campaign/conductor"
	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/reports"
	"pestle/reports/sdk"
	"pestle/scenarios"
	"pestle/sim"
)

// FaultsName is the actuation journal's file in a run directory.
const FaultsName = "faults.ndjson"

// The worlds a plan can run in.
const (
	WorldSim     = scenarios.Sim
	WorldProcess = scenarios.Process
	WorldDocker  = scenarios.Docker
)

// Options say where and how to run a plan.
type Options struct {
	World    string // WorldSim, WorldProcess or WorldDocker
	Noise    uint64 // sim: seed of what the plan leaves open
	Dir      string // run directory; must not exist, or be empty
	Command  string // the line that reproduces the run, for the reports
	Program  string // process, docker: Pestle's own binary
	Progress func(conductor.Progress)
	Line     func(string) // docker: gets a line for people when something takes long; nil: nobody wants them

	Until sim.Limit    // sim: where to stop; zero: at the end
	Log   func(string) // sim: gets every event and effect in words; nil: nobody wants them
}

// Result is what a run amounts to.
type Result struct {
	Dir     string // run directory; empty when a bare history was judged
	Run     reports.Run
	Verdict checker.Verdict
	Outcome reports.Outcome
	File    reports.VerdictFile
}

// carried is what a world has to say of a run beyond its history.
type carried struct {
	target      string // version of the system under test
	faults      []faults.Entry
	leftOut     []string // why faults of the plan were not carried out, as clauses
	interrupted bool
	traceHash   string       // sim
	story       []sim.Moment // sim: of the first violation, for the report
}

// Run carries out one plan, judges it while it runs and writes the reports.
// The error is nil unless not even a verdict could be written: a failing
// harness is part of the result. It is ErrWorld when the plan is for another
// world, ErrProgram when it is for another build, and ErrInUse when the
// directory holds something.
func Run(ctx context.Context, plan scenarios.Plan, o Options) (Result, error) {
	if err := plan.RunsIn(o.World); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrWorld, err)
	}
	if _, err := plant.Find(plan.Target.Plant); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrProgram, err)
	}
	if err := makeDir(o.Dir); err != nil {
		return Result{}, err
	}
	if err := scenarios.WritePlan(filepath.Join(o.Dir, conductor.PlanName), plan); err != nil {
		return Result{}, err
	}
	began := time.Now()
	check := checker.New(Config(plan, o.World))
	run := reports.Run{
		ID: filepath.Base(o.Dir), Scenario: plan.Scenario, Seed: plan.Seed, PlanHash: plan.Hash(),
		World: o.World, Noise: o.Noise, Command: o.Command,
		Started: began.UTC().Format(time.RFC3339),
	}
	var how carried
	var err error
	switch o.World {
	case WorldProcess, WorldDocker:
		how, err = runHosted(ctx, plan, o, check)
	case WorldSim:
		how, err = runSim(ctx, plan, o, check)
	default:
		err = fmt.Errorf("there is no world %q; the worlds are %s, %s and %s", o.World, WorldSim, WorldProcess, WorldDocker)
	}
	run.Elapsed = int64(time.Since(began))
	run.Environment = environment(how.target)
	run.Partial, run.LeftOut, run.FaultLog, run.TraceHash, run.Story = how.interrupted, how.leftOut, how.faults, how.traceHash, how.story
	return conclude(o.Dir, run, plan, check.Verdict(), err)
}

// conclude writes the reports of a run that ended, with err if the harness
// failed.
func conclude(dir string, run reports.Run, plan scenarios.Plan, verdict checker.Verdict, err error) (Result, error) {
	missing := errors.Is(err, conductor.ErrTargetMissing)
	if missing {
		verdict.Status, verdict.Reason = checker.Inconclusive, err.Error()
	} else if err != nil {
		run.HarnessError = sentence(err)
	}
	var events []history.Event
	if !missing {
		// A run that failed before its first line has no history.
		early := run.Partial // it was given up, maybe before it began
		if events, err = stream.ReadDir(dir); err != nil && run.HarnessError == "" && !(early && errors.Is(err, stream.ErrNone)) {
			run.HarnessError = err.Error()
		}
	}
	run.Failovers = failovers(run.World, plan, events)
	if err := writeFaults(dir, run.FaultLog); err != nil {
		return Result{}, first(run, err)
	}
	result := newResult(dir, run, verdict, events)
	if err := reports.WriteVerdict(dir, result.File); err != nil {
		return Result{}, first(run, err)
	}
	if err := sdk.Write(dir, plan, result.File, events); err != nil {
		return Result{}, first(run, err)
	}
	if result.Outcome == reports.Passed {
		if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
			return Result{}, fmt.Errorf("remove the broker's files after a pass: %w", err)
		}
	}
	if err := reports.WriteHTML(dir, run, plan, verdict, events); err != nil {
		return Result{}, first(run, err)
	}
	return result, nil
}

// sentence puts an error on one line: several that are joined are a line each.
func sentence(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// failovers measures what the kills of leaders cost. An engine of containers
// takes a tenth of a second or more to carry a kill out, and the history has the
// moment before: a figure of that would flatter the target.
func failovers(world string, plan scenarios.Plan, events []history.Event) []reports.Failover {
	if world == WorldDocker {
		return nil
	}
	return reports.Failovers(plan, events)
}

// first puts what broke the run before what the reports failed of: on a full
// disk the one is the other's cause.
func first(run reports.Run, err error) error {
	if run.HarnessError == "" {
		return err
	}
	return fmt.Errorf("%s; then: %w", run.HarnessError, err)
}

func environment(target string) reports.Environment {
	return reports.Environment{
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		Pestle: release, Target: target,
	}
}

// ErrWorld means that the world cannot carry the plan out.
var ErrWorld = errors.New("this plan is not for that world")

// ErrProgram means that this program lacks what the plan names.
var ErrProgram = errors.New("this plan is not for this program")

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
