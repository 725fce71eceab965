package shrink

import (
	"context"

	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
	"pestle/workload"
)

// Oracle carries out a plan under a noise and tells what became of it. An error
// is a failure of the harness.
type Oracle func(ctx context.Context, plan scenarios.Plan, noise uint64) (Trial, error)

// Trial is one run of a candidate, as far as the search looks at it.
type Trial struct {
	Verdict    checker.Verdict
	Faults     []faults.Entry // by Ref; times since the start of chaos
	Sent       []workload.ID  // messages attempted before the drain, in order of their first tries
	Sentinels  int            // messages attempted from the drain on
	WarmUp     int64          // ns that it took
	ChaosBegan int64          // on the clock of the history
	TraceHash  string         // sim
}

// Watch gathers a Trial from the run's history. The zero value is ready.
type Watch struct {
	trial    Trial
	warmUp   int64 // its beginning
	draining bool
}

// Observe takes one event, in merged order.
func (w *Watch) Observe(e history.Event) {
	switch {
	case e.Ev == history.Phase && e.What == history.PhaseWarmUp:
		w.warmUp = e.T
	case e.Ev == history.Phase && e.What == history.PhaseChaos:
		w.trial.ChaosBegan, w.trial.WarmUp = e.T, e.T-w.warmUp
	case e.Ev == history.Phase && e.What == history.PhaseDrain:
		w.draining = true
	case e.Ev == history.Attempt && e.Try == 1 && w.draining:
		w.trial.Sentinels++
	case e.Ev == history.Attempt && e.Try == 1:
		if id, err := workload.ParseID(e.ID); err == nil {
			w.trial.Sent = append(w.trial.Sent, id)
		}
	}
}

// Trial returns what was gathered, with what else is known of the run.
func (w *Watch) Trial(verdict checker.Verdict, entries []faults.Entry, traceHash string) Trial {
	t := w.trial
	t.Verdict, t.Faults, t.TraceHash = verdict, entries, traceHash
	return t
}

// effective returns when a fault took effect, since the start of chaos.
func (t Trial) effective(ref int) (int64, bool) {
	for _, e := range t.Faults {
		if e.Ref == ref {
			return e.Effective, e.Effective != faults.Never
		}
	}
	return 0, false
}

// Size is what makes a plan long to read.
type Size struct {
	Faults    int `json:"faults"`    // of the plan
	Messages  int `json:"messages"`  // sent, the last one of each producer included
	Producers int `json:"producers"` //
	Consumers int `json:"consumers"` //
}

func sizeOf(p scenarios.Plan, t Trial) Size {
	return Size{
		Faults: len(p.Faults), Messages: len(t.Sent) + t.Sentinels,
		Producers: len(p.Workload.Producers), Consumers: len(p.Workload.Consumers),
	}
}
