package process

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
)

// boot starts the target, makes its topic and channels, and starts the
// workload.
func (w *World) boot(ctx context.Context) error {
	if err := w.enter(history.PhaseBoot); err != nil {
		return err
	}
	if broker := w.child(brokerName); broker != nil {
		if err := w.start(broker); err != nil {
			return err
		}
		if err := w.wait(ctx, bootWithin, brokerName+" is not ready", func() bool { return broker.ready }); err != nil {
			return err
		}
	} else if !w.target.ready(ctx) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the target does not answer on http://%s/ping; start it, or correct target.http", w.target.http)
	}
	w.version = w.target.version(ctx)
	if err := w.target.createTopic(ctx, w.Plan.Workload.Topic); err != nil {
		return fmt.Errorf("make topic %s: %w", w.Plan.Workload.Topic, err)
	}
	if !w.Plan.Workload.ConsumeAfterChaos {
		// Every channel exists before the first message. With late consumers
		// the topic keeps its messages to itself, for the first channel made.
		for _, c := range w.Plan.Workload.Consumers {
			if err := w.target.createChannel(ctx, w.Plan.Workload.Topic, c.Channel); err != nil {
				return fmt.Errorf("make channel %s of topic %s: %w", c.Channel, w.Plan.Workload.Topic, err)
			}
		}
		if err := w.startAll(ctx, roleConsumer); err != nil {
			return err
		}
	}
	return w.startAll(ctx, roleProducer)
}

// startAll starts every process of a role and waits until they have begun.
func (w *World) startAll(ctx context.Context, role role) error {
	for _, c := range w.children {
		if c.role == role {
			if err := w.start(c); err != nil {
				return err
			}
		}
	}
	return w.wait(ctx, bootWithin, "the workload does not begin", func() bool {
		for _, c := range w.children {
			if c.role == role && !c.ready {
				return false
			}
		}
		return true
	})
}

// warmUp waits for the plan's floor of acks. Missing it is no harness error:
// the run goes on to its end and is inconclusive.
func (w *World) warmUp(ctx context.Context) (bool, error) {
	if err := w.enter(history.PhaseWarmUp); err != nil {
		return false, err
	}
	err := w.wait(ctx, time.Duration(w.Plan.Phases.WarmUpWithin), "", func() bool {
		return w.inbox.acks >= w.Plan.Phases.WarmUpAcks
	})
	var slow *late
	if errors.As(err, &slow) {
		return false, nil
	}
	return err == nil, err
}

// chaos carries out the plan's faults, keeps the quiet windows, and heals
// what is still broken at the end.
func (w *World) chaos(ctx context.Context) error {
	if err := w.enter(history.PhaseChaos); err != nil {
		return err
	}
	p := w.Plan.Phases
	w.chaosBegan = w.lastTick // when the phase line was stamped
	w.scheduler = faults.New(w.Plan.Faults, p.Quiet, p.Chaos)
	for _, quiet := range p.Quiet {
		if err := w.until(ctx, quiet.From); err != nil {
			return err
		}
		// The plan leaves no fault active here. One that heals late shortens
		// the window, for a window with a fault in it would accuse the target.
		if err := w.healed(ctx); err != nil {
			return err
		}
		if w.sinceChaos() >= quiet.To {
			continue
		}
		if err := w.enter(history.PhaseQuiet); err != nil {
			return err
		}
		if err := w.until(ctx, quiet.To); err != nil {
			return err
		}
		if err := w.enter(history.PhaseQuietEnd); err != nil {
			return err
		}
	}
	if err := w.until(ctx, p.Chaos); err != nil {
		return err
	}
	if err := w.enter(history.PhaseHeal); err != nil {
		return err
	}
	return w.healed(ctx)
}

// until works the plan's faults off until t after the start of chaos.
func (w *World) until(ctx context.Context, t int64) error {
	bound := time.Duration(t-w.sinceChaos()) + bootWithin
	var failed error
	err := w.wait(ctx, bound, "the timetable stands still", func() bool {
		failed = w.actuate(true)
		return failed != nil || w.sinceChaos() >= t
	})
	return errors.Join(failed, err)
}

// healed waits until every fault that was begun has ended; none begins.
func (w *World) healed(ctx context.Context) error {
	var failed error
	err := w.wait(ctx, bootWithin+stopWithin, "the last faults do not heal", func() bool {
		failed = w.actuate(false)
		return failed != nil || len(w.actions) == 0
	})
	return errors.Join(failed, err)
}

