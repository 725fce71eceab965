package campaign

import (
	"testing"

	"pestle/checker"
	"pestle/history"
	"pestle/scenarios"
)

// What the clients or the brokers of a world do not tell is not required there,
// also when the plan asks for it; everything else is.
func TestConfigOfAWorld(t *testing.T) {
	plan := scenarios.Plan{
		Target:     scenarios.Target{Kind: "pestle"},
		Properties: []string{checker.NoDataLoss, checker.FlowControl, checker.Invariants},
	}
	for world, want := range map[string]map[string]bool{
		WorldSim:    {checker.NoDataLoss: true, checker.FlowControl: true, checker.Invariants: true},
		WorldDocker: {checker.NoDataLoss: true, checker.FlowControl: false, checker.Invariants: false},
	} {
		for _, p := range checker.New(Config(plan, world)).Verdict().Properties {
			if required, asked := want[p.Slug]; asked && p.Required != required {
				t.Errorf("world %s: %s is required %t, want %t", world, p.Slug, p.Required, required)
			}
		}
	}
}

// A breach that brokers in containers show by themselves counts all the same.
func TestABreachCountsInEveryWorld(t *testing.T) {
	check := checker.New(Config(scenarios.Plan{Target: scenarios.Target{Kind: "pestle"}, Properties: []string{checker.NoDataLoss}}, WorldDocker))
	if err := check.Observe(history.Event{
		Seq: 1, T: 1, Src: "harness", Ev: history.Note, What: history.NoteInvariant, Target: "broker-1", Text: "quarantine: broker-1 takes part in nothing",
	}); err != nil {
		t.Fatal(err)
	}
	if v := check.Verdict(); v.Status != checker.Fail {
		t.Errorf("the verdict is %s, want fail", v.Status)
	}
}
