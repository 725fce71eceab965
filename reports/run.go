package reports

import (
	"slices"
	"strings"

	"pestle/checker"
	"pestle/faults"
	"pestle/sim"
)

// Run is what the reports have to know of a run beyond its plan, history and
// verdict.
type Run struct {
	ID       string // name of the run
	Scenario string
	Seed     uint64
	PlanHash string // SHA-256 of the canonical plan, hex
	World    string // sim, process or docker
	Noise    uint64 // sim: seed of what the plan leaves open
	Command  string // the line that reproduces it
	Started  string // UTC, as people write it: 2026-05-04T03:02:01Z
	Elapsed  int64  // ns

	TraceHash string // sim: hash of every event and effect, 16 hex digits

	Environment Environment
	FaultLog    []faults.Entry // faults.ndjson, in any order; the report takes lateness and notes from it
	Failovers   []Failover     // see the function of that name
	Story       []sim.Moment   // sim: what happened to the messages of the violation that Subject names, in order; empty for none

	HarnessError string // what broke in the harness itself; empty when nothing did
	Partial      bool   // interrupted before its end: a pass would prove nothing

	// LeftOut says why faults of the plan were not carried out, as clauses: a
	// pass would prove less than the plan asked for.
	LeftOut []string
}

// Environment is where a run ran. Unknown values are empty or 0.
type Environment struct {
	Go     string `json:"go"` // version of Go that built Pestle
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	Pestle string `json:"pestle"` // version of Pestle
	Target string `json:"target"` // version of the system under test
}

// Outcome is what one run amounts to: the verdict, unless the harness broke
// or was interrupted.
type Outcome string

// Values of an Outcome.
const (
	Passed       Outcome = "pass"
	Failed       Outcome = "fail"
	Inconclusive Outcome = "inconclusive"
	HarnessError Outcome = "harness-error"
)

// Outcome combines the verdict with what happened to the run. A harness
// error outranks even a violation, since a broken harness proves nothing; an
// interrupted run can fail but not pass.
func (r Run) Outcome(v checker.Verdict) Outcome {
	switch {
	case r.HarnessError != "":
		return HarnessError
	case v.Status == checker.Fail:
		return Failed
	case v.Status == checker.Pass && !r.Partial && len(r.LeftOut) == 0:
		return Passed
	}
	return Inconclusive
}

// Reason says why the outcome is not a pass, for people; it is empty for a
// pass.
func (r Run) Reason(v checker.Verdict) string {
	switch r.Outcome(v) {
	case Passed:
		return ""
	case HarnessError:
		return r.HarnessError
	case Failed:
		if v.Reason != "" {
			return failedWords(v) + "; " + v.Reason
		}
		return failedWords(v)
	}
	why := slices.Clone(r.LeftOut)
	if r.Partial {
		why = append([]string{"the run was interrupted before its end"}, why...)
	}
	if v.Reason != "" {
		why = append(why, v.Reason) // which mostly follows from the others
	}
	if len(why) == 0 {
		return "nothing was judged"
	}
	return strings.Join(why, "; ")
}

// ExitCode is the code the command ends with.
func (o Outcome) ExitCode() int {
	switch o {
	case Passed:
		return 0
	case Failed:
		return 1
	case Inconclusive:
		return 3
	}
	return 2
}
