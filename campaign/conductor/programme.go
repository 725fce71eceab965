package conductor

import (
	"fmt"
	"math"
	"slices"

	"pestle/faults"
	"pestle/scenarios"
	"pestle/sim/random"
)

// programme is the plan's list of faults as this run carries it out.
type programme struct {
	faults []faults.Fault // by Ref
	notes  map[int]string // by Ref: for the entries of faults.ndjson
	left   []Line         // of the faults that are left out
	why    []string       // reasons for leaving faults out, each once, as clauses
}

// newProgramme asks the host what it can do, and gives a time to faults that
// wait for a point: only the simulation sees a broker pass one.
func newProgramme(plan scenarios.Plan, host Host) programme {
	p := programme{faults: slices.Clone(plan.Faults), notes: map[int]string{}}
	for i := range p.faults {
		f := &p.faults[i]
		if why := cannot(*f, host); why != "" {
			p.leaveOut(f, why)
			if clause := fmt.Sprintf("no %s was carried out: %s", f.Kind, why); !slices.Contains(p.why, clause) {
				p.why = append(p.why, clause)
			}
			continue
		}
		if after := f.Anchor.After; after != nil && after.Point != "" {
			at := instead(plan, *f)
			p.notes[f.Ref] = fmt.Sprintf("anchored to a point that this world does not see; due at %.3f s instead", float64(at)/1e9)
			f.Anchor = faults.Anchor{At: at}
		}
	}
	for i := range p.faults {
		f := &p.faults[i]
		if on := f.Anchor.After; on != nil && on.Fault != 0 && p.isLeft(on.Fault) {
			p.leaveOut(f, fmt.Sprintf("it waits for fault %d, which is left out", on.Fault))
		}
	}
	return p
}

// cannot says why a host cannot carry a fault out, or "".
func cannot(f faults.Fault, host Host) string {
	if _, own := signalOf(f.Kind); own {
		return ""
	}
	return host.Can(f)
}

// leaveOut takes a fault out of the schedule, where it keeps its place: it waits
// for more acks than any run has.
func (p *programme) leaveOut(f *faults.Fault, why string) {
	f.Anchor = faults.Anchor{After: &faults.Event{Acks: math.MaxInt64}}
	p.notes[f.Ref] = "left out: " + why
	p.left = append(p.left, Line{Ref: f.Ref, Kind: f.Kind, Target: f.Target, Edge: EdgeLeftOut, Evidence: why})
}

func (p *programme) isLeft(ref int) bool {
	return slices.ContainsFunc(p.left, func(l Line) bool { return l.Ref == ref })
}

// instead is the moment of a fault that waits for a point in a world that sees
// none: drawn from the plan's seed and the fault's number, evenly over the parts
// of chaos in which the fault can be over in time. Where there is none it is the
// start, and the scheduler finds that there is no room.
func instead(plan scenarios.Plan, f faults.Fault) int64 {
	quiet := append(slices.Clone(plan.Phases.Quiet), faults.Window{From: plan.Phases.Chaos})
	var open []faults.Window
	room, from := int64(0), int64(0)
	for _, q := range quiet {
		if to := q.From - f.For - faults.Settle; to > from {
			open = append(open, faults.Window{From: from, To: to})
			room += to - from
		}
		from = q.To + faults.Clearance
	}
	if room == 0 {
		return 0
	}
	at := random.New(plan.Seed, "point", fmt.Sprint(f.Ref)).Below(room)
	for _, w := range open {
		if at < w.To-w.From {
			return w.From + at
		}
		at -= w.To - w.From
	}
	panic("conductor: a moment outside the room it was drawn from")
}

// entries is what became of each fault, with what the programme has to say.
func (p *programme) entries(s *faults.Scheduler) []faults.Entry {
	list := s.Entries()
	for i := range list {
		note := p.notes[list[i].Ref]
		switch {
		case note == "":
		case list[i].Note == "" || p.isLeft(list[i].Ref):
			list[i].Note = note
		default:
			list[i].Note += "; " + note
		}
	}
	return list
}
