//det:ring0

package scenarios

import (
	"cmp"
	"slices"

	"pestle/faults"
)

// placeTries is how many moments are drawn for a fault: half of them in its own
// share of the chaos, the others anywhere.
const placeTries = 64

// hold is a stretch of time in which a process is under a fault or settling
// after it. In an occurrence it counts from the fault's start.
type hold struct {
	kind   faults.Kind
	target string
	during faults.Window
	away   int // Fault.Away, of a fault that takes a broker away; 0 where any number may be away
}

// place draws the times of the faults that are not triggered, so that each
// one, with those that wait for it, is over faults.Settle before the next quiet
// window, and no process is under two faults at once. The n faults of a line
// are spread: each has its n-th part of the time that is not quiet.
//
// Where drawn times leave no room for all of them, they are packed without
// gaps instead. Faults of lines with a chance come last and give way: where
// they find no place they are left out, and with them, in number, those that
// wait for them. It returns the faults that stay.
func (s Scenario) place(seed uint64, all []*occurrence, quiet []Quiet) ([]*occurrence, error) {
	open := outside(quiet, s.phases.chaos)
	spread := func(o *occurrence, taken []hold) (int64, bool) { return o.moment(seed, open, taken) }
	packed := func(o *occurrence, taken []hold) (int64, bool) { return firstFree(open, o.holds(), taken) }

	var sure, maybe []*occurrence
	for _, o := range longestFirst(all) {
		if s.faults[o.line].chance < 1000 {
			maybe = append(maybe, o)
		} else {
			sure = append(sure, o)
		}
	}
	taken, crowded := placeAll(sure, spread)
	if crowded != nil {
		if taken, crowded = placeAll(sure, packed); crowded != nil {
			return nil, s.tooShort(crowded)
		}
	}
	for _, o := range maybe {
		at, ok := spread(o, taken)
		if !ok {
			at, ok = packed(o, taken)
		}
		if !ok {
			o.left = true
			continue
		}
		taken = o.put(at, taken)
	}
	var stay []*occurrence
	for _, o := range all {
		if !o.left {
			stay = append(stay, o)
		}
	}
	return stay, nil
}

func (s Scenario) tooShort(o *occurrence) error {
	return s.contradiction("phases.chaos", "of %s is too short: %s needs %s with its %s to settle and finds no place outside the quiet windows; make chaos longer, or ask for fewer or shorter faults",
		formatDuration(s.phases.chaos), s.describe(o), formatDuration(reach(o.holds())), formatDuration(faults.Settle))
}

// placeAll gives each fault the moment that choose finds beside those before
// it. It returns what they take, or the first for which there is no place.
func placeAll(timed []*occurrence, choose func(o *occurrence, taken []hold) (int64, bool)) (taken []hold, crowded *occurrence) {
	for _, o := range timed {
		at, ok := choose(o, taken)
		if !ok {
			return nil, o
		}
		taken = o.put(at, taken)
	}
	return taken, nil
}

// put gives the fault its moment and adds what it takes.
func (o *occurrence) put(at int64, taken []hold) []hold {
	o.fault.Anchor.At = at
	for i := range o.also {
		o.also[i].Anchor.At = at
	}
	for _, h := range o.holds() {
		taken = append(taken, h.from(at))
	}
	return taken
}

// outside returns the stretches of chaos in which a fault can be.
func outside(quiet []Quiet, chaos int64) []faults.Window {
	var open []faults.Window
	from := int64(0)
	for _, q := range quiet {
		open = append(open, faults.Window{From: from, To: q.From})
		from = q.To + faults.Clearance
	}
	return append(open, faults.Window{From: from, To: chaos})
}

// longestFirst returns the faults that need a time, those that need most room
// first: they are the hardest to place.
func longestFirst(all []*occurrence) []*occurrence {
	timed := withTime(all)
	slices.SortStableFunc(timed, func(a, b *occurrence) int {
		return cmp.Compare(reach(b.holds()), reach(a.holds()))
	})
	return timed
}

// byTime returns the faults that have a time, in its order.
func byTime(all []*occurrence) []*occurrence {
	timed := withTime(all)
	slices.SortStableFunc(timed, func(a, b *occurrence) int {
		return cmp.Compare(a.fault.Anchor.At, b.fault.Anchor.At)
	})
	return timed
}

