package campaign

import (
	"testing"

	"pestle/checker"
	"pestle/scenarios"
)

// What the clients or the brokers of a world do not tell is not judged there, also
// when the plan asks for it; everything else is.
func TestConfigOfAWorld(t *testing.T) {
	plan := scenarios.Plan{
		Target:     scenarios.Target{Kind: "pestle"},
		Properties: []string{checker.NoDataLoss, checker.FlowControl, checker.Invariants},
	}
	for world, want := range map[string]map[string]bool{
		WorldSim:    {checker.NoDataLoss: true, checker.FlowControl: true, checker.Invariants: true},
		WorldDocker: {checker.NoDataLoss: true, checker.FlowControl: false, checker.Invariants: false},
	} {
		verdict := checker.New(Config(plan, world)).Verdict()
		for _, p := range verdict.Properties {
			if required, asked := want[p.Slug]; asked && (p.Required != required || (p.Status == checker.NotApplicable) == required) {
				t.Errorf("world %s: %s is %s, required %t; want required %t", world, p.Slug, p.Status, p.Required, required)
			}
		}
	}
}
