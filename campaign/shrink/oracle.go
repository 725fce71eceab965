package shrink

import (
	"context"
	"fmt"

	"pestle/campaign"
	"pestle/checker"
	"pestle/history"
	"pestle/scenarios"
	"pestle/sim"
)

// Simulate is the Oracle of the simulated world: it runs and judges a plan in
// memory. A broker that panics is a failure of the harness like any other:
// shrinking must outlive its candidates.
func Simulate(ctx context.Context, plan scenarios.Plan, noise uint64) (trial Trial, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the simulation panics: %v", broken)
		}
	}()
	check := checker.New(campaign.Config(plan, campaign.WorldSim))
	var watch Watch
	events := 0
	result, err := sim.Run(sim.Options{Plan: plan, Noise: noise, Sink: func(e history.Event) error {
		if events++; events%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		watch.Observe(e)
		return check.Observe(e)
	}})
	return watch.Trial(check.Verdict(), result.Faults, fmt.Sprintf("%016x", result.TraceHash)), err
}
