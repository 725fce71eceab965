// Package process is this machine as the place where the processes of a run
// live: it starts the system under test and the workload as real processes and
// sends them real signals. The conductor leads the run.
//
// It owns the processes it starts: they die with the harness, even when the
// harness itself is killed.
//
// Every run has a loopback address of its own (127.x.y.z, from the process
// id), so concurrent runs never meet, a port is never stolen by an outgoing
// connection, and a client never connects to itself while a broker is down.
//
//	host := process.NewHost(os.Args[0])
//	outcome, err := conductor.New(conductor.Options{Plan: plan, Dir: dir, Host: host, Sink: check.Observe}).Run(ctx)
package process
