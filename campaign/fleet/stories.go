package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pestle/campaign"
	"pestle/campaign/result"
	"pestle/campaign/shrink"
	"pestle/reports"
)

// stories makes of each finding what people can look at: run directories of the
// first and the shortest run, and of the smallest that fails for the same reason.
func (f *fleet) stories(ctx context.Context) error {
	if err := f.keep(ctx); err != nil {
		return err
	}
	if f.Shrink == 0 {
		return nil
	}
	findings := f.summarize().Findings
	for i, finding := range findings {
		if ctx.Err() != nil {
			return nil
		}
		if f.Scenarios[f.place(finding.Shortest.Scenario)].World != campaign.WorldSim {
			continue // hours of real runs: pestle shrink does it when it is worth them
		}
		doing := fmt.Sprintf("shrink finding %d of %d, %s", i+1, len(findings), finding.Property)
		f.smallest[finding.Fingerprint] = f.shrinkOne(ctx, finding, doing)
	}
	return nil
}

// keep carries the first and the shortest run of each finding out again, with
// run directories.
func (f *fleet) keep(ctx context.Context) error {
	var wanted []job
	for _, finding := range f.summarize().Findings {
		for _, e := range []result.Example{finding.First, finding.Shortest} {
			j := job{
				Scenario: f.place(e.Scenario), Seed: e.Seed, Command: e.Command,
				Keep: runDir(e.Scenario, e.Seed), Trace: e.TraceHash,
			}
			switch r := f.record(e.Scenario, e.Seed); {
			case r.Dir != "" || f.Scenarios[j.Scenario].World != campaign.WorldSim || slices.Contains(wanted, j):
			case f.kept(e, j.Keep):
				r.Dir = j.Keep
			default:
				wanted = append(wanted, j)
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	f.show("keep the runs of the findings", "")
	return f.crew(ctx, 1, func(give func(job) bool) {
		for _, j := range wanted {
			if !give(j) {
				return
			}
		}
	}, func(j job, again result.Record) (bool, error) {
		switch r := f.record(again.Scenario, again.Seed); {
		case again.Diverged:
			*r = again
		case again.Outcome == reports.HarnessError:
			return false, fmt.Errorf("keep the run of %s, seed %d: %s", again.Scenario, again.Seed, again.Error)
		default:
			r.Dir = j.Keep
		}
		return true, nil
	})
}

func (f *fleet) record(scenario string, seed uint64) *result.Record {
	return &f.records[f.runs[run{scenario, seed}]]
}

// kept tells whether a run directory holds that run, from a campaign that was
// interrupted later.
func (f *fleet) kept(e result.Example, dir string) bool {
	v, err := reports.ReadVerdict(filepath.Join(f.Dir, dir))
	return err == nil && v.TraceHash == e.TraceHash && v.PlanHash == e.PlanHash
}

// shrinkOne makes the shortest run of a finding as small as it gets. That it
// cannot is told with the finding: the campaign is over all the same.
func (f *fleet) shrinkOne(ctx context.Context, finding result.Finding, doing string) *result.Story {
	from := finding.Shortest.Dir
	to := from + "-shrunk"
	out := filepath.Join(f.Dir, to)
	want := shrink.Fingerprint{Property: finding.Property, Cause: finding.Cause}
	report, done := shrunk(out, finding)
	if !done {
		if err := os.RemoveAll(out); err != nil {
			return &result.Story{Error: fmt.Sprintf("remove what is left of an earlier try: %v", err)}
		}
		f.show(doing, "")
		small, err := shrink.Run(ctx, shrink.RunOptions{
			Run: filepath.Join(f.Dir, from), Out: out, Want: want, CPU: f.Shrink,
			Progress: func(p shrink.Progress) {
				f.show(doing, fmt.Sprintf("%d faults and %d messages after %d runs", p.Best.Faults, p.Best.Messages, p.Runs))
			},
		})
		if err != nil {
			return &result.Story{Error: err.Error()}
		}
		report = small.Report
	}
	return &result.Story{
		Dir: to, Command: report.Command, TraceHash: report.TraceHash,
		Faults: report.After.Faults, Messages: report.After.Messages,
		WasFaults: report.Before.Faults, WasMessages: report.Before.Messages,
	}
}

// shrunk reads what shrinking left in a directory, if it came to its end there
// with this finding.
func shrunk(dir string, finding result.Finding) (r shrink.Report, done bool) {
	text, err := os.ReadFile(filepath.Join(dir, shrink.ReportName))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return r, false
	}
	return r, r.Schema == shrink.ReportSchema && r.Property == finding.Property && r.Cause == finding.Cause
}
