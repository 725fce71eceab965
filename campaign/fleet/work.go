package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"pestle/campaign"
	"pestle/campaign/result"
	"pestle/reports"
	"pestle/scenarios"
)

// Work is the worker: it takes jobs from in and answers them on out until in
// ends. program is Pestle's own binary, which runs in the process world start.
func Work(ctx context.Context, in io.Reader, out io.Writer, program string) error {
	lines := bufio.NewReader(in)
	var s setup
	if err := line(lines, &s); err != nil {
		return fmt.Errorf("campaign worker: read the scenarios: %w; workers are started by pestle campaign", err)
	}
	b := bench{setup: s, program: program}
	if err := b.prepare(); err != nil {
		return send(out, answer{Error: err.Error()})
	}
	if err := send(out, answer{Ready: true}); err != nil {
		return err
	}
	for {
		var j job
		if err := line(lines, &j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("campaign worker: read a job: %w", err)
		}
		a := answer{}
		record, err := b.run(ctx, j)
		if err != nil {
			a.Error = err.Error()
		} else {
			a.Record = &record
		}
		if err := send(out, a); err != nil {
			return err
		}
	}
}

// bench is what a worker works with.
type bench struct {
	setup
	program string
	parsed  []scenarios.Scenario
}

func (b *bench) prepare() error {
	for _, source := range b.Scenarios {
		s, err := scenarios.Parse(source.File, []byte(source.Text), b.Settings)
		if err != nil {
			return err
		}
		b.parsed = append(b.parsed, s)
		if source.World == campaign.WorldSim {
			// A simulated run is one goroutine, and the collector beside it
			// would take the CPU of another worker.
			runtime.GOMAXPROCS(1)
		}
	}
	return nil
}

// run does one job. An error is for the whole campaign; what breaks one run is
// in its record.
func (b *bench) run(ctx context.Context, j job) (result.Record, error) {
	if j.Scenario < 0 || j.Scenario >= len(b.parsed) {
		return result.Record{}, fmt.Errorf("campaign worker: a job for scenario %d of %d", j.Scenario, len(b.parsed))
	}
	began := time.Now()
	plan, err := scenarios.Expand(b.parsed[j.Scenario], j.Seed)
	if err != nil {
		return result.Record{}, err
	}
	var r result.Record
	switch {
	case j.Keep != "" && b.Scenarios[j.Scenario].World == campaign.WorldSim:
		r, err = b.keep(ctx, plan, j)
	case b.Scenarios[j.Scenario].World == campaign.WorldSim:
		r = simulate(plan)
	default:
		r, err = b.carryOut(ctx, plan, j)
	}
	r.Scenario, r.Seed, r.PlanHash = plan.Scenario, plan.Seed, plan.Hash()
	r.Worked = int64(time.Since(began))
	return r, err
}

// keep carries a simulated run out again, with a run directory.
func (b *bench) keep(ctx context.Context, plan scenarios.Plan, j job) (result.Record, error) {
	carried, err := b.inDir(ctx, plan, j, campaign.WorldSim)
	if err != nil {
		return result.Record{}, err
	}
	if got := carried.Run.TraceHash; got != j.Trace {
		return result.Record{
			Outcome: reports.HarnessError, Diverged: true, Dir: j.Keep,
			Error: fmt.Sprintf("the run has the trace %s, and had %s when it was judged: it is not deterministic", got, j.Trace),
		}, nil
	}
	return result.Record{Outcome: carried.Outcome, TraceHash: j.Trace, Dir: j.Keep}, nil
}

// inDir carries a run out in its directory under the campaign's. One that is
// there already was left by a worker that did not get to its end.
func (b *bench) inDir(ctx context.Context, plan scenarios.Plan, j job, world string) (campaign.Result, error) {
	dir := filepath.Join(b.Dir, j.Keep)
	if err := os.RemoveAll(dir); err != nil {
		return campaign.Result{}, fmt.Errorf("remove what is left of a run that did not end: %w", err)
	}
	return campaign.Run(ctx, plan, campaign.Options{World: world, Dir: dir, Command: j.Command, Program: b.program})
}

// carryOut runs a plan in the process world.
func (b *bench) carryOut(ctx context.Context, plan scenarios.Plan, j job) (result.Record, error) {
	carried, err := b.inDir(ctx, plan, j, b.Scenarios[j.Scenario].World)
	if err != nil {
		return result.Record{}, err
	}
	if ctx.Err() != nil {
		return result.Record{}, fmt.Errorf("interrupted: %w", ctx.Err())
	}
	var w watch
	if err := w.history(filepath.Join(b.Dir, j.Keep)); err != nil && carried.Outcome != reports.HarnessError {
		return result.Record{}, err
	}
	r := judged(carried.Verdict, carried.Run, plan, &w)
	r.Elapsed, r.Dir = carried.Run.Elapsed, j.Keep
	return r, nil
}
