package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pestle/checker"
	"pestle/history"
	"pestle/reports/page"
)

// VerdictSchema is the version of verdict.json's format.
const VerdictSchema = 1

// maxVerdict bounds a verdict.json that is read, in bytes. Each property keeps
// a bounded number of violations, so that real ones are far below.
const maxVerdict = 64 << 20

// VerdictName is the verdict's file name in a run directory.
const VerdictName = "verdict.json"

// VerdictFile is verdict.json. The package comment tells its keys.
type VerdictFile struct {
	Schema   int     `json:"schema"`
	Status   Outcome `json:"status"`
	ExitCode int     `json:"exit_code"`
	Reason   string  `json:"reason,omitempty"`

	Run          string   `json:"run"`
	Scenario     string   `json:"scenario"`
	Seed         uint64   `json:"seed"`
	PlanHash     string   `json:"plan_hash"`
	World        string   `json:"world"`
	Noise        uint64   `json:"noise"`
	TraceHash    string   `json:"trace_hash,omitempty"`
	Command      string   `json:"command"`
	Started      string   `json:"started"`
	Elapsed      int64    `json:"elapsed"`
	Origin       int64    `json:"origin"`
	Partial      bool     `json:"partial"`
	LeftOut      []string `json:"left_out,omitempty"`
	HarnessError string   `json:"harness_error,omitempty"`

	Totals      Totals             `json:"totals"`
	Faults      map[string]int64   `json:"faults"`
	Failovers   []Failover         `json:"failovers,omitempty"`
	Properties  []checker.Property `json:"properties"`
	Claims      []checker.Claim    `json:"claims"`
	Environment Environment        `json:"environment"`
}

// NewVerdictFile gathers verdict.json. The events are the merged history, in
// order.
func NewVerdictFile(run Run, verdict checker.Verdict, events []history.Event) VerdictFile {
	outcome := run.Outcome(verdict)
	file := VerdictFile{
		Schema:       VerdictSchema,
		Status:       outcome,
		ExitCode:     outcome.ExitCode(),
		Reason:       run.Reason(verdict),
		Run:          run.ID,
		Scenario:     run.Scenario,
		Seed:         run.Seed,
		PlanHash:     run.PlanHash,
		World:        run.World,
		Noise:        run.Noise,
		TraceHash:    run.TraceHash,
		Command:      run.Command,
		Started:      run.Started,
		Elapsed:      run.Elapsed,
		Partial:      run.Partial,
		LeftOut:      run.LeftOut,
		HarnessError: run.HarnessError,
		Totals:       count(events),
		Faults:       effective(events),
		Failovers:    run.Failovers,
		Properties:   make([]checker.Property, len(verdict.Properties)),
		Claims:       append([]checker.Claim{}, verdict.Claims...),
		Environment:  run.Environment,
	}
	if len(events) > 0 {
		file.Origin = events[0].T
	}
	// Readers index into lists and objects: an absent one is empty, not null.
	for i, p := range verdict.Properties {
		if p.Exposure == nil {
			p.Exposure = checker.Exposure{}
		}
		if p.Violations == nil {
			p.Violations = []checker.Violation{}
		}
		file.Properties[i] = p
	}
	return file
}

// Line is the verdict as one JSON object on one line, without its newline.
func (f VerdictFile) Line() ([]byte, error) {
	data, err := f.encode("")
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(data, "\n"), nil
}

// encode keeps <, > and & readable: the file is JSON, not a web page.
func (f VerdictFile) encode(indent string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("encode the verdict of run %s: %w", f.Run, err)
	}
	return buf.Bytes(), nil
}

// WriteVerdict writes verdict.json into the run directory. A reader sees the
// old file or the new one, never a part.
func WriteVerdict(dir string, f VerdictFile) error {
	data, err := f.encode("  ")
	if err != nil {
		return err
	}
	return page.Replace(filepath.Join(dir, VerdictName), data)
}

// ReadVerdict reads verdict.json of a run directory.
func ReadVerdict(dir string) (VerdictFile, error) {
	path := filepath.Join(dir, VerdictName)
	f, err := os.Open(path)
	if err != nil {
		return VerdictFile{}, fmt.Errorf("read the verdict: %w; is %s the directory of a finished run?", err, dir)
	}
	defer func() { _ = f.Close() }() // only read: nothing can be lost
	data, err := io.ReadAll(io.LimitReader(f, maxVerdict+1))
	if err != nil {
		return VerdictFile{}, fmt.Errorf("read the verdict: %w", err)
	}
	verdict, err := decodeVerdict(data)
	if err != nil {
		return VerdictFile{}, fmt.Errorf("read the verdict %s: %w; judge the run again with: pestle check %s", path, err, dir)
	}
	return verdict, nil
}

func decodeVerdict(data []byte) (VerdictFile, error) {
	if len(data) > maxVerdict {
		return VerdictFile{}, fmt.Errorf("it is longer than %s bytes", page.Number(maxVerdict))
	}
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return VerdictFile{}, err
	}
	// Another schema may have any keys: its number is told before they are.
	if head.Schema != VerdictSchema {
		return VerdictFile{}, fmt.Errorf("its schema is %d, this pestle reads %d", head.Schema, VerdictSchema)
	}
	var f VerdictFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return VerdictFile{}, err
	}
	return f, nil
}
