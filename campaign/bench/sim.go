// Package bench measures Pestle itself, for docs/performance.md and for people
// who wonder what their machine can do. Its figures are about one machine and
// one moment: compare them only within one run.
package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"pestle/campaign"
	"pestle/checker"
	"pestle/scenarios"
	"pestle/sim"
)

// simScenario is what the simulator is measured with: a minute of a small,
// usual load with a fault now and then, judged like every other run.
const simScenario = `
name: bench-sim
about: A minute of 50 messages/s from two producers to two consumers, with faults.
worlds: [sim]
target: {kind: pestle}
workload:
  topic: orders
  delivery: at-least-once
  producers: {count: 2, rate: 25/s, pending: 4}
  payload: 100..1099
  send: {timeout: 400ms, tries: 4, backoff: 50ms}
  channels:
    - {name: shared, consumers: 2, in_flight: 10}
  msg_timeout: 5s
phases:
  warm_up: {acks: 10, within: 10s}
  chaos: 60s
  quiet: {every: 20s, for: 5s}
  recovery: 2s
  drain: 30s
faults:
  - {kind: kill, target: broker, times: 3, for: 100ms..500ms}
  - {kind: power-loss, target: broker, times: 2, for: 100ms..500ms}
  - {kind: kill, target: consumer, times: 2, for: 100ms..500ms}
properties: [no-data-corruption, no-phantom-messages, no-data-loss]
`

// SimCount is the work of one worker.
type SimCount struct {
	Seeds   int64         `json:"seeds"`
	Steps   uint64        `json:"steps"`  // of ring-0 machines
	Events  uint64        `json:"events"` // in the trace: steps, effects, network and disk
	Virtual int64         `json:"virtual"`
	Took    time.Duration `json:"took"`
}

// CountSim runs and judges seeds, one after another, for a while. None
// may fail: a fast simulator of a broken broker would prove nothing.
func CountSim(first uint64, while time.Duration) (SimCount, error) {
	scenario, err := scenarios.Parse("bench-sim.yaml", []byte(simScenario), nil)
	if err != nil {
		return SimCount{}, err
	}
	var n SimCount
	began := time.Now()
	for seed := first; n.Took < while; seed++ {
		plan, err := scenarios.Expand(scenario, seed)
		if err != nil {
			return n, err
		}
		check := checker.New(campaign.Config(plan, campaign.WorldSim))
		result, err := sim.Run(sim.Options{Plan: plan, Sink: check.Observe})
		if err != nil {
			return n, fmt.Errorf("bench-sim, seed %d: %w", seed, err)
		}
		if v := check.Verdict(); v.Status == checker.Fail {
			return n, fmt.Errorf("bench-sim, seed %d: %s", seed, v.Reason)
		}
		n.Seeds++
		n.Steps += result.Steps
		n.Events += result.Events
		n.Virtual += result.Elapsed
		n.Took = time.Since(began)
	}
	return n, nil
}

// Spread is a figure over several rounds.
type Spread struct{ Min, Median, Max float64 }

// Sim is what the rounds of `pestle bench sim` measured.
type Sim struct {
	Workers      int
	Rounds       int
	StepsPerCore Spread // steps of ring-0 machines, per second of one worker
	EventsPer    Spread // trace events, per second of one worker
	SeedsPerHour Spread // of all workers together
	Speed        Spread // virtual seconds per second of one worker
}

// RunSim measures rounds of so many seconds each with worker processes of
// program, which is run with the arguments args and has to print a SimCount.
func RunSim(ctx context.Context, program string, args []string, workers, rounds int) (Sim, error) {
	out := Sim{Workers: workers, Rounds: rounds}
	var steps, events, seeds, speed []float64
	for range rounds {
		counts, err := round(ctx, program, args, workers)
		if err != nil {
			return out, err
		}
		hourly := 0.0
		for _, c := range counts {
			s := c.Took.Seconds()
			steps = append(steps, float64(c.Steps)/s)
			events = append(events, float64(c.Events)/s)
			speed = append(speed, time.Duration(c.Virtual).Seconds()/s)
			hourly += float64(c.Seeds) / s * 3600
		}
		seeds = append(seeds, hourly)
	}
	out.StepsPerCore, out.EventsPer, out.SeedsPerHour, out.Speed = spread(steps), spread(events), spread(seeds), spread(speed)
	return out, nil
}

// round runs the workers at once, each on one processor.
func round(ctx context.Context, program string, args []string, workers int) ([]SimCount, error) {
	type done struct {
		count SimCount
		err   error
	}
	results := make(chan done)
	for range workers {
		go func() {
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
			cmd.Stderr = os.Stderr
			var d done
			text, err := cmd.Output()
			if err == nil {
				err = json.Unmarshal(text, &d.count)
			}
			if err != nil {
				d.err = fmt.Errorf("bench worker: %w", err)
			}
			results <- d
		}()
	}
	var counts []SimCount
	var failed error
	for range workers {
		d := <-results
		if d.err != nil {
			failed = d.err
		}
		counts = append(counts, d.count)
	}
	return counts, failed
}

func spread(list []float64) Spread {
	slices.Sort(list)
	return Spread{Min: list[0], Median: list[len(list)/2], Max: list[len(list)-1]}
}
