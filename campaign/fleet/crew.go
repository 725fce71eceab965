package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"pestle/campaign/result"
	"pestle/reports"
)

// taken is what became of a job. The error is for the whole campaign.
type taken struct {
	job    job
	record result.Record
	err    error
}

// crew has workers do jobs until there are none left, took wants no more, or
// the context ends. The jobs are handed out in order; took is called in the
// order in which they were done.
func (f *fleet) crew(ctx context.Context, workers int, jobs func(give func(job) bool), took func(job, result.Record) (more bool, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	open, done := make(chan job), make(chan taken)
	go func() {
		defer close(open)
		jobs(func(j job) bool {
			select {
			case open <- j:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	var group sync.WaitGroup
	for n := range workers {
		group.Go(func() { f.workThrough(ctx, n+1, open, done) })
	}
	go func() { group.Wait(); close(done) }()
	return f.collect(cancel, done, took)
}

// collect takes what the workers did until they are gone, and has them go with
// the first error.
func (f *fleet) collect(cancel context.CancelFunc, done <-chan taken, took func(job, result.Record) (bool, error)) error {
	var failed error
	over := false // whatever comes after is no longer wanted
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for {
		select {
		case t, ok := <-done:
			if !ok {
				return failed
			}
			if over {
				continue
			}
			more, err := false, t.err
			if err == nil {
				more, err = took(t.job, t.record)
			}
			if failed = err; !more {
				over = true
				cancel()
			}
		case <-ticks.C:
		}
		if !over {
			f.show(f.progress.Doing, "")
		}
	}
}

// workThrough leads one worker, and its successors when it is lost.
func (f *fleet) workThrough(ctx context.Context, number int, jobs <-chan job, done chan<- taken) {
	// Never unlocked: the thread ends with this function, and a worker that
	// were still there with it.
	runtime.LockOSThread()
	log := filepath.Join(f.setup.Dir, "logs", fmt.Sprintf("worker-%d.log", number))
	var w *worker
	defer func() {
		if w != nil {
			w.close()
		}
	}()
	for j := range jobs {
		if w == nil {
			var err error
			if w, err = start(ctx, f.Worker, log, f.setup); err != nil {
				if ctx.Err() == nil {
					done <- taken{job: j, err: err}
				}
				return
			}
		}
		began := time.Now()
		a, err := w.ask(ctx, j, f.bounds[j.Scenario])
		t := taken{job: j}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errLost):
			w.close()
			w = nil
			t.record = result.Record{
				Scenario: f.Scenarios[j.Scenario].Name, Seed: j.Seed, Outcome: reports.HarnessError,
				Error: err.Error(), Worked: int64(time.Since(began)),
			}
		case err != nil:
			t.err = err
		case a.Record == nil:
			t.err = fmt.Errorf("run %s, seed %d: %s", f.Scenarios[j.Scenario].Name, j.Seed, a.Error)
		default:
			t.record = *a.Record
		}
		done <- t
	}
}
