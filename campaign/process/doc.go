// Package process is the world of real processes: it starts the system under
// test and the workload on this machine, sends them real signals, watches
// their history streams and leads the run through its phases.
//
// It owns the processes it starts: they die with the harness, even when the
// harness itself is killed. It never judges: events go to the caller's sink in
// merged order, and the checker judges them there.
//
// A target may be a cluster of brokers. Who leads is what a majority of them
// says, asked in the background: one that is paused or gone holds nothing up.
//
// Every run has a loopback address of its own (127.x.y.z, from the process
// id), so concurrent runs never meet, a port is never stolen by an outgoing
// connection, and a client never connects to itself while a broker is down.
//
//	world := process.New(process.Options{Plan: plan, Dir: dir, Program: os.Args[0], Sink: check.Observe})
//	outcome, err := world.Run(ctx)
package process
