package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pestle/campaign"
	"pestle/campaign/result"
	"pestle/campaign/shrink"
	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/reports"
	"pestle/scenarios"
	"pestle/sim"
	"pestle/sim/random"
)

// repeatPercent of the runs in which nothing fails are run twice.
const repeatPercent = 5

// repeated tells whether a seed in which nothing fails is run twice. It depends on
// the seed alone, so that a campaign that is gone on with chooses the same.
func repeated(seed uint64) bool { return random.Mix(seed)%100 < repeatPercent }

// simulate runs a plan in memory, and judges it.
func simulate(plan scenarios.Plan) result.Record {
	check := checker.New(campaign.Config(plan, campaign.WorldSim))
	var w watch
	first, err := sim.Run(sim.Options{Plan: plan, Sink: func(e history.Event) error {
		w.observe(e)
		return check.Observe(e)
	}})
	run := reports.Run{FaultLog: first.Faults}
	if err != nil {
		run.HarnessError = err.Error()
	}
	r := judged(check.Verdict(), run, plan, &w)
	r.TraceHash, r.Events, r.Elapsed = traceText(first.TraceHash), first.Events, first.Elapsed
	for _, p := range first.Points {
		if p.Times > 0 {
			r.Points = append(r.Points, result.PointCount{Name: p.Name, Times: p.Times})
		}
	}
	if r.Outcome == reports.Failed || r.Outcome == reports.HarnessError || repeated(plan.Seed) {
		repeat(plan, first, &r)
	}
	return r
}

// traceText writes a trace hash as every report does.
func traceText(hash uint64) string { return fmt.Sprintf("%016x", hash) }

// repeat runs a plan again. When it does not go as before, the record becomes
// a harness error: whatever else it says cannot be repeated either.
func repeat(plan scenarios.Plan, first sim.Result, r *result.Record) {
	r.Repeated = true
	again, err := sim.Run(sim.Options{Plan: plan})
	if again.TraceHash == first.TraceHash && again.Events == first.Events {
		return // also when both failed: they did so alike
	}
	r.Outcome, r.Diverged = reports.HarnessError, true
	r.Error = fmt.Sprintf("two runs of one plan have the traces %s after %d events and %s after %d",
		traceText(first.TraceHash), first.Events, traceText(again.TraceHash), again.Events)
	if err != nil {
		r.Error += fmt.Sprintf(" (it failed: %v)", err)
	}
	r.Error += ": it is not deterministic; " + firstDifference(plan)
}

// firstDifference finds where two runs of a plan begin to differ, in words.
func firstDifference(plan scenarios.Plan) string {
	// What is not deterministic may go alike for once, and differ elsewhere in
	// each of the four runs that a search needs.
	const searches = 5
	words := "the difference did not come again"
	for range searches {
		d, err := sim.Bisect(sim.Options{Plan: plan}, sim.Options{Plan: plan})
		switch {
		case err != nil:
			words = err.Error()
		case d.Event > 0 && d.A != d.B:
			return fmt.Sprintf("the first difference is event %d: %q in one run, %q in the other", d.Event, d.A, d.B)
		case d.Event > 0:
			words = fmt.Sprintf("the first difference is event %d, in what its words do not tell: %q", d.Event, d.A)
		}
	}
	return words
}

// judged is the record of a verdict.
func judged(v checker.Verdict, run reports.Run, plan scenarios.Plan, w *watch) result.Record {
	r := result.Record{Outcome: run.Outcome(v), Judged: true, Recovery: w.recovery}
	switch r.Outcome {
	case reports.HarnessError:
		r.Error = run.HarnessError
	case reports.Inconclusive:
		r.Missing = missing(v, run)
	}
	for _, p := range v.Properties {
		if p.Status != checker.Pass {
			if r.NotPassed == nil {
				r.NotPassed = map[string]checker.Status{}
			}
			r.NotPassed[p.Slug] = p.Status
		}
	}
	for _, s := range shrink.Symptoms(v) {
		r.Violations = append(r.Violations, result.Violation{
			Property: s.Property, Cause: s.Cause, At: s.Violation.T - w.origin, Detail: s.Violation.Detail,
		})
	}
	for _, c := range v.Claims {
		if c.Reached {
			r.Claims = append(r.Claims, c.Name)
		}
	}
	r.Faults = countFaults(plan.Faults, run.FaultLog)
	return r
}

// missing lists why a run is inconclusive, a clause for each property and claim.
func missing(v checker.Verdict, run reports.Run) []string {
	var list []string
	for _, p := range v.Properties {
		if p.Required && p.Status == checker.Inconclusive {
			list = append(list, p.Slug+": "+p.Reason)
		}
	}
	for _, c := range v.Claims {
		if c.Required && !c.Reached {
			list = append(list, "claim "+c.Name+" was not reached")
		}
	}
	// What makes the run as a whole too weak stands before these.
	if whole := strings.TrimSuffix(strings.TrimSuffix(v.Reason, strings.Join(list, "; ")), "; "); whole != "" {
		list = append([]string{whole}, list...)
	}
	if len(list) == 0 {
		list = []string{run.Reason(v)}
	}
	return list
}

// countFaults says what became of a plan's faults, by kind, in the order of
// their names.
func countFaults(planned []faults.Fault, entries []faults.Entry) []result.FaultCount {
	var list []result.FaultCount
	at := func(kind faults.Kind) *result.FaultCount {
		i := slices.IndexFunc(list, func(c result.FaultCount) bool { return c.Kind == string(kind) })
		if i < 0 {
			i = len(list)
			list = append(list, result.FaultCount{Kind: string(kind)})
		}
		return &list[i]
	}
	for _, f := range planned {
		at(f.Kind).Planned++
	}
	for _, e := range entries {
		if e.Effective != faults.Never {
			at(e.Kind).Effective++
		}
	}
	slices.SortFunc(list, func(a, b result.FaultCount) int { return cmp.Compare(a.Kind, b.Kind) })
	return list
}

// watch looks at a history for what the checker does not tell: when it began,
// and how long after its faults the broker took to ack again.
type watch struct {
	any      bool
	origin   int64 // time of the first event
	active   int   // faults
	waiting  bool  // for an ack, since the last fault ended
	kind     string
	since    int64
	recovery *result.Slowest
}

func (w *watch) observe(e history.Event) {
	if !w.any {
		w.any, w.origin = true, e.T
	}
	switch e.Ev {
	case history.Fault:
		if e.Edge == history.EdgeEffective {
			w.active++
			w.waiting = false
			return
		}
		w.active = max(0, w.active-1)
		w.waiting, w.kind, w.since = w.active == 0, e.What, e.T
	case history.Phase:
		if e.What == history.PhaseDrain {
			w.waiting = false // the producers stop
		}
	case history.Ack:
		if w.waiting {
			w.waiting = false
			if took := e.T - w.since; w.recovery == nil || took > w.recovery.Took {
				w.recovery = &result.Slowest{Kind: w.kind, Took: took}
			}
		}
	}
}

// history observes a saved one.
func (w *watch) history(dir string) error {
	events, err := stream.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range events {
		w.observe(e)
	}
	return nil
}
