package campaign

import (
	"context"
	"errors"

	"pestle/campaign/conductor"
	"pestle/campaign/process"
	"pestle/checker"
	"pestle/scenarios"
)

// runHosted carries the plan out with real processes.
func runHosted(ctx context.Context, plan scenarios.Plan, o Options, check *checker.Checker) (carried, error) {
	host, err := hostOf(o)
	if err != nil {
		return carried{}, err
	}
	outcome, err := conductor.New(conductor.Options{
		Plan: plan, Dir: o.Dir, Host: host, Progress: o.Progress, Sink: check.Observe,
	}).Run(ctx)
	return carried{
		target: outcome.TargetVersion, faults: outcome.Faults,
		leftOut: outcome.LeftOut, interrupted: outcome.Interrupted,
	}, err
}

// hostOf returns where the processes of a run live.
func hostOf(o Options) (conductor.Host, error) {
	if o.World == WorldProcess {
		return process.NewHost(o.Program), nil
	}
	return nil, errors.New("this build has no containers to run in; choose another world with --world")
}
