package campaign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"pestle/campaign/conductor"
	"pestle/checker"
	"pestle/history"
	"pestle/history/stream"
	"pestle/reports"
	"pestle/scenarios"
)

// Check judges a saved run again and writes nothing. path is a run directory,
// or one NDJSON file with a history in merged order, which is judged by what
// every target promises that keeps publish order.
//
// What only the live run could know (that a process died, that it was
// interrupted) is taken from the directory's verdict.json, where there is one.
func Check(path string) (Result, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Result{}, fmt.Errorf("check: %w", err)
	}
	if !info.IsDir() {
		return checkFile(path)
	}
	plan, err := scenarios.ReadPlan(filepath.Join(path, conductor.PlanName))
	if err != nil {
		return Result{}, fmt.Errorf("check %s: %w", path, err)
	}
	run, untested, err := remembered(path, plan)
	if err != nil {
		return Result{}, err
	}
	if untested != "" {
		verdict := checker.New(Config(plan, run.World)).Verdict()
		verdict.Status, verdict.Reason = checker.Inconclusive, untested
		return newResult(path, run, verdict, nil), nil
	}
	events, err := savedHistory(path, plan, run)
	if err != nil {
		return Result{}, err
	}
	run.Failovers = failovers(run.World, plan, events)
	verdict, err := judge(Config(plan, run.World), events)
	if err != nil {
		run.HarnessError = err.Error()
	}
	return newResult(path, run, verdict, events), nil
}

// savedHistory reads the history of a run directory. A run that reached its
// end has a stream of every process; without it, what the others did would be
// held against the target.
func savedHistory(dir string, plan scenarios.Plan, run reports.Run) ([]history.Event, error) {
	if !run.Partial && run.HarnessError == "" {
		for _, name := range conductor.Streams(plan) {
			path := filepath.Join(dir, "history", name+".ndjson")
			if _, err := os.Stat(path); err != nil {
				return nil, fmt.Errorf("check %s: the run has ended, and the history of one of its processes is gone: %w", dir, err)
			}
		}
	}
	return stream.ReadDir(dir)
}

// remembered is what verdict.json says of the run. When the run never began,
// for want of the system under test, untested says so: it has no history.
func remembered(dir string, plan scenarios.Plan) (run reports.Run, untested string, err error) {
	run = reports.Run{
		ID: filepath.Base(dir), Scenario: plan.Scenario, Seed: plan.Seed, PlanHash: plan.Hash(),
		Command: "pestle replay " + dir,
	}
	old, err := reports.ReadVerdict(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// The harness was killed: the run did not reach its end. A simulated one
		// would have no history yet.
		run.World, run.Partial = WorldProcess, true
		return run, "", nil
	case err != nil:
		return run, "", err
	case old.PlanHash != run.PlanHash:
		return run, "", fmt.Errorf("check %s: its %s is plan %.16s, and the run was of plan %.16s: put its own plan back",
			dir, conductor.PlanName, run.PlanHash, old.PlanHash)
	}
	run.Command, run.Started, run.Elapsed = old.Command, old.Started, old.Elapsed
	run.World, run.Noise, run.TraceHash = old.World, old.Noise, old.TraceHash
	run.Environment, run.Partial, run.HarnessError = old.Environment, old.Partial, old.HarnessError
	run.LeftOut = old.LeftOut
	if old.Status == reports.Inconclusive && old.Origin == 0 {
		untested = old.Reason
	}
	return run, untested, nil
}

// checkFile judges a bare history.
func checkFile(path string) (Result, error) {
	events, err := stream.ReadFile(path)
	if err != nil {
		return Result{}, err
	}
	verdict, err := judge(inferred(events), events)
	run := reports.Run{ID: filepath.Base(path), World: "history", Command: "pestle check " + path}
	if err != nil {
		run.HarnessError = err.Error()
	}
	return newResult("", run, verdict, events), nil
}

// inferred is the configuration that a history alone suggests: the streams
// and producers it mentions, publish order per partition, at least once.
func inferred(events []history.Event) checker.Config {
	const recovery = 5_000_000_000 // ns; the plan would say it
	c := checker.Config{Order: checker.OrderPartition, Recovery: recovery}
	producers, streams, kinds := map[string]bool{}, map[string]int{}, map[string]bool{}
	for _, e := range events {
		switch e.Ev {
		case history.Attempt:
			c.MaxTries = max(c.MaxTries, e.Try)
			if !producers[e.Src] {
				producers[e.Src] = true
				c.Producers = append(c.Producers, e.Src)
			}
		case history.Consume:
			key := e.Topic + ":" + e.Channel
			i, known := streams[key]
			if !known {
				i = len(c.Streams)
				streams[key] = i
				c.Streams = append(c.Streams, checker.Stream{Topic: e.Topic, Channel: e.Channel})
			}
			if !slices.Contains(c.Streams[i].Consumers, e.Consumer) {
				c.Streams[i].Consumers = append(c.Streams[i].Consumers, e.Consumer)
			}
		case history.Fault:
			if !kinds[e.What] {
				kinds[e.What] = true
				c.FaultKinds = append(c.FaultKinds, e.What)
			}
		}
	}
	return c
}

// judge runs the checker over a whole history.
func judge(config checker.Config, events []history.Event) (checker.Verdict, error) {
	check := checker.New(config)
	for _, e := range events {
		if err := check.Observe(e); err != nil {
			return check.Verdict(), err
		}
	}
	return check.Verdict(), nil
}

func newResult(dir string, run reports.Run, verdict checker.Verdict, events []history.Event) Result {
	return Result{
		Dir: dir, Run: run, Verdict: verdict, Outcome: run.Outcome(verdict),
		File: reports.NewVerdictFile(run, verdict, events),
	}
}

// Worse returns the outcome that counts over several runs: a violation over a
// failure of the harness over an inconclusive run over a pass.
func Worse(a, b reports.Outcome) reports.Outcome {
	for _, o := range []reports.Outcome{reports.Failed, reports.HarnessError, reports.Inconclusive} {
		if a == o || b == o {
			return o
		}
	}
	return reports.Passed
}
