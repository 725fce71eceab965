package shrink

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"pestle/campaign"
)

// Names of the files that shrinking adds to the run directory of its result.
const (
	ReportName   = "shrink.json"
	SequenceName = "sequence.txt"
	OthersName   = "others" // a folder of run directories: 1, 2, …
)

// ReportSchema is the version of shrink.json's format.
const ReportSchema = 1

// Report is shrink.json: how the run directory came to be.
//
//	schema        ReportSchema
//	run           the run directory that was shrunk, as it was named
//	property      slug of the property that fails
//	cause         why, in the checker's words
//	detail        its first violation in the smallest run, in one sentence
//	plan_hash     of the smallest plan
//	noise         under which it fails
//	trace_hash    of that run; absent outside sim
//	command       the line that repeats it
//	before,after  faults, messages, producers and consumers; messages are those sent
//	runs          carried out while searching
//	candidates    plans tried
//	repeated      plans that came up again and were not run again
//	cpu           ns spent
//	complete      the search came to its end; else its time did
//	others        other failures met on the way
//	broken        runs that were failures of the harness
//	broken_first  the first of them; absent without any
type Report struct {
	Schema      int           `json:"schema"`
	Run         string        `json:"run"`
	Property    string        `json:"property"`
	Cause       string        `json:"cause"`
	Detail      string        `json:"detail"`
	PlanHash    string        `json:"plan_hash"`
	Noise       uint64        `json:"noise"`
	TraceHash   string        `json:"trace_hash,omitempty"`
	Command     string        `json:"command"`
	Before      Size          `json:"before"`
	After       Size          `json:"after"`
	Runs        int           `json:"runs"`
	Candidates  int           `json:"candidates"`
	Repeated    int           `json:"repeated"`
	CPU         int64         `json:"cpu"`
	Complete    bool          `json:"complete"`
	Others      []ReportOther `json:"others"`
	Broken      int           `json:"broken"`
	BrokenFirst string        `json:"broken_first,omitempty"`
}

// ReportOther is a failure met on the way.
type ReportOther struct {
	Property string `json:"property"`
	Cause    string `json:"cause"`
	Detail   string `json:"detail"`
	Dir      string `json:"dir,omitempty"` // its run directory, relative to the report's; absent outside sim, where it need not fail again
}

func newReport(run, command, world string, r Result) Report {
	report := Report{
		Schema: ReportSchema, Run: run,
		Property: r.Symptom.Property, Cause: r.Symptom.Cause, Detail: r.Symptom.Violation.Detail,
		PlanHash: r.Plan.Hash(), Noise: r.Noise, TraceHash: r.TraceHash, Command: command,
		Before: r.Before, After: r.After,
		Runs: r.Runs, Candidates: r.Candidates, Repeated: r.Repeated, CPU: int64(r.CPU), Complete: r.Complete,
		Others: []ReportOther{}, Broken: r.Broken, BrokenFirst: r.BrokenFirst,
	}
	for i, o := range r.Others {
		other := ReportOther{Property: o.Property, Cause: o.Cause, Detail: o.Violation.Detail}
		if world == campaign.WorldSim {
			other.Dir = filepath.Join(OthersName, fmt.Sprint(i+1))
		}
		report.Others = append(report.Others, other)
	}
	return report
}

// Line is the report as one JSON object on one line, without its newline.
func (r Report) Line() ([]byte, error) {
	data, err := encode(r, "")
	return bytes.TrimRight(data, "\n"), err
}

func (r Report) write(dir string) error {
	data, err := encode(r, "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ReportName), data, 0o644); err != nil {
		return fmt.Errorf("write what shrinking did: %w", err)
	}
	return nil
}

// encode keeps <, > and & readable: the files are JSON, not web pages.
func encode(v any, indent string) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return buf.Bytes(), nil
}

// Tell writes for people what was found; dir is the run directory as they named
// it.
func (s Shrunk) Tell(out io.Writer, dir string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", s.Symptom.Fingerprint, s.Symptom.Violation.Detail)
	fmt.Fprintf(&b, "  faults     %5d → %d\n", s.Before.Faults, s.After.Faults)
	fmt.Fprintf(&b, "  messages   %5d → %d\n", s.Before.Messages, s.After.Messages)
	fmt.Fprintf(&b, "  producers  %5d → %d\n", s.Before.Producers, s.After.Producers)
	fmt.Fprintf(&b, "  consumers  %5d → %d\n\n", s.Before.Consumers, s.After.Consumers)
	fmt.Fprintf(&b, "%d candidates in %d runs, %.1f s of CPU", s.Candidates, s.Runs, s.CPU.Seconds())
	if !s.Complete {
		b.WriteString("; the time was up before nothing more could be left out")
	}
	b.WriteString("\n")
	for i, o := range s.Report.Others {
		fmt.Fprintf(&b, "another failure met on the way: %s", s.Others[i].Fingerprint)
		if o.Dir != "" {
			fmt.Fprintf(&b, ", in %s", filepath.Join(dir, o.Dir))
		}
		b.WriteByte('\n')
	}
	if s.Broken > 0 {
		fmt.Fprintf(&b, "the harness failed of %d runs, first: %s\n", s.Broken, s.BrokenFirst)
	}
	if s.TraceHash != "" {
		fmt.Fprintf(&b, "noise %d, trace %s\n", s.Noise, s.TraceHash)
	}
	fmt.Fprintf(&b, "diagram    %s\nrepeat     %s\n", filepath.Join(dir, SequenceName), s.Report.Command)
	_, err := io.WriteString(out, b.String())
	return err
}
