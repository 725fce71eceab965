package checker

import (
	"fmt"

	"pestle/faults"
	"pestle/history"
)

// phase notes where the run is. Its windows decide about liveness.
func (c *Checker) phase(e history.Event) error {
	switch e.What {
	case history.PhaseQuiet:
		if c.quiet.announced {
			return fmt.Errorf("the quiet window before has not ended")
		}
		c.quiet.announce()
		c.openWindow()
		return nil
	case history.PhaseQuietEnd:
		if !c.quiet.announced {
			return fmt.Errorf("no quiet window has begun")
		}
		if c.quiet.open {
			c.producing.closed()
			c.consuming.closed()
		}
		c.quiet = quietWindow{}
		return nil
	case history.PhaseChaos:
		c.chaos = true
	case history.PhaseDrain:
		c.drain.begin(e.T)
	case history.PhaseVerify:
		c.drain.end(e.T)
	case history.PhaseEnd:
		// An interrupted run ends wherever it is. Its window was cut short and is
		// not judged.
		c.quiet = quietWindow{}
		return nil
	case history.PhaseBoot, history.PhaseWarmUp, history.PhaseHeal:
	default:
		return fmt.Errorf("there is no such phase")
	}
	if c.quiet.announced {
		return fmt.Errorf("the quiet window has not ended")
	}
	return nil
}

func (c *Checker) openWindow() {
	if c.cfg.Recovery > 0 && c.quiet.settle(&c.faults, c.now) {
		c.producing.opened()
		c.consuming.opened()
	}
}

// fault notes that a fault took effect on a process, or was over.
func (c *Checker) fault(e history.Event) error {
	edge := faultEdge{ref: e.Ref, target: e.Target}
	running := c.faults.running[edge]
	broker := c.hit(e)
	p, by := c.producerByName[e.Target], c.consumerByName[e.Target]
	switch {
	case e.What == "" || e.Target == "":
		return fmt.Errorf("a fault needs a kind and a target")
	case e.Edge == history.EdgeEffective && !running:
		c.faults.begin(edge, e.What, broker, e.T)
		c.causesOn(e.Target, broker, (*causes).begin)
		c.claims.faulted(e.What, p, by)
		c.quiet.spoil()
		if ends(e.What) {
			c.gone(e.Target, e.T)
		}
	case e.Edge == history.EdgeEnded && running:
		c.faults.end(edge, e.What, broker, e.T)
		c.causesOn(e.Target, broker, func(to *causes) { to.end(e.T) })
		c.openWindow()
	case running:
		return fmt.Errorf("fault %d on %s took effect before and has not ended", e.Ref, e.Target)
	case e.Edge == history.EdgeEnded:
		return fmt.Errorf("fault %d on %s never took effect", e.Ref, e.Target)
	default:
		return fmt.Errorf("there is no edge %q of a fault", e.Edge)
	}
	return nil
}

// hit returns the broker that a fault is on. One of the network, whatever it is
// on, may come between any two processes.
func (c *Checker) hit(e history.Event) int {
	if classOf(e.What) == faults.OfNetwork {
		return anyBroker
	}
	return c.brokers.of(e.Target)
}

// causesOn does to the causes that a process is to blame for: a consumer for
// those of its streams, a broker for those of what it delivered. Producers
// redeliver nothing.
func (c *Checker) causesOn(process string, broker int, to func(*causes)) {
	if by := c.consumerByName[process]; by != nil {
		for _, s := range by.streams {
			to(&s.causes)
		}
		return
	}
	if c.producerByName[process] == nil {
		to(c.guarantee.brokers.of(broker))
	}
}

// gone notes that a process ended.
func (c *Checker) gone(process string, now int64) {
	if by := c.consumerByName[process]; by != nil {
		by.lost.at(anyBroker, now)
		return
	}
	if c.producerByName[process] == nil {
		broker := c.brokers.of(process)
		c.down.at(broker, now)
		c.finality.wentDown(broker)
	}
}

