// Package conformance says of every kind of fault what it looks like from
// outside, and sees whether it looks so in each world that can carry it out.
//
// It owns one table: per kind a statement, a small plan in which it can be seen,
// and one function that judges it. What the function gets is a Run, which both
// worlds fill in from the same sources: the histories of the clients and the
// harness, the journal of faults, the brokers' statistics, and counters of
// packets. So a fault that means one thing in simulation and another in
// containers fails in one of them.
//
//	for _, p := range conformance.Plans() {
//		run, err := conformance.Simulated(p.With())    // or Contained(ctx, p.With(), dir)
//		for _, s := range p.Stages {
//			err := s.Seen(run, run.Window(s))      // nil: it looks as it should
//		}
//		run, err = conformance.Simulated(p.Without())  // now every Seen has to object
//	}
//
// The numbers in the statements are tolerant: containers run on machines that do
// other things too. They bound by order, not by milliseconds.
package conformance
