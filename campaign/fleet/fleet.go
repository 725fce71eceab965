package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pestle/broker/plant"
	"pestle/campaign"
	"pestle/campaign/result"
	"pestle/reports"
	"pestle/reports/overview"
	"pestle/scenarios"
)

// MaxSeeds is how many seeds of each scenario a campaign runs at most: their
// records are held in memory.
const MaxSeeds = 1_000_000

// Options say what to run, and how.
type Options struct {
	Scenarios    []Source                           // each of another name
	Settings     []string                           // overridden keys of the scenarios, path=value
	From, Seeds  uint64                             // first seed, and how many, of each scenario
	Parallel     int                                // workers, at least 1
	Budget       time.Duration                      // what is still running then is left; 0: no bound
	UntilFinding bool                               // stop at the first failing run
	Shrink       time.Duration                      // CPU time to spend on making each finding small; 0: none is made small
	Dir          string                             // the campaign's
	Worker       []string                           // command that calls Work: program and arguments
	Command      string                             // goes on with the campaign, for the reports
	Reproduce    func(s Source, seed uint64) string // the line that repeats a run

	Progress func(Progress)                       // called after each run, and every second; nil: not
	Failed   func(v result.Violation, how string) // called for the first violation of each fingerprint, with the line that repeats its run; nil: not

	within time.Duration // tests: bound of every run; 0: from its timetable
}

// Progress is how far a campaign is.
type Progress struct {
	Done, Total  int64         // runs, with those that were done before
	Now          int64         // runs done since the start,
	Elapsed      time.Duration // in this time
	Failed       int64
	Fingerprints int    // that failing runs have shown
	Doing        string // what is done once no more seeds are run; "" until then
	Detail       string // how far that is
}

// ErrScenarios means that what is asked for is no campaign, or none for this
// build of Pestle.
var ErrScenarios = errors.New("these scenarios cannot be run")

// Run carries a campaign out, or goes on with it, and writes campaign.json and
// report.html. An error means that it could not go on, with the records until
// then in place; it is ErrScenarios or ErrInUse when it could not begin. That the
// context ends is no error: the campaign is interrupted then.
func Run(ctx context.Context, o Options) (c result.Campaign, err error) {
	f, err := newFleet(o)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, f.ledger.close()) }()
	if err := f.seeds(ctx); err != nil {
		return c, err
	}
	f.elapsed = time.Since(f.began)
	if f.ended != result.EndedInterrupted {
		if err := f.stories(ctx); err != nil {
			return c, err
		}
	}
	c = f.summarize()
	if err := result.Write(f.Dir, c); err != nil {
		return c, err
	}
	return c, overview.Write(f.Dir, c)
}

// fleet is a campaign that is being carried out.
type fleet struct {
	Options
	setup  setup
	asked  []result.Asked
	bounds []time.Duration // of one run, by scenario
	ledger *ledger

	records  []result.Record
	runs     map[run]int // index of its record
	began    time.Time
	elapsed  time.Duration // of the seeds
	progress Progress
	shown    map[[2]string]bool       // fingerprints, as property and cause
	smallest map[string]*result.Story // by fingerprint, as findings write it
	ended    result.Ended
}

// run is one that was asked for.
type run struct {
	scenario string
	seed     uint64
}

func newFleet(o Options) (*fleet, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", o.Dir, err)
	}
	f := &fleet{
		Options: o, began: time.Now(), runs: map[run]int{},
		shown: map[[2]string]bool{}, smallest: map[string]*result.Story{},
		setup: setup{Scenarios: o.Scenarios, Settings: o.Settings, Dir: dir},
	}
	id := identity{Schema: recordSchema, Pestle: campaign.Version(), Settings: append([]string{}, o.Settings...)}
	names := map[string]bool{}
	for _, s := range o.Scenarios {
		if names[s.Name] {
			return nil, fmt.Errorf("%w: two are named %s, and their runs would be too: give one another name", ErrScenarios, s.Name)
		}
		names[s.Name] = true
		if err := f.ask(s); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrScenarios, err)
		}
		id.Scenarios = append(id.Scenarios, sameScenario{Name: s.Name, World: s.World, Text: hashOf([]byte(s.Text))})
	}
	binary, err := os.ReadFile(o.Worker[0])
	if err != nil {
		return nil, fmt.Errorf("read Pestle's own binary: %w", err)
	}
	id.Binary = hashOf(binary)
	var had []result.Record
	if f.ledger, had, err = openLedger(f.Dir, id); err != nil {
		return nil, err
	}
	f.progress.Total = int64(o.Seeds) * int64(len(o.Scenarios))
	for _, r := range had {
		f.take(r)
	}
	return f, nil
}

