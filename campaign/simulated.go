package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"pestle/checker"
	"pestle/history"
	"pestle/scenarios"
	"pestle/sim"
)

// runSim carries the plan out in simulation and writes down what the process
// world's processes write themselves.
func runSim(ctx context.Context, plan scenarios.Plan, o Options, check *checker.Checker) (carried, error) {
	var interrupted error
	events := 0
	result, err := sim.Run(sim.Options{
		Plan: plan, Noise: o.Noise, Until: o.Until, Log: o.Log,
		Sink: func(e history.Event) error {
			if events++; events%1024 == 0 && ctx.Err() != nil {
				interrupted = ctx.Err()
				return interrupted
			}
			return check.Observe(e)
		},
	})
	if interrupted != nil && errors.Is(err, interrupted) {
		err = nil
	}
	how := carried{
		target: "simulated, this build", faults: result.Faults,
		interrupted: result.Partial || interrupted != nil,
		traceHash:   fmt.Sprintf("%016x", result.TraceHash),
	}
	if err == nil && interrupted == nil {
		how.story, err = story(plan, o, check.Verdict(), result.TraceHash)
	}
	return how, errors.Join(err, writeStreams(o.Dir, result))
}

// writeStreams writes the history, state and log files of a simulated run.
func writeStreams(dir string, result sim.Result) error {
	var lines []byte
	for _, s := range result.Histories {
		lines = lines[:0]
		for _, e := range s.Events {
			lines = history.AppendLine(lines, e)
		}
		if err := writeIn(dir, "history", s.Name+".ndjson", lines); err != nil {
			return err
		}
	}
	for _, s := range result.States {
		if err := writeIn(dir, "state", s.Name+".state", s.Content); err != nil {
			return err
		}
	}
	for _, s := range result.Logs {
		if err := writeIn(dir, "logs", s.Name+".log", s.Content); err != nil {
			return err
		}
	}
	return nil
}

func writeIn(dir, sub, name string, content []byte) error {
	if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
		return fmt.Errorf("make the run directory: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, sub, name), content, 0o644); err != nil {
		return fmt.Errorf("write down the simulated run: %w", err)
	}
	return nil
}
