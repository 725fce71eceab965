package conductor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"time"

	"pestle/faults"
	"pestle/history"
)

// boot starts the target, makes its topic and channels, and starts the
// workload.
func (c *Conductor) boot(ctx context.Context) error {
	if err := c.enter(history.PhaseBoot); err != nil {
		return err
	}
	if err := c.bootBrokers(ctx); err != nil {
		return err
	}
	topic := c.Plan.Workload.Topic
	if err := c.insist(ctx, "make topic "+topic, func(n *node) error { return n.createTopic(ctx, topic) }); err != nil {
		return err
	}
	if !c.Plan.Workload.ConsumeAfterChaos {
		// Every channel exists before the first message. With late consumers
		// the topic keeps its messages to itself, for the first channel made.
		for _, consumer := range c.Plan.Workload.Consumers {
			what := fmt.Sprintf("make channel %s of topic %s", consumer.Channel, topic)
			if err := c.insist(ctx, what, func(n *node) error { return n.createChannel(ctx, topic, consumer.Channel) }); err != nil {
				return err
			}
		}
		if err := c.startAll(ctx, faults.Consumer); err != nil {
			return err
		}
	}
	return c.startAll(ctx, faults.Producer)
}

// bootBrokers starts the brokers, or finds the one that runs already.
func (c *Conductor) bootBrokers(ctx context.Context) error {
	if n := c.nodes[0]; n.external() && n.call(ctx, http.MethodGet, "/ping", nil, nil) != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the target does not answer on http://%s/ping; start it, or correct target.http", n.Call)
	}
	if err := c.startAll(ctx, faults.Broker); err != nil {
		return err
	}
	c.version = c.nodes[0].version(ctx)
	return nil
}

// insist makes a call to one broker after another until one of them has done
// it: a cluster that is electing refuses what it does a moment later. What is
// wrong with the call itself no broker does.
func (c *Conductor) insist(ctx context.Context, what string, call func(*node) error) error {
	var last error
	err := c.wait(ctx, bootWithin, "", func() bool {
		for _, n := range c.members(true) {
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
func (c *Conductor) startAll(ctx context.Context, role faults.Role) error {
	var starting []*process
	for _, p := range c.processes {
		if p.Role == role && !p.spare() {
			if err := c.start(p); err != nil {
				return err
			}
			starting = append(starting, p)
		}
	}
	what := "the workload does not begin"
	if role == faults.Broker {
		what = "the brokers are not ready"
	}
	return c.wait(ctx, bootWithin, what, func() bool {
		return !slices.ContainsFunc(starting, func(p *process) bool { return !p.ready })
	})
}

// warmUp waits for the plan's floor of acks. Missing it is no harness error:
// the run goes on to its end and is inconclusive.
func (c *Conductor) warmUp(ctx context.Context) (bool, error) {
	if err := c.enter(history.PhaseWarmUp); err != nil {
		return false, err
	}
	err := c.wait(ctx, time.Duration(c.Plan.Phases.WarmUpWithin), "", func() bool {
		return c.inbox.acks >= c.Plan.Phases.WarmUpAcks
	})
	var slow *late
	if errors.As(err, &slow) {
		return false, nil
	}
	return err == nil, err
}

// chaos carries out the plan's faults, keeps the quiet windows, and heals
// what is still broken at the end.
func (c *Conductor) chaos(ctx context.Context) error {
	if err := c.enter(history.PhaseChaos); err != nil {
		return err
	}
	p := c.Plan.Phases
	c.chaosBegan = c.lastTick // when the phase line was stamped
	c.scheduler = faults.New(c.programme.faults, p.Quiet, p.Chaos)
	for _, quiet := range p.Quiet {
		if err := c.until(ctx, quiet.From); err != nil {
			return err
		}
		// The plan leaves no fault active here. One that heals late shortens
		// the window, for a window with a fault in it would accuse the target.
		if err := c.healed(ctx); err != nil {
			return err
		}
		if c.sinceChaos() >= quiet.To {
			continue
		}
		if err := c.plannedQuiet(true); err != nil {
			return err
		}
		if err := c.until(ctx, quiet.To); err != nil {
			return err
		}
		if err := c.plannedQuiet(false); err != nil {
			return err
		}
	}
	if err := c.until(ctx, p.Chaos); err != nil {
		return err
	}
	if err := c.endQuiet(); err != nil {
		return err
	}
	if err := c.enter(history.PhaseHeal); err != nil {
		return err
	}
	return c.healed(ctx)
}

// until works the plan's faults off until t after the start of chaos.
func (c *Conductor) until(ctx context.Context, t int64) error {
	bound := time.Duration(t-c.sinceChaos()) + bootWithin
	var failed error
	err := c.wait(ctx, bound, "the timetable stands still", func() bool {
		failed = c.actuate(true)
		return failed != nil || c.sinceChaos() >= t
	})
	return errors.Join(failed, err)
}

// healed waits until every fault that was begun has ended; none begins.
func (c *Conductor) healed(ctx context.Context) error {
	var failed error
	err := c.wait(ctx, bootWithin+actWithin, "the last faults do not heal", func() bool {
		failed = c.actuate(false)
		return failed != nil || len(c.actions) == 0 && c.recovered()
	})
	return errors.Join(failed, err)
}

// drain stops the producers, each after one last message that was acked, and
// waits until every channel has delivered it and holds nothing more.
func (c *Conductor) drain(ctx context.Context) error {
	if err := c.enter(history.PhaseDrain); err != nil {
		return err
	}
	if c.Plan.Workload.ConsumeAfterChaos {
		if err := c.startAll(ctx, faults.Consumer); err != nil {
			return err
		}
	}
	c.sentinels = newSentinels(c.Plan.Workload)
	began := c.awake()
	bound := time.Duration(c.Plan.Phases.DrainWithin)
	for _, p := range c.processes {
		if p.Role == faults.Producer {
			if err := c.Host.Tell(p.Name, "drain"); err != nil {
				return err
			}
		}
	}
	err := c.wait(ctx, bound, "", c.sentinels.sent)
	if err == nil {
		err = c.empty(ctx, bound-(c.awake()-began))
	}
	var slow *late
	if errors.As(err, &slow) {
		return nil // the checker sees that the drain was not proven
	}
	return err
}

// verify ends the workload and the target in order and waits until the last
// line is read.
func (c *Conductor) verify(ctx context.Context) error {
	if err := c.enter(history.PhaseVerify); err != nil {
		return err
	}
	if err := c.inspect(ctx); err != nil {
		return err
	}
	if err := c.end(ctx, func(p *process) bool { return p.Role != faults.Broker }); err != nil {
		return err
	}
	return c.end(ctx, func(p *process) bool { return p.Role == faults.Broker })
}

// end stops some of the processes in order.
func (c *Conductor) end(ctx context.Context, which func(*process) bool) error {
	var ending []*process
	for _, p := range c.processes {
		if p.running && which(p) {
			if err := c.askToEnd(p, syscall.SIGTERM); err != nil {
				return err
			}
			ending = append(ending, p)
		}
	}
	return c.wait(ctx, stopWithin, "processes do not stop when asked to", func() bool {
		return !slices.ContainsFunc(ending, func(p *process) bool { return p.running })
	})
}