// ask looks at a scenario's first plan, for what the plans have in common.
func (f *fleet) ask(s Source) error {
	scenario, err := scenarios.Parse(s.File, []byte(s.Text), f.Settings)
	if err != nil {
		return err
	}
	plan, err := scenarios.Expand(scenario, f.From)
	if err != nil {
		return err
	}
	if err := plan.RunsIn(s.World); err != nil {
		return fmt.Errorf("%s: %w", s.File, err)
	}
	if _, err := plant.Find(plan.Target.Plant); err != nil {
		return fmt.Errorf("%s: %w", s.File, err)
	}
	f.asked = append(f.asked, result.Asked{Name: s.Name, File: s.File, World: s.World, Required: plan.Properties})
	within := f.within
	if within == 0 {
		within = bound(plan.Phases)
	}
	f.bounds = append(f.bounds, within)
	return nil
}

// bound is how long a worker may take for one run: as long as the timetable of
// a real one at most, and as long again as a world waits for what is not in it.
// Simulated runs are far faster, also when they are repeated.
func bound(p scenarios.Phases) time.Duration {
	const beside = 2 * time.Minute // boot, faults that heal late, an orderly end
	return time.Duration(p.WarmUpWithin+p.Chaos+p.DrainWithin) + beside
}

// seeds runs every seed that has no record yet.
func (f *fleet) seeds(ctx context.Context) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if f.Budget > 0 {
		limited, cancel = context.WithTimeout(ctx, f.Budget)
	}
	defer cancel()
	if f.UntilFinding && f.progress.Failed > 0 {
		f.ended = result.EndedFinding
		return nil
	}
	err := f.crew(limited, f.Parallel, f.jobs, func(_ job, r result.Record) (bool, error) {
		if err := f.ledger.add(r); err != nil {
			return false, err
		}
		f.take(r)
		f.progress.Now++
		return !f.UntilFinding || r.Outcome != reports.Failed, nil
	})
	switch {
	case err != nil:
		return err
	case f.progress.Done == f.progress.Total:
		f.ended = result.EndedDone
	case ctx.Err() != nil:
		f.ended = result.EndedInterrupted
	case limited.Err() != nil:
		f.ended = result.EndedBudget
	default:
		f.ended = result.EndedFinding
	}
	return nil
}

// jobs hands out the runs that have no record, each seed of every scenario
// before the next seed.
func (f *fleet) jobs(give func(job) bool) {
	known := make(map[run]bool, len(f.runs))
	for r := range f.runs {
		known[r] = true
	}
	for n := range f.Seeds {
		for i, s := range f.Scenarios {
			seed := f.From + n
			if known[run{s.Name, seed}] {
				continue
			}
			j := job{Scenario: i, Seed: seed, Command: f.Reproduce(s, seed)}
			if s.World != campaign.WorldSim {
				j.Keep = runDir(s.Name, seed)
			}
			if !give(j) {
				return
			}
		}
	}
}

// runDir is where a run is kept, relative to the campaign's directory.
func runDir(scenario string, seed uint64) string {
	return filepath.Join("runs", fmt.Sprintf("%s-%d", scenario, seed))
}

// take counts a record. Those of seeds that are not asked for this time, and
// second ones, do not count.
func (f *fleet) take(r result.Record) {
	at := run{r.Scenario, r.Seed}
	if _, twice := f.runs[at]; twice || r.Seed < f.From || r.Seed-f.From >= f.Seeds {
		return
	}
	f.runs[at] = len(f.records)
	f.records = append(f.records, r)
	f.progress.Done++
	if r.Outcome != reports.Failed {
		return
	}
	f.progress.Failed++
	for _, v := range r.Violations {
		fingerprint := [2]string{v.Property, v.Cause}
		if f.shown[fingerprint] {
			continue
		}
		f.shown[fingerprint] = true
		f.progress.Fingerprints++
		if f.Failed != nil {
			f.Failed(v, f.reproduce(f.place(r.Scenario), r.Seed))
		}
	}
}

// place is the index of a scenario.
func (f *fleet) place(name string) int {
	return slices.IndexFunc(f.Scenarios, func(s Source) bool { return s.Name == name })
}

func (f *fleet) reproduce(scenario int, seed uint64) string {
	return f.Reproduce(f.Scenarios[scenario], seed)
}

func (f *fleet) show(doing, detail string) {
	f.progress.Elapsed, f.progress.Doing, f.progress.Detail = time.Since(f.began), doing, detail
	if f.Progress != nil {
		f.Progress(f.progress)
	}
}

func (f *fleet) summarize() result.Campaign {
	c := result.Summarize(result.About{
		Command: f.Command, Started: f.began.UTC().Format(time.RFC3339), Ended: f.ended,
		From: f.From, Seeds: f.Seeds, Settings: f.Settings, Scenarios: f.asked, Reproduce: f.reproduce,
		Throughput:  result.Throughput{Workers: f.Parallel, Runs: f.progress.Now, Elapsed: int64(f.elapsed)},
		Environment: campaign.Environment(),
	}, f.records)
	for i := range c.Findings {
		c.Findings[i].Story = f.smallest[c.Findings[i].Fingerprint]
	}
	return c
}