// drain stops the producers, each after one last message that was acked, and
// waits until every channel has delivered it and holds nothing more.
func (w *World) drain(ctx context.Context) error {
	if err := w.enter(history.PhaseDrain); err != nil {
		return err
	}
	if w.Plan.Workload.ConsumeAfterChaos {
		if err := w.startAll(ctx, roleConsumer); err != nil {
			return err
		}
	}
	w.sentinels = newSentinels(w.Plan.Workload)
	began := time.Now()
	bound := time.Duration(w.Plan.Phases.DrainWithin)
	for _, c := range w.children {
		if c.role == roleProducer {
			if err := c.tell("drain"); err != nil {
				return err
			}
		}
	}
	err := w.wait(ctx, bound, "", w.sentinels.sent)
	if err == nil {
		err = w.empty(ctx, bound-time.Since(began))
	}
	var slow *late
	if errors.As(err, &slow) {
		return nil // the checker sees that the drain was not proven
	}
	return err
}

// empty waits until each channel has delivered every sentinel and the
// target's own statistics show nothing left, twice in a row, and notes it.
func (w *World) empty(ctx context.Context, bound time.Duration) error {
	s := w.sentinels
	topic := w.Plan.Workload.Topic
	seen := map[string]int{}
	noted := map[string]bool{}
	var next time.Time
	var failed error
	err := w.wait(ctx, bound, "", func() bool {
		if time.Now().Before(next) {
			return false
		}
		next = time.Now().Add(statsEvery)
		left, err := w.target.backlog(ctx, topic)
		if err != nil {
			return false // a target that does not answer has not drained
		}
		for _, channel := range s.channels {
			n, known := left[channel]
			if !known || n != 0 || !s.delivered(channel) {
				seen[channel] = 0
				continue
			}
			if seen[channel]++; seen[channel] >= 2 && !noted[channel] {
				noted[channel] = true
				failed = errors.Join(failed, w.note(history.Event{Ev: history.Note, What: history.NoteDrained, Topic: topic, Channel: channel}))
			}
		}
		return failed != nil || len(noted) == len(s.channels)
	})
	return errors.Join(failed, err)
}

// verify ends the workload and the target in order and waits until the last
// line is read.
func (w *World) verify(ctx context.Context) error {
	if err := w.enter(history.PhaseVerify); err != nil {
		return err
	}
	if err := w.end(ctx, func(c *child) bool { return c.role != roleBroker }); err != nil {
		return err
	}
	return w.end(ctx, func(c *child) bool { return c.role == roleBroker })
}

// end stops some of the processes in order.
func (w *World) end(ctx context.Context, which func(*child) bool) error {
	var ending []*child
	for _, c := range w.children {
		if c.running() && which(c) {
			if err := c.askTo(syscall.SIGTERM); err != nil {
				return err
			}
			ending = append(ending, c)
		}
	}
	return w.wait(ctx, stopWithin, "processes do not stop when asked to", func() bool {
		for _, c := range ending {
			if c.running() {
				return false
			}
		}
		return true
	})
}

// sentinels follows the producers' last messages through the raw streams.
type sentinels struct {
	channels  []string
	producers int
	ids       map[string]bool
	consumed  map[string]map[string]bool // channel → id
}

func newSentinels(load scenarios.Workload) *sentinels {
	s := &sentinels{producers: len(load.Producers), ids: map[string]bool{}, consumed: map[string]map[string]bool{}}
	for _, c := range load.Consumers {
		if s.consumed[c.Channel] == nil {
			s.consumed[c.Channel] = map[string]bool{}
			s.channels = append(s.channels, c.Channel)
		}
	}
	return s
}

func (s *sentinels) observe(e history.Event) {
	switch {
	case e.Ev == history.Note && e.What == history.NoteSentinel:
		s.ids[e.ID] = true
	case e.Ev == history.Consume && s.consumed[e.Channel] != nil:
		s.consumed[e.Channel][e.ID] = true
	}
}

func (s *sentinels) sent() bool { return len(s.ids) >= s.producers }

func (s *sentinels) delivered(channel string) bool {
	for id := range s.ids {
		if !s.consumed[channel][id] {
			return false
		}
	}
	return true
}
