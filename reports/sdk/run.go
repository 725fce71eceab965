package sdk

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"pestle/checker"
	"pestle/history"
	"pestle/reports"
	"pestle/scenarios"
)

// evaluation is one that a run has to tell.
type evaluation struct {
	of        Assertion
	condition bool
	details   any
}

// told is what a run has to tell: every assertion, and the evaluations.
type told struct {
	catalog     []Assertion
	evaluations []evaluation
}

func (t *told) declare(a Assertion) { t.catalog = append(t.catalog, a) }

func (t *told) hit(a Assertion, condition bool, details any) {
	t.evaluations = append(t.evaluations, evaluation{a, condition, details})
}

// Write writes sdk.jsonl into the directory of a run that ended, and appends it
// to the file that Antithesis collects, where there is one. The events are the
// merged history.
func Write(dir string, plan scenarios.Plan, f reports.VerdictFile, events []history.Event) error {
	t := tell(plan, f, events)
	log, err := Open(Version{Pestle: f.Environment.Pestle, Go: f.Environment.Go}, t.catalog, filepath.Join(dir, Name), Platform())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(events, func(e history.Event) bool { return e.Ev == history.Phase && e.What == history.PhaseWarmUp }) {
		err = log.SetupComplete(map[string]any{"run": f.Run, "scenario": f.Scenario, "seed": f.Seed, "plan_hash": f.PlanHash, "world": f.World})
	}
	for _, e := range t.evaluations {
		err = errors.Join(err, log.Hit(e.of, e.condition, e.details))
	}
	return errors.Join(err, log.Close())
}

// tell gathers the assertions of a run. A run whose harness broke proves
// nothing: it declares everything and evaluates no property.
func tell(plan scenarios.Plan, f reports.VerdictFile, events []history.Event) *told {
	t := &told{}
	broken := f.HarnessError != ""
	Judged(t.declare, func(a Assertion, condition bool, details any) {
		if !broken {
			t.hit(a, condition, details)
		}
	}, f.Properties, f.Claims)
	t.faults(plan, f, events)
	t.phases(plan, events)
	return t
}

// Judged hands the assertions of a verdict to declare, and what became of each
// to hit.
func Judged(declare func(Assertion), hit func(Assertion, bool, any), properties []checker.Property, claims []checker.Claim) {
	for _, p := range properties {
		if p.Status == checker.NotApplicable {
			continue
		}
		property(declare, hit, p)
	}
	for _, c := range claims {
		a := Assertion{Message: "claim: " + c.Name, Kind: Sometimes, File: "checker/claims.go"}
		declare(a)
		hit(a, c.Reached, map[string]any{"count": c.Count})
	}
}

func property(declare func(Assertion), hit func(Assertion, bool, any), p checker.Property) {
	file := "checker/" + strings.ReplaceAll(p.Slug, "-", "_") + ".go"
	a := Assertion{Message: p.Slug, Kind: AlwaysOrUnreachable, File: file}
	if p.Required {
		a.Kind = Always
	}
	declare(a)
	switch p.Status {
	case checker.Pass:
		hit(a, true, map[string]any{"exposure": p.Exposure})
	case checker.Fail:
		for _, v := range p.Violations {
			hit(a, false, map[string]any{"violation": v, "violations_total": p.Total})
		}
	}
	enough := Assertion{Message: p.Slug + ": enough was tested", Kind: Sometimes, File: file}
	declare(enough)
	hit(enough, p.Status != checker.Inconclusive, map[string]any{"exposure": p.Exposure, "missing": p.Reason})
}

// faults tells which kinds of the plan took effect, and which of the points that
// its faults wait for were reached.
func (t *told) faults(plan scenarios.Plan, f reports.VerdictFile, events []history.Event) {
	happened := map[int]bool{}
	for _, e := range events {
		if e.Ev == history.Fault && e.Edge == history.EdgeEffective {
			happened[e.Ref] = true
		}
	}
	kinds, points, reached := []string{}, []string{}, map[string]bool{}
	for _, fault := range plan.Faults {
		if kind := string(fault.Kind); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		after := fault.Anchor.After
		if f.World != "sim" || after == nil || after.Point == "" { // others see no point passed
			continue
		}
		if !slices.Contains(points, after.Point) {
			points = append(points, after.Point)
		}
		reached[after.Point] = reached[after.Point] || happened[fault.Ref]
	}
	for _, kind := range kinds {
		a := Assertion{Message: "fault: " + kind + " took effect", Kind: Sometimes, File: "faults/" + strings.ReplaceAll(kind, "-", "_") + ".go"}
		t.declare(a)
		t.hit(a, f.Faults[kind] > 0, map[string]any{"count": f.Faults[kind]})
	}
	for _, point := range points {
		a := Assertion{Message: "point: " + point, Kind: Reachable, File: "faults/points.go"}
		t.declare(a)
		if reached[point] {
			t.hit(a, true, nil)
		}
	}
}

// phases tells which phases the run has entered.
func (t *told) phases(plan scenarios.Plan, events []history.Event) {
	phases := []string{history.PhaseBoot, history.PhaseWarmUp, history.PhaseChaos}
	if len(plan.Phases.Quiet) > 0 {
		phases = append(phases, history.PhaseQuiet)
	}
	phases = append(phases, history.PhaseHeal, history.PhaseDrain, history.PhaseVerify, history.PhaseEnd)
	for _, phase := range phases {
		a := Assertion{Message: "phase: " + phase, Kind: Reachable, File: "history/event.go"}
		t.declare(a)
		if slices.ContainsFunc(events, func(e history.Event) bool { return e.Ev == history.Phase && e.What == phase }) {
			t.hit(a, true, nil)
		}
	}
}
