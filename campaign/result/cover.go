package result

import (
	"math/bits"

	"pestle/faults"
)

// state is one abstract state that a run was in; see the package comment.
type state struct {
	fault string // kind that took effect, or "" for none
	point string
	size  int // bits of the number of times the point was passed
}

// states calls met with each state of a run.
func states(r *Record, met func(state)) {
	any := false
	for _, f := range r.Faults {
		if f.Effective == 0 {
			continue
		}
		any = true
		for _, p := range r.Points {
			met(state{f.Kind, p.Name, bits.Len64(uint64(p.Times))})
		}
	}
	if !any {
		for _, p := range r.Points {
			met(state{"", p.Name, bits.Len64(uint64(p.Times))})
		}
	}
}

// cover sums up what the runs reached. They are in order of their seeds.
func cover(records []*Record, simulated bool) Cover {
	c := Cover{Points: []Point{}, Curve: []Step{}}
	if !simulated {
		return c
	}
	index := map[string]int{}
	for i, p := range faults.Points() {
		index[p.Name] = i
		c.Points = append(c.Points, Point{Name: p.Name, When: p.When})
	}
	known := map[state]bool{}
	next := 1
	for n, r := range records {
		for _, p := range r.Points {
			if i, ok := index[p.Name]; ok {
				c.Points[i].Times += p.Times
				c.Points[i].Runs++
			}
		}
		states(r, func(s state) { known[s] = true })
		if n+1 == next || n+1 == len(records) {
			c.Curve = append(c.Curve, Step{Runs: int64(n + 1), States: int64(len(known))})
			next = following(next)
		}
	}
	for _, p := range c.Points {
		if p.Runs > 0 {
			c.Reached++
		}
	}
	return c
}

// following is the next number of 1, 2, 5, 10, 20, 50, …: where the curve has a
// point.
func following(n int) int {
	for unit := 1; ; unit *= 10 {
		for _, step := range []int{1, 2, 5} {
			if step*unit > n {
				return step * unit
			}
		}
	}
}
