package checker

import (
	"fmt"
	"slices"

	"pestle/history"
)

// consume judges one message handed to a consumer; malformed says that its
// body was damaged.
func (c *Checker) consume(e history.Event, malformed bool) error {
	s, by, err := c.reader(e)
	switch {
	case err != nil:
		return err
	case e.Pos == "" && !malformed:
		return fmt.Errorf("a consumed message needs a position")
	case e.Attempts > 0 && e.Sum == "" && !malformed:
		return fmt.Errorf("a message consumed live needs a checksum")
	}
	c.claims.consumed(by, e)
	c.flow.consumed(by, e)
	m := c.reach(e.ID)
	switch {
	case m == nil && malformed:
		c.phantoms.found(phantomBody, e)
	case m == nil && c.named(e.ID) && c.early.hold(e):
	case m == nil:
		c.phantoms.found(phantomID, e)
	default:
		c.judgeConsume(m, s, by, e, malformed)
	}
	return nil
}

// judgeConsume judges the consume of a message that was attempted.
func (c *Checker) judgeConsume(m *message, s *stream, by *consumer, e history.Event, malformed bool) {
	if m.topic != s.topic {
		c.phantoms.found(phantomTopic, e)
		return
	}
	c.phantoms.consumed++
	if malformed {
		c.corruption.malformed(m, e)
	} else {
		c.corruption.consumed(m, e)
	}
	c.arrive(m, s, by, e)
}

// named reports that a producer of the plan may yet attempt the id.
func (c *Checker) named(id string) bool {
	name, _, ok := parseID(id)
	return ok && c.producerByName[name] != nil
}

// arrive notes a delivery of m on s and has it judged.
func (c *Checker) arrive(m *message, s *stream, by *consumer, e history.Event) {
	position := fingerprint(e.Pos)
	conn := by.over(c.brokers.of(e.Target))
	first := !m.arrivals[s.slot].consumed
	isNew, allowed := c.guarantee.appeared(m, position, e)
	if isNew {
		c.claims.newPosition(m)
	}
	if allowed || len(m.positions) < maxPositions {
		d := m.delivered(position, s.index)
		d.consumes++
		d.brokers = d.brokers.with(conn.broker)
		if allowed {
			c.guarantee.delivered(m, d, s, e, !first)
		}
		c.holding.consumed(m, d, s, conn, e, first)
	}
	if e.Attempts > 0 { // else it is rebuilt: over what it came, and when, is lost
		c.finality.consumed(m, s, conn, position, e)
		conn.delivered(m, e.T)
	}
	if first {
		c.ordering.firstConsume(m, s, e)
	} else {
		c.claims.duplicates++
	}
	c.consuming.consumed(m, s, e, first)
	if first {
		m.arrivals[s.slot].consumed = true
		m.missing--
	}
	c.complete(m)
}

// finish notes that a consumer is about to confirm a position. The target may
// never hear of it, or forget it in a crash, and deliver again.
func (c *Checker) finish(e history.Event) error {
	s, by, err := c.reader(e)
	if err == nil {
		c.finality.finished(s, by, by.over(c.brokers.of(e.Target)), e)
	}
	return err
}

// requeue notes that a consumer gave a position back, or that it forgot it: so
// or so it has to come again.
func (c *Checker) requeue(e history.Event) error {
	s, by, err := c.reader(e)
	if err != nil {
		return err
	}
	m, position := c.reach(e.ID), fingerprint(e.Pos)
	if m != nil && m.topic == s.topic && slices.Contains(m.positions, position) {
		d := m.delivered(position, s.index)
		d.requeues++
		if e.Defer > 0 {
			d.back = givenBack{by: by, broker: c.brokers.of(e.Target), at: e.T, due: e.T + e.Defer}
		}
		m.arrivals[s.slot].stored = false // it was then; where it is now must be seen anew
		c.loss.givenBack(m)
	}
	return nil // otherwise its consume was a phantom, or is lost
}

// reader returns the stream and the consumer of a consumer's line.
func (c *Checker) reader(e history.Event) (*stream, *consumer, error) {
	s := c.streamNamed(e.Topic, e.Channel)
	if s == nil {
		return nil, nil, fmt.Errorf("the plan has no channel %s/%s", e.Topic, e.Channel)
	}
	if e.Consumer != "" && e.Consumer != e.Src {
		return nil, nil, fmt.Errorf("it names the consumer %s", e.Consumer)
	}
	if by := c.consumerByName[e.Src]; by != nil {
		for _, own := range by.streams {
			if own == s {
				return s, by, nil
			}
		}
	}
	return nil, nil, fmt.Errorf("the plan has no consumer %s on %s", e.Src, s)
}

// reach returns the message of an id, which it opens again when it was folded,
// or nil when the id was never attempted.
func (c *Checker) reach(id string) *message {
	name, counter, ok := parseID(id)
	if !ok {
		return nil
	}
	p := c.producerByName[name]
	if p == nil {
		return nil
	}
	if m := p.open[counter]; m != nil {
		return m
	}
	facts, topic := p.facts(counter)
	if topic < 0 {
		return nil
	}
	return c.reopen(p, counter, c.topics[topic], facts)
}

// reopen makes a message of the facts that were left of it. It stays open: it
// is one of those that are delivered more than once.
func (c *Checker) reopen(p *producer, counter uint64, t *topic, facts foldedFacts) *message {
	p.unfold(counter)
	m := c.recycled()
	m.messageID = messageID{producer: p, counter: counter}
	m.topic = t
	m.reopened, m.covered = true, true
	m.sumPrint = facts.sum
	m.acked = 1
	m.tries = append(m.tries, try{at: c.origin + int64(facts.sent)*sentUnit, outcome: acked})
	for _, s := range t.streams {
		m.arrivals = append(m.arrivals, arrival{consumed: true})
		m.positions = append(m.positions[:0], facts.position)
		d := m.delivered(facts.position, s.index)
		d.consumes, d.brokers = 1, brokerSet(0).with(facts.broker)
	}
	p.open[counter] = m
	return m
}
