// Package sim is the simulated world: the same broker, workload, faults and
// plan as in every other world, under a virtual clock, network and disk, on
// one goroutine. The same plan and noise give the same run, bit for bit, on
// any machine; a run of a minute takes well under a second.
//
// It owns the processes of a run and what carries them: it steps the ring-0
// machines of the broker and of the clients, carries out their effects on
// sim/network and sim/disk, leads the run through its phases, and hashes every
// event and effect on the way. It never judges: the merged history goes to the
// caller's sink, as in the process world, and the checker judges it there.
//
//	check := checker.New(campaign.Config(plan, campaign.WorldSim))
//	result, err := sim.Run(sim.Options{Plan: plan, Noise: noise, Sink: check.Observe})
//	if err != nil {
//		return err // the harness, not the target
//	}
//	fmt.Printf("%016x after %d events: %s\n", result.TraceHash, result.Events, check.Verdict().Status)
//
// # Time and chance
//
// Virtual time is in nanoseconds from 0, the start of the run; it is also the
// clock of the history. Whatever the plan leaves open (latencies, ties, sizes
// of reads) is drawn from streams keyed by seed, noise, purpose, process and
// incarnation, so that a draw in one place moves no other.
//
// # What a kill leaves
//
// A process is stepped by events, and between two of them it may be killed:
// between a state line, its history line and the send behind them; between the
// broker's decision to send and the kernel taking the bytes; while a disk
// operation is under way. Files and bytes the kernel has taken stay; with a
// power loss the disk keeps what it may and the network says nothing.
//
// # Several brokers
//
// With Target.Nodes above one the brokers are a cluster. What they tell each
// other travels as datagrams over the same links as everything else, in some
// runs lost, doubled or late without any fault. The consensus library draws its
// election timeouts from the process's chance, which package sim/chance lends to
// one run at a time; each incarnation of a broker draws from its own stream.
//
// A cluster is watched from outside (package sim/invariant): each broker after
// each of its events, what is durable on the disks at every end and now and
// then, the statistics once a second. The first broken invariant ends the run.
//
//det:ring0
package sim
