package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"pestle/faults"
	"pestle/history"
)

// boot starts the target, makes its topic and channels, and starts the
// workload.
func (w *World) boot(ctx context.Context) error {
	if err := w.enter(history.PhaseBoot); err != nil {
		return err
	}
	if err := w.bootBrokers(ctx); err != nil {
		return err
	}
	topic := w.Plan.Workload.Topic
	if err := w.insist(ctx, "make topic "+topic, func(n *node) error { return n.createTopic(ctx, topic) }); err != nil {
		return err
	}
	if !w.Plan.Workload.ConsumeAfterChaos {
		// Every channel exists before the first message. With late consumers
		// the topic keeps its messages to itself, for the first channel made.
		for _, c := range w.Plan.Workload.Consumers {
			what := fmt.Sprintf("make channel %s of topic %s", c.Channel, topic)
			if err := w.insist(ctx, what, func(n *node) error { return n.createChannel(ctx, topic, c.Channel) }); err != nil {
				return err
			}
		}
		if err := w.startAll(ctx, roleConsumer); err != nil {
			return err
		}
	}
	return w.startAll(ctx, roleProducer)
}

// bootBrokers starts the brokers, or finds the one that runs already.
func (w *World) bootBrokers(ctx context.Context) error {
	if n := w.nodes[0]; n.external() && !n.ready(ctx) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the target does not answer on http://%s/ping; start it, or correct target.http", n.http)
	}
	if err := w.startAll(ctx, roleBroker); err != nil {
		return err
	}
	w.version = w.nodes[0].version(ctx)
	return nil
}

// insist makes a call to one broker after another until one of them has done
// it: a cluster that is electing refuses what it does a moment later. What is
// wrong with the call itself no broker does.
func (w *World) insist(ctx context.Context, what string, call func(*node) error) error {
	var last error
	err := w.wait(ctx, bootWithin, "", func() bool {
		for _, n := range w.members(true) {
			last = call(n)
			var refused *statusError
			if last == nil || errors.As(last, &refused) && refused.code < http.StatusInternalServerError {
				return true
			}
		}
		return false
	})
	var slow *late
	if errors.As(err, &slow) {
		err = nil // the last refusal says more
	}
	if err = errors.Join(err, last); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// startAll starts every process of a role and waits until they have begun.
func (w *World) startAll(ctx context.Context, role role) error {
	var starting []*child
	for _, c := range w.children {
		if c.role == role && !c.spare() {
			if err := w.start(c); err != nil {
				return err
			}
			starting = append(starting, c)
		}
	}
	what := "the workload does not begin"
	if role == roleBroker {
		what = "the brokers are not ready"
	}
	return w.wait(ctx, bootWithin, what, func() bool {
		for _, c := range starting {
			if !c.ready {
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
