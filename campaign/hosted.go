package campaign

import (
	"context"

	"pestle/campaign/conductor"
	"pestle/campaign/process"
	"pestle/checker"
	"pestle/compose"
	"pestle/scenarios"
)

// runHosted carries the plan out with real processes.
func runHosted(ctx context.Context, plan scenarios.Plan, o Options, check *checker.Checker) (carried, error) {
	outcome, err := conductor.New(conductor.Options{
		Plan: plan, Dir: o.Dir, Host: hostOf(o), Progress: o.Progress, Sink: check.Observe,
	}).Run(ctx)
	return carried{
		target: outcome.TargetVersion, faults: outcome.Faults,
		leftOut: outcome.LeftOut, interrupted: outcome.Interrupted,
	}, err
}

// hostOf returns where the processes of a run live.
func hostOf(o Options) conductor.Host {
	if o.World == WorldDocker {
		return compose.New(compose.Options{Progress: o.Line})
	}
	return process.NewHost(o.Program)
}