// note takes the notes that a judgement needs; others are for people.
func (c *Checker) note(e history.Event) error {
	instant := func(to *causes) { to.instant(e.T) }
	switch e.What {
	case history.NoteStarted:
		if p := c.producerByName[e.Src]; p != nil {
			p.openTries = 0
		}
		if by := c.consumerByName[e.Src]; by != nil {
			by.lost.at(anyBroker, e.T)
			by.connections = nil
			if e.Try > 1 {
				c.causesOn(e.Src, anyBroker, instant)
			}
		}
	case history.NoteConnected:
		if by := c.consumerByName[e.Src]; by != nil {
			by.connected(c.brokers.of(e.Target), e.T)
		}
	case history.NoteStopped:
		if by := c.consumerByName[e.Src]; by != nil {
			by.lost.at(anyBroker, e.T)
			c.causesOn(e.Src, anyBroker, instant)
		}
	case history.NoteDisconnected:
		if by := c.consumerByName[e.Src]; by != nil {
			broker := c.brokers.of(e.Target)
			by.lost.at(broker, e.T)
			for _, s := range by.streams {
				instant(s.lost.of(broker))
			}
		}
	case history.NoteExited:
		c.causesOn(e.Target, c.brokers.of(e.Target), instant)
		c.gone(e.Target, e.T)
	case history.NoteForgot:
		return c.requeue(e)
	case history.NoteOverrun:
		_, by, err := c.reader(e)
		if err == nil {
			c.flow.overrun(by, e)
		}
		return err
	case history.NoteMalformed:
		return c.consume(e, true)
	case history.NoteGaveUp:
		return c.noteGaveUp(e)
	case history.NoteSentinel:
		return c.noteSentinel(e)
	case history.NoteDrained:
		s := c.streamNamed(e.Topic, e.Channel)
		if s == nil {
			return fmt.Errorf("the plan has no channel %s/%s", e.Topic, e.Channel)
		}
		c.loss.drained(s, e.T)
		c.drain.empty(s)
	case history.NoteBacklog:
		s := c.streamNamed(e.Topic, e.Channel)
		if s == nil {
			return fmt.Errorf("the plan has no channel %s/%s", e.Topic, e.Channel)
		}
		c.drain.left[s.index] = e.Text
	case history.NoteStored:
		return c.noteStored(e)
	case history.NoteWatched:
		c.inside.watch()
	case history.NoteInvariant:
		c.inside.broken(e)
	}
	return nil
}

func (c *Checker) noteGaveUp(e history.Event) error {
	p, counter, err := c.ownID(e)
	if err != nil {
		return err
	}
	m := p.open[counter]
	if m == nil || m.acked > 0 {
		return fmt.Errorf("%s was acked or never attempted", e.ID)
	}
	m.gaveUp = true
	c.claims.gaveUpAfter(len(m.tries), c.cfg.MaxTries)
	return nil
}

// noteSentinel remembers a producer's last message. It withdraws every proof
// of a drain, which that message was not part of.
func (c *Checker) noteSentinel(e history.Event) error {
	p, counter, err := c.ownID(e)
	if err != nil {
		return err
	}
	_, topic := p.facts(counter)
	if m := p.open[counter]; topic < 0 && (m == nil || m.acked == 0) {
		return fmt.Errorf("%s is not acked", e.ID)
	}
	p.sentinel = counter
	for _, s := range c.streams {
		s.drained = false
	}
	return nil
}

func (c *Checker) noteStored(e history.Event) error {
	s := c.streamNamed(e.Topic, e.Channel)
	if s == nil {
		return fmt.Errorf("the plan has no channel %s/%s", e.Topic, e.Channel)
	}
	name, counter, ok := parseID(e.ID)
	p := c.producerByName[name]
	if !ok || p == nil {
		return nil // nothing that was sent, and nobody has consumed it
	}
	if m := p.open[counter]; m != nil && m.topic == s.topic && !m.arrivals[s.slot].stored {
		m.arrivals[s.slot].stored = true
		c.loss.stored++
	}
	return nil
}
