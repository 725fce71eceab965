package composer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"pestle/checker"
	"pestle/history/stream"
	"pestle/reports"
	"pestle/reports/sdk"
)

// conclude ends the test and judges it. Both terminal commands do so: only one
// of them runs in a timeline.
func (g *stage) conclude(ctx context.Context) error {
	done, err := g.drain(ctx)
	if err != nil {
		return err
	}
	if err := g.assertions.Hit(drained, done, map[string]any{"within": g.Drain.String()}); err != nil {
		return err
	}
	verdict, err := g.judge()
	if err != nil {
		return err
	}
	var found error
	for _, p := range verdict.Properties {
		if p.Status == checker.Fail {
			found = errors.Join(found, fmt.Errorf("%w of %s (%d): %s", ErrViolation, p.Slug, p.Total, p.Violations[0].Detail))
		}
	}
	if found == nil && !done {
		found = fmt.Errorf("%w: not everything was consumed within %v of the end of faults", ErrViolation, g.Drain)
	}
	return found
}

// judge has the checker read every history, and writes down what it says.
func (g *stage) judge() (checker.Verdict, error) {
	config, err := g.config()
	if err != nil {
		return checker.Verdict{}, err
	}
	events, err := stream.ReadDir(g.State)
	if err != nil {
		return checker.Verdict{}, err
	}
	check := checker.New(config)
	for _, e := range events {
		if err := check.Observe(e); err != nil {
			return checker.Verdict{}, err
		}
	}
	verdict := check.Verdict()
	run := reports.Run{
		ID: "composer", Scenario: "composer", World: "composer", Started: time.Now().UTC().Format(time.RFC3339),
		Environment: reports.Environment{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Pestle: g.Release},
	}
	if len(events) > 0 {
		run.Elapsed = events[len(events)-1].T - events[0].T
	}
	if err := reports.WriteVerdict(g.State, reports.NewVerdictFile(run, verdict, events)); err != nil {
		return verdict, err
	}
	return verdict, g.assert(verdict)
}

// assert writes the verdict as assertions.
func (g *stage) assert(v checker.Verdict) error {
	var errs []error
	sdk.Judged(
		func(a sdk.Assertion) { errs = append(errs, g.assertions.Declare(a)) },
		func(a sdk.Assertion, holds bool, details any) {
			errs = append(errs, g.assertions.Hit(a, holds, details))
		}, v.Properties, v.Claims)
	return errors.Join(errs...)
}

// config is what the checker has to know. Nobody tells which faults there were,
// so that progress under faults is not judged, and a property that wants to have
// met one stays inconclusive; what is judged holds under any fault but that of a
// clock.
func (g *stage) config() (checker.Config, error) {
	names, err := g.names()
	if err != nil {
		return checker.Config{}, err
	}
	const unseen = "the faults are not told: no quiet window is known"
	c := checker.Config{
		Order: checker.OrderPartition, MaxTries: workload().Tries, MsgTimeout: int64(msgTimeout),
		Ready: map[string]int{},
		Unpromised: map[string]string{
			checker.ProducerProgress: unseen, checker.ConsumerProgress: unseen,
		},
		Required: []string{
			checker.NoDataCorruption, checker.NoPhantomMessages, checker.NoDataLoss, checker.DeliveryGuarantee, checker.Drain,
		},
	}
	readers := map[string][]string{}
	for _, name := range names {
		w, err := g.read(name)
		if err != nil {
			return c, err
		}
		for _, consumer := range w.Consumers {
			readers[consumer.Channel] = append(readers[consumer.Channel], name)
			c.Ready[name] = consumer.InFlight
		}
		for range w.Producers {
			c.Producers = append(c.Producers, name)
		}
	}
	for _, channel := range channels() {
		c.Streams = append(c.Streams, checker.Stream{Topic: topic, Channel: channel, Consumers: readers[channel]})
	}
	return c, nil
}
