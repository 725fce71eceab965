// Package result is what a campaign amounts to: the record of each run, the
// findings in them, what was reached and what was not. It is the content of
// campaign.json, and of results.ndjson, from which it is computed.
//
// It owns the grouping of failures into findings and the two file formats. It
// never runs anything: the records come from the fleet, and the same records,
// in any order, give the same campaign.
//
//	c := result.Summarize(about, records)
//	for _, f := range c.Findings {
//		fmt.Println(f.Property, f.Cause, f.Rate, f.First.Command)
//	}
//	if err := result.Write(dir, c); err != nil { … }
//	os.Exit(c.ExitCode)
//
// # Findings
//
// A run breaks a required property for a cause: the two are a fingerprint, and
// a run may show several. A lost message is missed in a quiet window, too, and
// that is no second bug. So the findings are the fewest fingerprints that explain
// every failing run:
//
//  1. The fingerprint that most runs show is a finding; of equals a safety
//     property goes before a liveness one, then the one that stands first in the
//     catalog. Every run that shows it is filed under it.
//  2. An echo of it is another cause of the same property, or any liveness
//     property, which in at least half of the runs that show it comes with the
//     finding's own. Runs that show nothing but echoes are filed under it as well.
//  3. So on with the runs that are left.
//
// What else the filed runs show is listed with the finding as also seen. One bug
// that mostly shows its main symptom is one finding; two bugs are two as soon as
// some run shows the one without the other.
//
// # States
//
// The state of a run is not seen as a whole; what counts as one abstract state
// is a kind of fault that took effect in the same run as a named point of the
// broker was passed 1, 2…3, 4…7, … times. "" stands for no fault at all. The
// curve tells how many of these were met in the first n runs, by seed: while it
// rises, more seeds still bring something new.
//
// # campaign.json
//
// One JSON object with the keys of Campaign in its order, times in nanoseconds,
// lists never null.
package result

import (
	"pestle/campaign/rate"
	"pestle/checker"
	"pestle/reports"
)

// Schema is the version of campaign.json's format.
const Schema = 1

// Name is the file's name in a campaign's directory.
const Name = "campaign.json"

// Ended says why a campaign ran no further seed.
type Ended string

// Values of an Ended.
const (
	EndedDone        Ended = "done"        // every seed asked for has its record
	EndedBudget      Ended = "budget"      // the time was up
	EndedFinding     Ended = "finding"     // the first failure was all that was wanted
	EndedInterrupted Ended = "interrupted" // somebody stopped it
)

// Campaign is campaign.json.
type Campaign struct {
	Schema   int             `json:"schema"`
	Status   reports.Outcome `json:"status"`    // the worst over all runs: fail, harness-error, inconclusive, pass
	ExitCode int             `json:"exit_code"` // 1, 2, 3 or 0, in that order
	Reason   string          `json:"reason"`    // why the status is not pass; "" for a pass
	Command  string          `json:"command"`   // the line that goes on with it, or repeats it elsewhere
	Started  string          `json:"started"`   // UTC, of the last start
	Ended    Ended           `json:"ended"`

	From     uint64   `json:"from"`     // first seed of each scenario
	Seeds    uint64   `json:"seeds"`    // asked for, of each scenario
	Settings []string `json:"settings"` // overridden keys of the scenarios, path=value

	Runs      Outcomes   `json:"runs"`      // over all scenarios
	Scenarios []Scenario `json:"scenarios"` // in the order given

	Findings      []Finding `json:"findings"`       // most runs first
	Inconclusive  []Reason  `json:"inconclusive"`   // most runs first
	HarnessErrors []Reason  `json:"harness_errors"` // most runs first; divergences among them

	Cover        Cover        `json:"cover"`
	Recoveries   []Recovery   `json:"slowest_recoveries"` // slowest first, one of a run, at most MaxRecoveries
	NotExercised NotExercised `json:"not_exercised"`
	Bound        Bound        `json:"bound"`
	Determinism  Determinism  `json:"determinism"`

	Throughput  Throughput          `json:"throughput"`
	Environment reports.Environment `json:"environment"`
}

// Outcomes counts runs by what they amount to.
type Outcomes struct {
	Done         int64 `json:"done"` // the sum of the others
	Passed       int64 `json:"pass"`
	Failed       int64 `json:"fail"`
	Inconclusive int64 `json:"inconclusive"`
	HarnessError int64 `json:"harness_error"`
}

// Scenario is one scenario of the campaign, over its seeds.
type Scenario struct {
	Name       string     `json:"name"`
	File       string     `json:"file"`  // as given
	World      string     `json:"world"` // sim or process
	Runs       Outcomes   `json:"runs"`
	Properties []Property `json:"properties"` // in catalog order
}

// Property counts the verdicts on one property. Runs that failed of the harness
// are not among them.
type Property struct {
	Slug          string        `json:"slug"`
	Class         checker.Class `json:"class"`
	Required      bool          `json:"required"` // its failure is a finding
	Passed        int64         `json:"pass"`
	Failed        int64         `json:"fail"`
	Inconclusive  int64         `json:"inconclusive"`
	NotApplicable int64         `json:"not_applicable"`
}

