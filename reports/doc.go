// Package reports says what a run amounted to, to the three who ask: a
// machine (verdict.json), a person at a terminal (Summary) and a person with
// a browser (report.html).
//
// It owns those three forms, the outcome and the exit code of one run. It
// never judges: every status, exposure and violation is the checker's, and
// the history is only counted and drawn. It never reads a clock, so one run
// directory always gives the same bytes.
//
//	run := reports.Run{ID: "first-light-1", Scenario: "first-light", Seed: 1, World: "process", …}
//	file := reports.NewVerdictFile(run, verdict, events)
//	if err := reports.WriteVerdict(dir, file); err != nil { … }
//	if err := reports.WriteHTML(dir, run, plan, verdict, events); err != nil { … }
//	if err := reports.Summary(os.Stdout, dir, run, verdict, term.IsTerminal(1)); err != nil { … }
//	os.Exit(run.Outcome(verdict).ExitCode())
//
// # verdict.json
//
// One JSON object, keys in this order, times in nanoseconds:
//
//	schema         1
//	status         pass, fail, inconclusive or harness-error
//	exit_code      0, 1, 3 or 2, in that order
//	reason         why the status is not pass; absent otherwise
//	run scenario seed plan_hash world command
//	started        UTC, as text; elapsed in nanoseconds
//	origin         CLOCK_MONOTONIC of the first history line: violations' t minus origin is the time into the run
//	partial        the run was interrupted
//	left_out       why faults of the plan were not carried out; absent when all were
//	harness_error  absent when the harness did its work
//	totals         attempts, acks, … counted over the history
//	faults         fault kind → times it took effect
//	failovers      of each kill of the leader: fault, process, first_ack; absent without any
//	properties     slug, class, required, status, reason, exposure, violations_total, violations
//	claims         name, count, reached
//	environment    go, os, arch, cpus, pestle, target
//
// # report.html
//
// One page, which keeps the rules of package page: a file of its own, without
// any request to anywhere. Of a simulated run that failed it draws what led to
// the first violation that names a message: Subject says which, and Run.Story
// is what package sim tells of its messages.
package reports
