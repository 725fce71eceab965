package campaign

import (
	"cmp"
	"fmt"
	"slices"

	"pestle/checker"
	"pestle/reports"
	"pestle/scenarios"
	"pestle/sim"
)

// story carries a failed run out once more to tell what happened to the
// messages of the violation that its report draws; nil when there is none. The
// log that it takes would make every run many times slower.
func story(plan scenarios.Plan, o Options, verdict checker.Verdict, trace uint64) ([]sim.Moment, error) {
	_, ids, ok := reports.Subject(verdict)
	if !ok {
		return nil, nil
	}
	var stories []*sim.Story
	for _, id := range ids {
		stories = append(stories, sim.NewStory(id))
	}
	again, err := sim.Run(sim.Options{
		Plan: plan, Noise: o.Noise, Until: o.Until,
		Log: func(line string) {
			for _, s := range stories {
				s.Line(line)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("run the failing plan again for its story: %w", err)
	}
	if again.TraceHash != trace {
		return nil, fmt.Errorf("run the failing plan again for its story: its trace is %016x, it was %016x: the simulation is not deterministic", again.TraceHash, trace)
	}
	return merged(stories), nil
}

// merged is what several stories tell together, in order.
func merged(stories []*sim.Story) []sim.Moment {
	var list []sim.Moment
	for _, s := range stories {
		list = append(list, s.Moments...)
	}
	slices.SortStableFunc(list, func(a, b sim.Moment) int {
		return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(b.From, a.From)) // the one that knows more comes first
	})
	return slices.CompactFunc(list, func(a, b sim.Moment) bool { return a.Event == b.Event })
}
