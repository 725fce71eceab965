package conformance

import (
	"errors"
	"slices"

	"pestle/campaign"
	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
)

const (
	millisecond = int64(1_000_000)
	second      = 1000 * millisecond
)

// Run is what a plan came to in one world. All times are ns since the start of
// chaos; those before are negative.
type Run struct {
	World   string
	Plan    scenarios.Plan
	Events  []history.Event // of all processes, in merged order
	Faults  []faults.Entry  // by Ref
	LeftOut []string        // why faults of the plan were not carried out, as clauses
	Orderly map[int]bool    // by ref of a fault that ended its target: the process ended by itself, and all was well
	Samples []Sample        // of the brokers' statistics, in the order of time
	Met     Met
	Verdict checker.Verdict
}

// Sample is a part of what one broker said of itself at one moment.
type Sample struct {
	T          int64
	Broker     string
	Quarantine string           // why it takes part in nothing; "": it does
	Connected  map[string]int64 // client → when its connection was made, by the broker's wall clock, ns since the epoch
	Votes      map[uint64]bool  // node → it has a vote, for the nodes in groups that this broker leads, but itself
}

// Met counts what faults did to packets between processes.
type Met struct{ Doubled, Damaged int64 }

// Window is when a fault was there. It began between Asked and From, and was
// there for certain until To; what it broke was whole again at Ended.
type Window struct {
	Fault                  faults.Fault
	Asked, From, To, Ended int64
}

// errNoChaos means that a run has nothing to judge.
var errNoChaos = errors.New("the run has not come to its chaos")

// take gives the run its history, and has it judged.
func (r *Run) take(events []history.Event) error {
	check := checker.New(campaign.Config(r.Plan, r.World))
	for _, e := range events {
		if err := check.Observe(e); err != nil {
			return err
		}
	}
	r.Verdict = check.Verdict()
	i := slices.IndexFunc(events, func(e history.Event) bool { return e.Ev == history.Phase && e.What == history.PhaseChaos })
	if i < 0 {
		return errNoChaos
	}
	r.Events = slices.Clone(events)
	began := events[i].T
	for i := range r.Events {
		r.Events[i].T -= began
	}
	for i := range r.Samples {
		r.Samples[i].T -= began
	}
	return nil
}

// Window returns when the fault of a stage was there. Of a run without it, it is
// when the plan would have had it.
func (r *Run) Window(s Stage) Window {
	f := s.Fault
	i := slices.IndexFunc(r.Plan.Faults, func(o faults.Fault) bool {
		return o.Kind == f.Kind && o.Target == f.Target && o.Anchor.At == f.Anchor.At
	})
	if i < 0 || r.Faults[i].Effective == faults.Never || r.Faults[i].Ended == faults.Never {
		at := f.Anchor.At
		return Window{Fault: f, Asked: at, From: at, To: at + f.For, Ended: at + f.For}
	}
	e := r.Faults[i]
	f.Ref = e.Ref
	return Window{Fault: f, Asked: e.Asked, From: e.Effective, To: e.Effective + f.For, Ended: e.Ended}
}

// Happened tells whether the fault of a stage took effect and ended.
func (r *Run) Happened(s Stage) bool { return r.Window(s).Fault.Ref != 0 }
