package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"pestle/checker"
	"pestle/reports"
)

// Record is what one run amounts to: one line of results.ndjson.
type Record struct {
	Scenario string          `json:"scenario"`
	Seed     uint64          `json:"seed"`
	Outcome  reports.Outcome `json:"outcome"`
	Missing  []string        `json:"missing,omitempty"` // inconclusive: what was, each a clause
	Error    string          `json:"error,omitempty"`   // harness-error: what broke
	Diverged bool            `json:"diverged,omitempty"`
	Repeated bool            `json:"repeated,omitempty"` // sim: it was run twice

	PlanHash  string `json:"plan_hash,omitempty"`
	TraceHash string `json:"trace_hash,omitempty"` // sim
	Events    uint64 `json:"events,omitempty"`     // and effects, in sim
	Elapsed   int64  `json:"elapsed,omitempty"`    // ns, virtual in sim
	Worked    int64  `json:"worked"`               // ns it took the worker

	// NotPassed are the properties of another status than pass; it is nil, and
	// Judged false, when no verdict was reached.
	Judged     bool                      `json:"judged"`
	NotPassed  map[string]checker.Status `json:"not_passed,omitempty"`
	Violations []Violation               `json:"violations,omitempty"` // of required properties: the first of each fingerprint, the earliest first

	Faults   []FaultCount `json:"faults,omitempty"` // of the plan, by kind
	Points   []PointCount `json:"points,omitempty"` // that were passed
	Claims   []string     `json:"claims,omitempty"` // that were reached
	Recovery *Slowest     `json:"recovery,omitempty"`

	Dir string `json:"dir,omitempty"` // run directory, relative to the campaign's; "" where none is kept
}

// Violation is the first one of a fingerprint in a run.
type Violation struct {
	Property string `json:"property"`
	Cause    string `json:"cause"`
	At       int64  `json:"at"` // ns into the run
	Detail   string `json:"detail"`
}

// FaultCount says what became of a plan's faults of one kind.
type FaultCount struct {
	Kind      string `json:"kind"`
	Planned   int64  `json:"planned"`
	Effective int64  `json:"effective"`
}

// PointCount says how often a run passed a point.
type PointCount struct {
	Name  string `json:"name"`
	Times int64  `json:"times"`
}

// Slowest is the slowest recovery of a run.
type Slowest struct {
	Kind string `json:"kind"`
	Took int64  `json:"took"` // ns
}

// MaxRecord is the longest line of a record, in bytes.
const MaxRecord = 1 << 20

// AppendRecord appends r as one line with its newline.
func AppendRecord(dst []byte, r Record) ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return dst, fmt.Errorf("encode the record of %s, seed %d: %w", r.Scenario, r.Seed, err)
	}
	if len(line) >= MaxRecord {
		return dst, fmt.Errorf("the record of %s, seed %d has %d bytes; the longest is %d", r.Scenario, r.Seed, len(line), MaxRecord)
	}
	return append(append(dst, line...), '\n'), nil
}

// ParseRecord reads one line, with or without its newline. The error says what
// is wrong; the caller adds file and line number.
func ParseRecord(line []byte) (Record, error) {
	if len(line) > MaxRecord {
		return Record{}, fmt.Errorf("a record of %d bytes; the longest is %d", len(line), MaxRecord)
	}
	var r Record
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Record{}, fmt.Errorf("record: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Record{}, fmt.Errorf("record: more than one object")
	}
	switch r.Outcome {
	case reports.Passed, reports.Failed, reports.Inconclusive, reports.HarnessError:
	default:
		return Record{}, fmt.Errorf("record of %s, seed %d: there is no outcome %q", r.Scenario, r.Seed, r.Outcome)
	}
	if r.Outcome == reports.Failed && len(r.Violations) == 0 {
		return Record{}, fmt.Errorf("record of %s, seed %d: it failed without a violation", r.Scenario, r.Seed)
	}
	return r, nil
}
