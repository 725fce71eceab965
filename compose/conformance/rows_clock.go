package conformance

import (
	"errors"
	"fmt"
	"slices"

	"pestle/faults"
	"pestle/history"
)

// clockRows are about the clocks of a broker: by its wall clock it stamps
// connections, by the other one it holds messages back.
func clockRows() []Row {
	return []Row{
		{
			Fault:  faults.Fault{Kind: faults.ClockJump, Target: one, For: 1500 * millisecond, Offset: 3600 * second},
			Beside: []faults.Fault{{Kind: faults.Reset, Target: shared, Anchor: faults.Anchor{At: 300 * millisecond}}},
			Says:   "a connection that is made meanwhile has a time that is off by the offset",
			Seen:   jumped,
		},
		{
			Fault: faults.Fault{Kind: faults.ClockDrift, Target: one, For: 3 * second, Drift: 100_000},
			Says:  "a message that was given back returns before its time, by as much as the clock is fast",
			Seen:  drifted,
		},
		{
			Fault: faults.Fault{Kind: faults.ClockFreeze, Target: one, For: 1500 * millisecond},
			Says:  "no message that was given back returns while it lasts; afterwards all do",
			Seen:  frozen,
		},
	}
}

// jumped compares two connections of one client, whose distance in time the
// client's own clock knows.
func jumped(r *Run, w Window) error {
	const tolerance = 3 * second // the statistics have whole seconds
	again, ok := r.noted(history.NoteConnected, shared, "", w.From, w.To-edge)
	if !ok {
		return fmt.Errorf("%s has made no connection meanwhile", shared)
	}
	first := history.Event{T: -hourOf}
	for _, e := range r.Events {
		if e.Ev == history.Note && e.What == history.NoteConnected && e.Src == shared && e.T < w.Asked {
			first = e
		}
	}
	was, ok1 := r.connectedBy(one, shared, w.Asked, true)
	is, ok2 := r.connectedBy(one, shared, again.T+edge, false)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s does not tell of the connections of %s", one, shared)
	}
	if off := (is - was) - (again.T - first.T) - w.Fault.Offset; off < -tolerance || off > tolerance {
		return fmt.Errorf("the new connection's time is off by %.1f s, want %.1f s", seconds(off+w.Fault.Offset), seconds(w.Fault.Offset))
	}
	return lives(r, w)
}

// drifted looks at messages that were held back while the clock was fast.
func drifted(r *Run, w Window) error {
	during, n := pace(r.comebacks(shared, w.From, w.To-heldBackBy-edge))
	if n < fewest {
		return fmt.Errorf("only %d messages came back", n)
	}
	// A clock that is a tenth fast makes 909 of 1000; load only ever makes more.
	if during > 960 {
		return fmt.Errorf("messages that were given back stayed away for %d of 1000 parts of their time, want about %d", during, 1000*1_000_000/(1_000_000+w.Fault.Drift))
	}
	if before, n := pace(r.comebacks(shared, w.Asked-heldBackBy-second, w.Asked-heldBackBy-edge)); n > 0 && before < 990 {
		return fmt.Errorf("messages stayed away for %d of 1000 parts of their time before it already", before)
	}
	return lives(r, w)
}

// pace is for how many of 1000 parts of their time messages stayed away: the
// median, and of how many.
func pace(list []comeback) (permille int64, of int) {
	var all []int64
	for _, c := range list {
		if c.came {
			all = append(all, c.took*1000/c.wanted)
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], len(all)
}

// frozen looks at messages whose time came while the clock stood still.
func frozen(r *Run, w Window) error {
	var errs []error
	due := 0
	for _, c := range r.comebacks(shared, w.From-heldBackBy+2*edge, w.To-heldBackBy-2*edge) {
		due++
		switch back := c.began + c.took; {
		case !c.came:
			errs = append(errs, fmt.Errorf("a message that was given back at %.3f s never came again", seconds(c.began)))
		case back < w.To-edge:
			errs = append(errs, fmt.Errorf("a message that was given back at %.3f s came again at %.3f s", seconds(c.began), seconds(back)))
		}
	}
	if due < fewest {
		errs = append(errs, fmt.Errorf("the time of only %d messages came", due))
	}
	return errors.Join(append(errs[:min(len(errs), 3)], lives(r, w), resumes(r, w, both()...))...)
}
