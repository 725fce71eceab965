package conformance

import (
	"errors"
	"fmt"

	"pestle/faults"
	"pestle/history"
)

// diskRows are about a disk that fails and loses nothing.
func diskRows() []Row {
	return []Row{
		{
			Fault: faults.Fault{Kind: faults.DiskFull, Target: one, For: 2 * second},
			// While a consumer is away no file becomes free.
			Beside: []faults.Fault{{Kind: faults.Kill, Target: ordered, For: 3300 * millisecond, Anchor: faults.Anchor{At: -1500 * millisecond}}},
			Says:   "publishes are refused with E_PUB_FAILED, until there is room again; the broker lives",
			Rest:   3 * second,
			Seen:   full,
		},
		{
			Fault: faults.Fault{Kind: faults.DiskSlow, Target: one, For: 1500 * millisecond, Factor: 30},
			Says:  "acknowledgements take several times as long",
			Rest:  2500 * millisecond,
			Seen: func(r *Run, w Window) error {
				return errors.Join(slower(r, w, 3, both()...), lives(r, w), resumes(r, w, both()...))
			},
		},
		{
			Fault: faults.Fault{Kind: faults.DiskStuck, Target: one, For: second},
			Says:  "nothing is acknowledged, no client is told, and then all goes on",
			Seen:  stoodStill,
		},
		{
			Fault:  faults.Fault{Kind: faults.DiskReadError, Target: one, For: 3 * second, Rate: 1000},
			Beside: []faults.Fault{{Kind: faults.Kill, Target: ordered, For: 700 * millisecond, Anchor: faults.Anchor{At: -600 * millisecond}}},
			Says:   "what has left the broker's memory is not delivered while it lasts, and is afterwards",
			Rest:   3 * second,
			Seen:   unread,
		},
		{
			Fault: faults.Fault{Kind: faults.DiskWriteShort, Target: one, For: 400 * millisecond, Count: 1},
			Says:  "the broker ends itself and is started again",
			Rest:  3 * second,
			Seen:  endedItself,
		},
		{
			Fault: faults.Fault{Kind: faults.FsyncError, Target: one, For: 400 * millisecond, Count: 1},
			Says:  "the broker ends itself and is started again",
			Rest:  3 * second,
			Seen:  endedItself,
		},
	}
}

// full wants refusals in place of acks, once what room there was is used up.
func full(r *Run, w Window) error {
	var errs []error
	for _, p := range both() {
		list := r.sends(p, w.From, w.To-edge)
		if n := answered(list, "E_PUB_FAILED"); n < fewest {
			errs = append(errs, fmt.Errorf("%s was refused only %d of %d sends with E_PUB_FAILED", p, n, len(list)))
		}
	}
	return errors.Join(append(errs, halted(r, w.To-second/2, w.To-edge, both()...),
		lives(r, w), resumes(r, w, both()...))...)
}

// unread wants that a consumer with a backlog got nothing of it.
func unread(r *Run, w Window) error {
	var errs []error
	began, ok := r.noted(history.NoteConnected, ordered, "", w.From-second, w.To-second)
	if !ok {
		return fmt.Errorf("%s, which was away, has not come back in time", ordered)
	}
	if n := r.count(ordered, history.Consume, max(began.T, w.From)+edge, w.To-edge); n > 0 {
		errs = append(errs, fmt.Errorf("%s got %d messages", ordered, n))
	}
	if n := r.count(ordered, history.Consume, w.Ended, w.Ended+soon); n < fewest {
		errs = append(errs, fmt.Errorf("%s got only %d messages afterwards", ordered, n))
	}
	return errors.Join(append(errs, lives(r, w))...)
}

// endedItself wants that the target did, and was back soon.
func endedItself(r *Run, w Window) error {
	if _, ok := r.noted(history.NoteExited, "", w.Fault.Target, w.Asked, w.Ended+edge); !ok {
		return fmt.Errorf("%s did not end itself", w.Fault.Target)
	}
	back, ok := r.noted(history.NoteReady, "", w.Fault.Target, w.Asked, w.Ended+soon)
	if !ok {
		return fmt.Errorf("%s is not ready again", w.Fault.Target)
	}
	return works(r, back.T, max(back.T, w.Ended)+soon, both()...)
}

// bitRotRow damages what is stored, and has the broker read it.
func bitRotRow() Row {
	return Row{
		Fault:  faults.Fault{Kind: faults.BitRot, Target: one, For: 4 * second, Count: 1000},
		Beside: []faults.Fault{killAfter(300 * millisecond)},
		Says:   "a broker that reads its journal again refuses it or loses a part of it; nothing damaged is delivered",
		Seen:   refusedOrLost,
	}
}

// misdirectedRow and lostRow spoil all writes for a while, and have the broker
// read them meanwhile: a medium that is healed has all of them.
func misdirectedRow() Row { return spoiltRow(faults.MisdirectedWrite) }

func lostRow() Row { return spoiltRow(faults.LostWrite) }

func spoiltRow(kind faults.Kind) Row {
	return Row{
		Fault:  faults.Fault{Kind: kind, Target: one, For: 4 * second, Rate: 1000},
		Beside: []faults.Fault{{Kind: faults.Kill, Target: ordered, For: 700 * millisecond, Anchor: faults.Anchor{At: 100 * millisecond}}},
		Says:   "a message of that time that has left the broker's memory is not delivered, or the broker ends; nothing damaged is delivered",
		Rest:   3 * second,
		Seen:   spoilt,
	}
}

// spoilt wants that a consumer got nothing that was written while it was away.
func spoilt(r *Run, w Window) error {
	if _, ended := r.noted(history.NoteExited, "", w.Fault.Target, w.Asked, w.Ended); ended {
		return intact(r)
	}
	back, ok := r.noted(history.NoteConnected, ordered, "", w.From+2*edge, w.To-second)
	if !ok {
		return fmt.Errorf("%s, which was away, has not come back in time", ordered)
	}
	written := map[string]bool{}
	for _, e := range r.Events {
		switch {
		case e.Ev == history.Attempt && e.T > w.From+2*edge && e.T < back.T-second/4:
			written[e.ID] = true
		case e.Ev == history.Consume && e.Src == ordered && e.T > back.T && e.T < w.To-edge && written[e.ID]:
			return fmt.Errorf("%s got %s of that time at %.3f s", ordered, e.ID, seconds(e.T))
		}
	}
	if n := r.count(ordered, history.Consume, w.Ended, w.Ended+soon); n < fewest {
		return fmt.Errorf("%s got only %d messages afterwards", ordered, n)
	}
	return intact(r)
}

// unsyncedRow is on a disk that syncs nothing. A kill goes before: it loses
// nothing, on that disk either.
func unsyncedRow() Row {
	return Row{
		Fault:  faults.Fault{Kind: faults.PowerLoss, Target: one, For: 200 * millisecond},
		Beside: []faults.Fault{killAfter(-1500 * millisecond)},
		Says:   "what was not synced is gone; a kill loses nothing",
		Seen:   refusedOrLost,
	}
}

func killAfter(at int64) faults.Fault {
	return faults.Fault{Kind: faults.Kill, Target: one, For: 100 * millisecond, Anchor: faults.Anchor{At: at}}
}
