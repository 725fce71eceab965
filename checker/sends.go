package checker

import (
	"fmt"

	"pestle/history"
)

// attempt opens a message or adds a try to it.
func (c *Checker) attempt(e history.Event) error {
	p, counter, err := c.ownID(e)
	if err != nil {
		return err
	}
	m, tries := p.open[counter], 0
	if m != nil {
		tries = len(m.tries)
	}
	_, folded := p.facts(counter)
	switch {
	case folded >= 0:
		return fmt.Errorf("%s was acked before", e.ID)
	case e.Topic == "":
		return fmt.Errorf("an attempt needs a topic")
	case e.Try != 0 && e.Try != tries+1:
		return fmt.Errorf("try %d cannot follow try %d", e.Try, tries)
	case c.cfg.MaxTries > 0 && tries == c.cfg.MaxTries:
		return fmt.Errorf("try %d, but the plan allows %d", tries+1, tries)
	case m == nil:
		m = c.newMessage(p, counter, e)
	default:
		if err := retryable(m, e); err != nil {
			return err
		}
		if m.sum == "" {
			m.size, m.sum = e.Size, e.Sum
		}
		c.claims.retried++
		c.guarantee.retries++
	}
	m.tries = append(m.tries, try{at: e.T})
	p.openTries++
	p.sentinel = 0 // a producer that sends has not sent its last
	c.producing.attempted(m)
	for _, consumed := range c.early.take(e.ID) {
		c.judgeConsume(m, c.streamNamed(consumed.Topic, consumed.Channel), c.consumerByName[consumed.Src], consumed, false)
	}
	return nil
}

// newMessage opens the message of an id that was never attempted before.
func (c *Checker) newMessage(p *producer, counter uint64, e history.Event) *message {
	m := c.recycled()
	m.messageID = messageID{producer: p, counter: counter}
	m.topic = c.topicNamed(e.Topic)
	m.size, m.sum = e.Size, e.Sum
	m.deferral = e.Defer
	for range m.topic.streams {
		m.arrivals = append(m.arrivals, arrival{})
	}
	m.missing = len(m.topic.streams)
	p.open[counter] = m
	return m
}

// retryable checks that another try of m can have been started.
func retryable(m *message, e history.Event) error {
	switch {
	case m.acked > 0:
		return fmt.Errorf("%s was acked before", e.ID)
	case m.gaveUp:
		return fmt.Errorf("%s was given up before", e.ID)
	case m.tries[len(m.tries)-1].outcome == open:
		return fmt.Errorf("try %d has no outcome yet", len(m.tries))
	case m.topic.name != e.Topic:
		return fmt.Errorf("its topic was %q and is %q", m.topic.name, e.Topic)
	case m.deferral != e.Defer:
		return fmt.Errorf("its deferral was %d ns and is %d ns", m.deferral, e.Defer)
	case m.sum != "" && e.Sum != "" && (m.sum != e.Sum || m.size != e.Size):
		return fmt.Errorf("its content was %d bytes, checksum %.16q, and is %d bytes, checksum %.16q", m.size, m.sum, e.Size, e.Sum)
	}
	return nil
}

// ended notes how a try ended. An unknown try may still turn out acked or
// failed.
func (c *Checker) ended(e history.Event, how outcome) error {
	p, counter, err := c.ownID(e)
	if err != nil {
		return err
	}
	m := p.open[counter]
	if m == nil || m.reopened {
		if _, topic := p.facts(counter); topic >= 0 || m != nil {
			return fmt.Errorf("%s was acked before", e.ID)
		}
		return fmt.Errorf("%s was never attempted", e.ID)
	}
	number := e.Try
	if number == 0 { // a line rebuilt from a state file
		number = len(m.tries)
	}
	if number < 0 || number > len(m.tries) {
		return fmt.Errorf("try %d was never started", number)
	}
	if e.Topic != "" && e.Topic != m.topic.name {
		return fmt.Errorf("it was sent to topic %q, not %q", m.topic.name, e.Topic)
	}
	t := &m.tries[number-1]
	switch {
	case t.outcome == open:
		p.openTries = max(p.openTries-1, 0)
	case t.outcome == unknown && how != unknown:
		m.unknown--
	default:
		return fmt.Errorf("try %d had its outcome before", number)
	}
	t.outcome = how
	switch how {
	case acked:
		c.acked(m, t)
	case failed:
		m.failed++
		c.guarantee.failedTry(m, e)
	case unknown:
		m.unknown++
	}
	return nil
}

func (c *Checker) acked(m *message, t *try) {
	m.acked++
	if !c.chaos {
		c.acksBeforeChaos++
	}
	c.producing.ackedTry(m, t.at)
	if m.acked > 1 {
		return
	}
	m.ackedAt = c.now
	c.loss.acked++
	c.consuming.ackedLate(m)
	c.waiting.push(m)
	c.complete(m)
}

// complete folds m once nothing but another delivery of it can be judged.
func (c *Checker) complete(m *message) {
	if m.acked == 0 || m.missing > 0 {
		return
	}
	c.waiting.remove(m)
	c.loss.cover(m)
	if m.settled() && m.producer.fold(m, c.origin) {
		c.recycle(m)
	}
}

// ownID takes the id of a producer's line apart.
func (c *Checker) ownID(e history.Event) (*producer, uint64, error) {
	name, counter, ok := parseID(e.ID)
	if !ok {
		return nil, 0, fmt.Errorf("%.80q is no id: want <producer>-<counter>", e.ID)
	}
	p := c.producerByName[name]
	switch {
	case name != e.Src:
		return nil, 0, fmt.Errorf("%s is not an id of %s", e.ID, e.Src)
	case p == nil:
		return nil, 0, fmt.Errorf("the plan has no producer %s", e.Src)
	}
	return p, counter, nil
}

// recycled returns an empty message.
func (c *Checker) recycled() *message {
	m := c.free
	if m == nil {
		return &message{}
	}
	c.free = m.next
	*m = message{tries: m.tries[:0], positions: m.positions[:0], deliveries: m.deliveries[:0], arrivals: m.arrivals[:0]}
	return m
}

func (c *Checker) recycle(m *message) {
	m.next, c.free = c.free, m
}
