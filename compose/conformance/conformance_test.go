package conformance_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"pestle/checker"
	"pestle/compose"
	"pestle/compose/conformance"
	"pestle/faults"
	"pestle/scenarios"
)

// control is for people: it takes another two minutes.
var control = flag.Bool("control", false, "also see in containers that every statement is denied where nothing happens")

func TestEveryKindOfBothWorldsHasARow(t *testing.T) {
	has := map[faults.Kind]bool{}
	for _, row := range conformance.Table() {
		has[row.Fault.Kind] = true
		if row.Says == "" {
			t.Errorf("the row of %s says nothing", row.Fault.Kind)
		}
	}
	for _, spec := range faults.Kinds() {
		if both := spec.In(scenarios.Sim) && spec.In(scenarios.Docker); both != has[spec.Kind] {
			t.Errorf("%s is in both worlds: %v; it has a row: %v", spec.Kind, both, has[spec.Kind])
		}
	}
}

func TestThePlansAreSound(t *testing.T) {
	for _, p := range conformance.Plans() {
		for _, plan := range []scenarios.Plan{p.With(), p.Without()} {
			if _, err := scenarios.ParsePlan(plan.Canonical()); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
}

func TestFaultsLookAsTheyShouldInSimulation(t *testing.T) {
	for _, p := range conformance.Plans() {
		t.Run(p.Name, func(t *testing.T) {
			run, err := conformance.Simulated(p.With())
			if err != nil {
				t.Fatal(err)
			}
			looks(t, p, run)
		})
	}
}

func TestNothingLooksLikeAFaultWithoutOneInSimulation(t *testing.T) {
	for _, p := range conformance.Plans() {
		t.Run(p.Name, func(t *testing.T) {
			run, err := conformance.Simulated(p.Without())
			if err != nil {
				t.Fatal(err)
			}
			denies(t, p, run)
		})
	}
}

func TestFaultsLookAsTheyShouldInContainers(t *testing.T) {
	reachable(t)
	for _, p := range conformance.Plans() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			looks(t, p, contained(t, p.With()))
		})
	}
}

func TestNothingLooksLikeAFaultWithoutOneInContainers(t *testing.T) {
	if !*control {
		t.Skip("not run: it is with -control")
	}
	reachable(t)
	for _, p := range conformance.Plans() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			denies(t, p, contained(t, p.Without()))
		})
	}
}

// looks holds a run to all that is said of its faults.
func looks(t *testing.T, p conformance.Plan, run *conformance.Run) {
	t.Helper()
	for _, why := range run.LeftOut {
		t.Errorf("left out: %s", why)
	}
	for _, s := range p.Stages {
		w := run.Window(s)
		if !run.Happened(s) {
			t.Errorf("%s of %s has not happened", s.Fault.Kind, s.Fault.Target)
			continue
		}
		if err := s.Seen(run, w); err != nil {
			t.Errorf("%s from %.3f s to %.3f s: %s. But: %v", s.Fault.Kind, float64(w.From)/1e9, float64(w.Ended)/1e9, s.Says, err)
		}
	}
	for _, property := range run.Verdict.Properties {
		if property.Status == checker.Fail && property.Required {
			t.Errorf("%s: %s %+v", property.Slug, property.Reason, property.Violations)
		}
	}
}

// denies wants that a run in which nothing happened is not taken for one in
// which something did.
func denies(t *testing.T, p conformance.Plan, run *conformance.Run) {
	t.Helper()
	for _, s := range p.Stages {
		if err := s.Seen(run, run.Window(s)); err == nil {
			t.Errorf("%s: where nothing happens it is also said: %s", s.Fault.Kind, s.Says)
		}
	}
}

// reachable skips the test, in one line, where no engine answers.
func reachable(t *testing.T) {
	t.Helper()
	e, err := compose.Connect(context.Background())
	if err != nil {
		t.Skipf("not run: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func contained(t *testing.T, plan scenarios.Plan) *conformance.Run {
	t.Helper()
	began := time.Now()
	run, err := conformance.Contained(t.Context(), plan, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s in containers: %.1f s", plan.Scenario, time.Since(began).Seconds())
	return run
}
