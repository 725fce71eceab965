// Package fleet runs campaigns: scenarios × seeds over worker processes, so
// that a run that crashes or hangs costs one seed and every CPU is used by
// single-threaded simulations.
//
// It owns the workers, their protocol, and what a campaign's directory holds
// while it grows. It judges no run itself: the checker does, in the worker; and
// it groups no failures: package result does.
//
//	c, err := fleet.Run(ctx, fleet.Options{
//		Scenarios: sources, From: 1, Seeds: 2000, Parallel: runtime.NumCPU(), Dir: dir,
//		Worker: []string{os.Args[0], "campaign-worker"},
//	})
//	fmt.Println(c.Status, len(c.Findings))
//
// # The directory
//
//	results.ndjson   the campaign's identity, then a record of each finished run, in the order they finished
//	campaign.json    what they amount to; package result
//	report.html      the same for people; package overview
//	runs/            run directories: in sim of the first, the shortest and the smallest run of each finding, else of every run
//	logs/            what workers wrote on standard error; absent when they wrote nothing
//
// A line of results.ndjson is written in one call when its run is over, and
// nothing else is remembered: whoever starts the same campaign on the directory
// again, after an interrupt or after parent and workers were killed, runs the
// seeds that have no line. A torn last line is cut off. The lock on the file
// keeps two campaigns apart and ends with the process.
//
// # The workers
//
// A worker is Pestle's own binary. It reads JSON lines on standard input and
// answers each with one on standard output: first the scenarios, answered by
// ready; then a job for one run at a time. Its input's end is its own. It is
// started from a thread that lives as long as the worker, with the kernel told
// to kill it when that thread is gone: a killed parent leaves none.
//
// Simulated runs are judged in memory, with GOMAXPROCS=1, and write nothing.
// Every one that fails and 5 % of the others, chosen by a hash of the seed, are
// run a second time: another trace is a harness error with the first event that
// differs.
package fleet
