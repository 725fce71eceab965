package conformance

import (
	"errors"

	"pestle/faults"
)

// processRows are about the process of a broker. What ends it leaves the file of
// its journal as it is, and the checker holds the broker to all it had
// acknowledged.
func processRows() []Row {
	return []Row{
		{
			Fault: faults.Fault{Kind: faults.Kill, Target: one, For: second},
			Says:  "the broker is gone at once, its clients are told; nothing is acknowledged until it is back",
			Seen:  killed,
		},
		{
			Fault: faults.Fault{Kind: faults.OutOfMemory, Target: one, For: second},
			Says:  "the broker is gone at once, its clients are told; nothing is acknowledged until it is back",
			Seen:  killed,
		},
		{
			Fault: faults.Fault{Kind: faults.Stop, Target: one, For: second},
			Says:  "the broker ends in order, its clients are told; nothing is acknowledged until it is back",
			Seen:  func(r *Run, w Window) error { return gone(r, w, true) },
		},
		{
			Fault: faults.Fault{Kind: faults.PowerLoss, Target: one, For: second},
			Says:  "the broker is gone at once, and no client is told before it is back",
			Seen: func(r *Run, w Window) error {
				return errors.Join(
					orderly(r, w, false), untold(r, w.Asked, w.To-edge, both()...), halted(r, w.From+edge, w.To-edge, both()...),
					restarted(r, w), told(r, w.To-edge, w.Ended+soon, both()...), resumes(r, w, both()...))
			},
		},
		{
			Fault: faults.Fault{Kind: faults.Pause, Target: one, For: second},
			Says:  "the broker does nothing, no client is told, and then it goes on where it was",
			Rest:  3 * second,
			Seen:  stoodStill,
		},
		{
			Fault: faults.Fault{Kind: faults.CPUSlow, Target: one, For: 1500 * millisecond, Factor: 50},
			Says:  "acknowledgements take several times as long",
			Seen: func(r *Run, w Window) error {
				return errors.Join(slower(r, w, 3, both()...), lives(r, w), resumes(r, w, both()...))
			},
		},
	}
}

func killed(r *Run, w Window) error { return gone(r, w, false) }

// gone wants that the target ended, and that its clients learnt it.
func gone(r *Run, w Window, inOrder bool) error {
	const orders = 400 * millisecond // what an orderly end may take
	return errors.Join(
		orderly(r, w, inOrder), told(r, w.Asked, w.To, both()...), halted(r, w.From+orders, w.To-edge, both()...),
		restarted(r, w), resumes(r, w, both()...))
}

// stoodStill wants that the target did nothing for a while and forgot nothing.
// What it does about clients that it has not heard of, once it goes on, is its
// own affair.
func stoodStill(r *Run, w Window) error {
	return errors.Join(
		halted(r, w.From+edge, w.To-edge, both()...), untold(r, w.Asked, w.To-edge, both()...),
		lives(r, w), resumes(r, w, both()...))
}
