package shrink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pestle/scenarios"
	"pestle/workload"
)

// Acceptance says how often a candidate is run, and how often it has to show
// the failure. The zero value accepts nothing.
type Acceptance struct {
	Runs int // at most
	Hits int // of them, from 1 to Runs
}

// Simulated is the acceptance of the simulated world: one of twenty noises is
// enough, for each can be repeated for ever.
func Simulated() Acceptance { return Acceptance{Runs: 20, Hits: 1} }

// Options say what to shrink and how.
type Options struct {
	Plan  scenarios.Plan // fails
	Noise uint64         // under this noise
	World string         // in which candidates run: what it cannot carry out is not tried

	Want   Fingerprint // of the failure; zero: that of the earliest violation
	Oracle Oracle
	Accept Acceptance
	// Coarse leaves out the steps that need hundreds of runs, one message and
	// one number at a time: for a world where a run takes its time.
	Coarse bool

	CPU      time.Duration        // spend at most so much, with child processes; 0: no bound
	Spent    func() time.Duration // of CPU, since any start; nil: that of this process and its children
	Progress func(Progress)       // told after each run; nil: nobody wants to know
}

// Progress is how far a search is.
type Progress struct {
	Step string        // what is being tried
	Best Size          // of the smallest plan so far
	Runs int           // done
	CPU  time.Duration // spent
}

// Result is the smallest plan found.
type Result struct {
	Plan        scenarios.Plan
	Noise       uint64 // under which it fails
	TraceHash   string // of that run; "" outside sim
	Symptom     Symptom
	Sent        []workload.ID // messages of that run, without the last one of each producer
	Before      Size
	After       Size
	Runs        int           // carried out
	Candidates  int           // tried
	Repeated    int           // candidates that had been tried before
	CPU         time.Duration // spent
	Complete    bool          // the search came to its end; else the CPU time did, or the caller
	Others      []Other       // failures met on the way, in order
	Broken      int           // runs that were failures of the harness
	BrokenFirst string        // the first of them
}

// Other is a failure met on the way that is not the one being shrunk.
type Other struct {
	Symptom
	Plan  scenarios.Plan
	Noise uint64
}

// maxOthers bounds the further findings that are kept.
const maxOthers = 10

// ErrNoFailure means that the plan does not fail, so that there is nothing to
// shrink.
var ErrNoFailure = errors.New("the run violates no required property")

// search is one search on its way.
type search struct {
	Options
	want  Fingerprint
	best  best
	known map[string]bool // whether a candidate was accepted, by plan hash
	step  string
	since time.Duration // CPU spent before the search
	over  bool          // no time is left
	res   Result
}

// best is the smallest plan so far.
type best struct {
	plan    scenarios.Plan
	noise   uint64
	trial   Trial
	symptom Symptom
}

// Shrink searches for the smallest plan that shows the same failure. The error
// is ErrNoFailure when the plan shows none, and else what the harness failed of
// in the first run; once there is a failure to shrink there is a result, also
// when the context ends.
func Shrink(ctx context.Context, o Options) (Result, error) {
	if o.Accept.Hits < 1 || o.Accept.Hits > o.Accept.Runs {
		return Result{}, fmt.Errorf("shrink: %d of %d runs are to fail: want at least 1, and not more than there are", o.Accept.Hits, o.Accept.Runs)
	}
	if o.Spent == nil {
		o.Spent = cpuTime
	}
	s := &search{Options: o, known: map[string]bool{}, since: o.Spent()}
	if err := s.begin(ctx); err != nil {
		return Result{}, err
	}
	s.res.Before = sizeOf(s.best.plan, s.best.trial)
	s.walk(ctx)
	b := s.best
	s.res.Plan, s.res.Noise, s.res.TraceHash, s.res.Symptom = b.plan, b.noise, b.trial.TraceHash, b.symptom
	s.res.Sent, s.res.After = b.trial.Sent, sizeOf(b.plan, b.trial)
	s.res.CPU = s.Spent() - s.since
	s.res.Complete = !s.over
	return s.res, nil
}

