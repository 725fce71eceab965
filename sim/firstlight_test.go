package sim_test

import (
	"fmt"
	"testing"

	"pestle/campaign"
	"pestle/checker"
	"pestle/scenarios"
	"pestle/sim"
)

func plan(t testing.TB, path string, seed uint64, set ...string) scenarios.Plan {
	t.Helper()
	scenario, err := scenarios.Load(path, set)
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenarios.Expand(scenario, seed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// judged runs a plan and judges it.
func judged(p scenarios.Plan, o sim.Options) (sim.Result, checker.Verdict, error) {
	check := checker.New(campaign.Config(p, campaign.WorldSim))
	o.Plan, o.Sink = p, check.Observe
	result, err := sim.Run(o)
	return result, check.Verdict(), err
}

const firstLight = "../scenarios/first-light.yaml"

func TestFirstLight(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			p := plan(t, firstLight, seed)
			first, verdict, err := judged(p, sim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if verdict.Status != checker.Pass {
				t.Errorf("%s: %s", verdict.Status, verdict.Reason)
				for _, p := range verdict.Properties {
					t.Log(p.Slug, p.Status, p.Violations)
				}
			}
			second, _, err := judged(p, sim.Options{})
			if err != nil || second.TraceHash != first.TraceHash {
				t.Errorf("the second run has the hash %016x, the first %016x; error %v", second.TraceHash, first.TraceHash, err)
			}
		})
	}
}
