package fleet

import (
	"context"
	"fmt"
	"path/filepath"

	"pestle/campaign"
	"pestle/campaign/result"
	"pestle/reports"
)

// stories keeps the first and the shortest run of each finding, so that people
// can look at them.
func (f *fleet) stories(ctx context.Context) error {
	var wanted []job
	for _, finding := range f.summarize().Findings {
		for _, e := range []result.Example{finding.First, finding.Shortest} {
			i := f.place(e.Scenario)
			r := &f.records[f.runs[run{e.Scenario, e.Seed}]]
			if r.Dir != "" || f.Scenarios[i].World != campaign.WorldSim {
				continue
			}
			dir := runDir(e.Scenario, e.Seed)
			r.Dir = dir
			if !f.kept(dir, e) {
				wanted = append(wanted, job{Scenario: i, Seed: e.Seed, Command: e.Command, Keep: dir, Trace: e.TraceHash})
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	f.show("keep the runs of the findings")
	return f.crew(ctx, 1, func(give func(job) bool) {
		for _, j := range wanted {
			if !give(j) {
				return
			}
		}
	}, func(j job, again result.Record) (bool, error) {
		if again.Outcome == reports.HarnessError {
			if again.Dir == "" { // the worker was lost
				return false, fmt.Errorf("keep the run of %s, seed %d: %s", again.Scenario, again.Seed, again.Error)
			}
			f.records[f.runs[run{again.Scenario, again.Seed}]] = again
		}
		return true, nil
	})
}

// kept tells whether a run directory holds that run, from a campaign that was
// interrupted later.
func (f *fleet) kept(dir string, e result.Example) bool {
	v, err := reports.ReadVerdict(filepath.Join(f.setup.Dir, dir))
	return err == nil && v.TraceHash == e.TraceHash && v.PlanHash == e.PlanHash
}
