// Package conductor leads a run of real processes through its phases: boot,
// warm-up, chaos with its quiet windows, drain and the end. It says when each
// fault of the plan begins and ends, watches the history streams and asks the
// brokers who leads and what is left.
//
// It owns the timetable, the schedule of faults, the harness's own history and
// the journal actuations.ndjson. It never starts or hurts a process itself:
// where they live is a Host. It never judges: events go to the caller's sink in
// merged order, and the checker judges them there.
//
// A target may be a cluster of brokers. Who leads is what a majority of them
// says, asked in the background: one that is paused or gone holds nothing up.
//
//	c := conductor.New(conductor.Options{Plan: plan, Dir: dir, Host: host, Sink: check.Observe})
//	outcome, err := c.Run(ctx)
package conductor