// begin runs the plan as it is.
func (s *search) begin(ctx context.Context) error {
	s.step = "the run as it was"
	for i := range s.Accept.Runs {
		trial, err := s.Oracle(ctx, s.Plan, s.Noise)
		s.res.Runs++
		if err != nil {
			return fmt.Errorf("shrink: run the plan: %w", err)
		}
		symptoms := Symptoms(trial.Verdict)
		for _, symptom := range symptoms {
			if s.Want == (Fingerprint{}) || s.Want == symptom.Fingerprint {
				s.want = symptom.Fingerprint
				s.best = best{plan: s.Plan, noise: s.Noise, trial: trial, symptom: symptom}
				s.meet(s.Plan, s.Noise, symptoms)
				return nil
			}
		}
		if trial.TraceHash != "" || i == s.Accept.Runs-1 {
			break // a simulated run comes out the same every time
		}
	}
	if s.Want != (Fingerprint{}) {
		return fmt.Errorf("shrink: %w of the kind %q", ErrNoFailure, s.Want)
	}
	return fmt.Errorf("shrink: %w", ErrNoFailure)
}

// try runs a candidate and makes it the best plan when it shows the failure.
func (s *search) try(ctx context.Context, p scenarios.Plan) bool {
	if s.exhausted(ctx) || p.Validate() != nil || s.World != "" && p.RunsIn(s.World) != nil {
		return false
	}
	hash := p.Hash()
	if accepted, tried := s.known[hash]; tried {
		s.res.Repeated++
		return accepted && hash == s.best.plan.Hash()
	}
	s.res.Candidates++
	found, ok := s.repeat(ctx, p)
	if !ok && s.over {
		return false // not tried to the end: nothing is known
	}
	s.known[hash] = ok
	if ok {
		s.best = found
	}
	return ok
}

// repeat runs a candidate until enough of its runs have shown the failure, or
// too few are left. The run of the result is the first that did.
func (s *search) repeat(ctx context.Context, p scenarios.Plan) (found best, ok bool) {
	hits := 0
	noises := noises{first: s.best.noise}
	for left := s.Accept.Runs; left > 0 && hits+left >= s.Accept.Hits; left-- {
		if s.exhausted(ctx) {
			return best{}, false
		}
		noise := noises.next()
		trial, err := s.Oracle(ctx, p, noise)
		s.res.Runs++
		s.tell()
		if err != nil {
			s.broke(ctx, err)
			continue
		}
		symptom, same := shows(trial.Verdict, s.want)
		s.meet(p, noise, Symptoms(trial.Verdict))
		if !same {
			continue
		}
		if hits++; hits == 1 {
			found = best{plan: p, noise: noise, trial: trial, symptom: symptom}
		}
		if hits == s.Accept.Hits {
			return found, true
		}
	}
	return best{}, false
}

// noises is the order in which noises are tried: the first one, then 0, 1, 2, …
type noises struct {
	first uint64
	given uint64 // so many of 0, 1, 2, …
	begun bool
}

func (n *noises) next() uint64 {
	if !n.begun {
		n.begun = true
		return n.first
	}
	if n.given == n.first {
		n.given++
	}
	n.given++
	return n.given - 1
}

// meet keeps the failures that are not the one being shrunk.
func (s *search) meet(p scenarios.Plan, noise uint64, symptoms []Symptom) {
	for _, symptom := range symptoms {
		if symptom.Fingerprint == s.want || len(s.res.Others) == maxOthers {
			continue
		}
		known := false
		for _, o := range s.res.Others {
			known = known || o.Fingerprint == symptom.Fingerprint
		}
		if !known {
			s.res.Others = append(s.res.Others, Other{Symptom: symptom, Plan: p, Noise: noise})
		}
	}
}

// broke counts a failure of the harness: the candidate proves nothing. An end
// asked for by the caller is none.
func (s *search) broke(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if s.res.Broken++; s.res.Broken == 1 {
		s.res.BrokenFirst = err.Error()
	}
}

// exhausted tells whether the search has to end.
func (s *search) exhausted(ctx context.Context) bool {
	if !s.over && (ctx.Err() != nil || s.CPU > 0 && s.Spent()-s.since >= s.CPU) {
		s.over = true
	}
	return s.over
}

func (s *search) tell() {
	if s.Progress != nil {
		s.Progress(Progress{Step: s.step, Best: sizeOf(s.best.plan, s.best.trial), Runs: s.res.Runs, CPU: s.Spent() - s.since})
	}
}
