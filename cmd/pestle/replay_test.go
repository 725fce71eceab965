package main

import (
	"context"
	"path/filepath"
	"testing"

	"pestle/scenarios"
)

// Runs that an interrupt kept from being made have not passed.
func TestRunsThatWereNotMadeDoNotPass(t *testing.T) {
	scenario, err := scenarios.Load("../../scenarios/first-light.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := scenarios.Expand(scenario, 1)
	if err != nil {
		t.Fatal(err)
	}
	run := t.TempDir() // of a run that was killed: it has a plan and no verdict
	if err := scenarios.WritePlan(filepath.Join(run, "plan.json"), plan); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := execute(ctx, rootCommand(), []string{"replay", run}); code != exitInconclusive {
		t.Errorf("exit code %d, want %d", code, exitInconclusive)
	}
}