func withTime(all []*occurrence) []*occurrence {
	var timed []*occurrence
	for _, o := range all {
		if o.fault.Anchor.After == nil {
			timed = append(timed, o)
		}
	}
	return timed
}

// holds lists what the fault and those that wait for it hold, from its start.
func (o *occurrence) holds() []hold {
	var out []hold
	for _, f := range o.faults() {
		out = append(out, holdOf(f, 0))
	}
	for _, e := range o.effect {
		for _, f := range e.faults() {
			out = append(out, holdOf(f, f.Anchor.After.Delay))
		}
	}
	return out
}

// holdOf is what a fault takes that begins so long after what it waits for.
func holdOf(f faults.Fault, from int64) hold {
	return hold{f.Kind, f.Target, faults.Window{From: from, To: from + f.For + faults.Settle}, f.Away}
}

// from is the hold of a fault that starts then.
func (h hold) from(at int64) hold {
	h.during.From += at
	h.during.To += at
	return h
}

// meets tells whether two holds overlap in time.
func (h hold) meets(o hold) bool {
	return h.during.From < o.during.To && o.during.From < h.during.To
}

// clashes tells whether two holds must not overlap.
func (h hold) clashes(o hold) bool {
	return faults.MayMeet(h.target, o.target) && !faults.Together(h.kind, o.kind)
}

// reach is how long a fault and those that wait for it take.
func reach(holds []hold) int64 {
	longest := int64(0)
	for _, h := range holds {
		longest = max(longest, h.during.To)
	}
	return longest
}

// moment draws a start for the fault: in its own share of the chaos, or else
// anywhere.
func (o *occurrence) moment(seed uint64, open []faults.Window, taken []hold) (int64, bool) {
	holds := o.holds()
	length := reach(holds)
	room := int64(0) // number of milliseconds a start can be drawn of
	for _, w := range open {
		room += starts(w, length)
	}
	if room == 0 {
		return 0, false
	}
	r := stream(seed, o.key, "at")
	share := max(1, room/int64(o.of))
	for try := range placeTries {
		n := r.Below(room)
		if try < placeTries/2 {
			n = min(room-1, int64(o.nth)*share+r.Below(share))
		}
		if at := start(open, length, n); free(at, holds, taken) {
			return at, true
		}
	}
	return 0, false
}

// starts counts the moments, in milliseconds, at which something so long can
// begin in a window.
func starts(w faults.Window, length int64) int64 {
	if w.To-w.From < length {
		return 0
	}
	return (w.To-w.From-length)/millisecond + 1
}

// start returns the n-th of those moments over all windows, from 0.
func start(open []faults.Window, length, n int64) int64 {
	for _, w := range open {
		if k := starts(w, length); n >= k {
			n -= k
			continue
		}
		return w.From + n*millisecond
	}
	panic("scenarios: start outside the open windows")
}

// free tells whether none of the holds meets one taken on the same target, and
// no more brokers are away than may be.
func free(at int64, holds, taken []hold) bool {
	for i, h := range holds {
		h = h.from(at)
		away, most := 0, h.away
		for j, o := range holds {
			if o = o.from(at); o.away > 0 && (i == j || h.target != o.target && h.meets(o)) {
				away++
			}
		}
		for _, t := range taken {
			if !h.meets(t) {
				continue
			}
			if h.clashes(t) {
				return false
			}
			if t.away > 0 && h.target != t.target {
				away, most = away+1, min(most, t.away)
			}
		}
		if h.away > 0 && away > most {
			return false
		}
	}
	return true
}

// firstFree returns the earliest free start. If there is any, there is one at
// the beginning of a window or right behind something taken.
func firstFree(open []faults.Window, holds, taken []hold) (int64, bool) {
	length := reach(holds)
	var candidates []int64
	for _, w := range open {
		candidates = append(candidates, w.From)
	}
	for _, h := range holds {
		for _, t := range taken {
			if h.clashes(t) || h.away > 0 && t.away > 0 {
				candidates = append(candidates, t.during.To-h.during.From)
			}
		}
	}
	slices.Sort(candidates)
	for _, at := range candidates {
		inside := slices.ContainsFunc(open, func(w faults.Window) bool { return at >= w.From && at+length <= w.To })
		if inside && free(at, holds, taken) {
			return at, true
		}
	}
	return 0, false
}