// Finding is one distinct failure.
type Finding struct {
	Fingerprint string        `json:"fingerprint"` // 8 hex digits, of property and cause
	Property    string        `json:"property"`    // slug
	Class       checker.Class `json:"class"`
	Cause       string        `json:"cause"`

	Rate     rate.Rate `json:"rate"`      // of runs filed under it, over all judged runs
	PerWhere []Where   `json:"scenarios"` // where it was met, in the order of the scenarios
	AlsoSeen []Symptom `json:"also_seen"` // what else these runs show, most runs first

	First    Example `json:"first"`           // lowest seed that shows it, of the first scenario that has it
	Shortest Example `json:"shortest"`        // fewest events, or least time where events are not counted; may be First
	Story    *Story  `json:"story,omitempty"` // the smallest reproduction known; absent when there is none
}

// Where is how often a finding was met in one scenario.
type Where struct {
	Scenario string    `json:"scenario"`
	Rate     rate.Rate `json:"rate"`
}

// Symptom is a fingerprint that runs filed under another one show too.
type Symptom struct {
	Property string `json:"property"`
	Cause    string `json:"cause"`
	Runs     int64  `json:"runs"`
	Alone    int64  `json:"alone"`    // of them, without the finding's own
	Scenario string `json:"scenario"` // of the first such run
	Seed     uint64 `json:"seed"`     // of the first such run
}

// Example is one run of a finding.
type Example struct {
	Scenario  string `json:"scenario"`
	Seed      uint64 `json:"seed"`
	PlanHash  string `json:"plan_hash"`
	TraceHash string `json:"trace_hash"` // "" outside sim
	Events    uint64 `json:"events"`     // and effects, in sim; 0 elsewhere
	Elapsed   int64  `json:"elapsed"`    // ns, virtual in sim
	At        int64  `json:"at"`         // ns into the run: when the violation was proven
	Detail    string `json:"detail"`     // the violation in one sentence
	Command   string `json:"command"`    // repeats the run
	Dir       string `json:"dir"`        // its run directory, relative to the campaign's; "" if none is kept
}

// Story is the smallest run that still fails for the same reason.
type Story struct {
	Dir       string `json:"dir"`      // run directory, relative to the campaign's
	Command   string `json:"command"`  // repeats it
	Faults    int    `json:"faults"`   // of the plan
	Messages  int    `json:"messages"` // that its producers send
	TraceHash string `json:"trace_hash"`

	WasFaults   int `json:"was_faults"` // before it was shrunk
	WasMessages int `json:"was_messages"`

	Error string `json:"error,omitempty"` // why it could not be shrunk; the rest is empty then
}

// Reason counts runs that ended for one reason, whatever the numbers in it.
type Reason struct {
	Reason   string `json:"reason"`  // with N for each number
	Example  string `json:"example"` // as the first such run says it
	Runs     int64  `json:"runs"`
	Scenario string `json:"scenario"` // of the first such run
	Seed     uint64 `json:"seed"`     // of the first such run
	Command  string `json:"command"`  // repeats the first such run
}

// Cover is what the runs reached of the broker's named points, and how many
// distinct states they met.
type Cover struct {
	Points  []Point `json:"points"`  // the declared list; empty where no world can see them
	Reached int64   `json:"reached"` // points passed at least once
	Curve   []Step  `json:"curve"`   // of distinct states over runs; see the package comment
}

// Point is one declared point.
type Point struct {
	Name  string `json:"name"`
	When  string `json:"when"`  // one sentence
	Times int64  `json:"times"` // passed, over all runs
	Runs  int64  `json:"runs"`  // that passed it
}

// Step is one point of the curve.
type Step struct {
	Runs   int64 `json:"runs"`
	States int64 `json:"states"`
}

// MaxRecoveries is how many of the slowest recoveries are told.
const MaxRecoveries = 10

// Recovery is the slowest of one run: how long no send was acked after faults
// were over and none was active.
type Recovery struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	Kind     string `json:"kind"` // of the fault that ended last
	Took     int64  `json:"took"` // ns from its end to the next ack
	Command  string `json:"command"`
}

// NotExercised is what no run met, so that its pass says nothing about it.
type NotExercised struct {
	FaultKinds []string `json:"fault_kinds"` // of the catalog, possible in these worlds, that never took effect
	Planned    []string `json:"planned"`     // those of them that some plan had
	Claims     []string `json:"claims"`      // reachability claims
	Points     []string `json:"points"`      // named points of the broker
}

// Bound is what the absence of failures proves: no failure in n runs bounds
// the rate below 3/n, at 95 % confidence.
type Bound struct {
	Runs       int64  `json:"runs"`        // n: runs that passed; 0 where some failed
	PerMillion int64  `json:"per_million"` // 3/n, rounded up; 0 without a bound
	Text       string `json:"text"`        // the same for people
}

// Determinism is how many simulated runs were repeated to compare their traces.
type Determinism struct {
	Repeated int64 `json:"repeated"` // every failing run, and 5 % of the passing ones
	Diverged int64 `json:"diverged"` // each is a harness error
}

// Throughput is how fast the seeds went, over the last start of the campaign.
type Throughput struct {
	Workers   int   `json:"workers"`
	Runs      int64 `json:"runs"`            // done since the last start
	Elapsed   int64 `json:"elapsed"`         // ns since the last start, without the stories of findings
	PerMinute int64 `json:"runs_per_minute"` //
	Events    int64 `json:"events"`          // events and effects of all runs, in sim
	Simulated int64 `json:"simulated"`       // virtual ns of all runs, in sim
	Worked    int64 `json:"worked"`          // ns that workers spent on all runs
}
