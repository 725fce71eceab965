// Package composer is Pestle's workload in the form that Antithesis' test
// composer runs: short commands, which it starts when and as often as it likes,
// side by side, under faults that are its own.
//
// It owns what each command does and the directory in which they leave what they
// did for one another. Producers, consumers and the judgement are those of every
// run: workload/driver and checker. It injects no fault and learns of none: the
// history tells what clients saw, and only what is wrong whatever the faults were
// counts as wrong.
//
//	settings, err := composer.FromEnvironment(os.Getenv)
//	for _, c := range composer.Commands() {
//		if c.Name == "parallel_driver_produce" {
//			err = c.Run(ctx, settings)
//		}
//	}
//
// A command returns nil when it did its work, or could not for want of a broker:
// under faults that is no news. ErrViolation is what must never happen.
//
// Files, under Settings.State, which all containers of the workload share:
//
//	actors/<name>.json       the plan of one producer or consumer, locked (flock) while it lives
//	state/<name>.state       as in every run, see package workload
//	history/<name>.ndjson    as in every run
//	sdk/<command>-<n>.jsonl  assertions of one command, see reports/sdk
//	verdict.json             the last judgement, see reports
//
// Each producer has its own name; so does each consumer of the channel "shared",
// of which any number may run. The channel "ordered" has one consumer,
// consumer-ordered-1, whoever gets its lock, so that order can be judged there.
package composer
