package conductor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pestle/history"
	"pestle/scenarios"
)

// empty waits until each channel has delivered every sentinel and the
// target's own statistics show nothing left, twice in a row, and notes it. Of
// the others it notes what was left when the bound had passed.
func (c *Conductor) empty(ctx context.Context, bound time.Duration) error {
	proof := emptiness{seen: map[string]int{}}
	var next time.Time
	var coming <-chan survey
	var failed error
	err := c.wait(ctx, bound, "", func() bool {
		if coming == nil && time.Now().After(next) {
			coming, next = c.ask(), time.Now().Add(statsEvery)
		}
		select {
		case said := <-coming:
			coming = nil
			for _, channel := range proof.look(said, c.sentinels) {
				failed = errors.Join(failed, c.say(history.Event{Ev: history.Note, What: history.NoteDrained, Topic: said.topic, Channel: channel}))
			}
		default:
		}
		return failed != nil || proof.proven == len(c.sentinels.channels)
	})
	var slow *late
	if errors.As(err, &slow) {
		for _, channel := range c.sentinels.channels {
			if text, left := proof.rest(channel); left {
				failed = errors.Join(failed, c.say(history.Event{Ev: history.Note, What: history.NoteBacklog, Topic: c.Plan.Workload.Topic, Channel: channel, Text: text}))
			}
		}
	}
	return errors.Join(failed, err)
}

// enough is how many surveys in a row prove a channel empty.
const enough = 2

// emptiness follows the surveys of a drain.
type emptiness struct {
	seen   map[string]int   // by channel: surveys in a row that showed nothing left
	proven int              // channels
	left   map[string]int64 // what the leader said last; nil: it never did
}

// look takes the next survey and returns the channels that it proves empty.
// Only the broker that leads knows what is in flight; a survey without one
// says nothing.
func (p *emptiness) look(s survey, sent *sentinels) (proven []string) {
	lead, known := s.leader()
	left := lead.backlog(s.topic)
	if known {
		p.left = left
	}
	for _, channel := range sent.channels {
		n, told := left[channel]
		switch {
		case p.seen[channel] >= enough:
		case !told || n != 0 || !sent.delivered(channel):
			p.seen[channel] = 0
		default:
			if p.seen[channel]++; p.seen[channel] == enough {
				p.proven++
				proven = append(proven, channel)
			}
		}
	}
	return proven
}

// rest says what is left of a channel, unless it is proven empty.
func (p *emptiness) rest(channel string) (text string, left bool) {
	n, told := p.left[channel]
	switch {
	case p.seen[channel] >= enough:
		return "", false
	case p.left == nil:
		return "no broker that leads the topic gave statistics", true
	case !told:
		return "its leader does not know it", true
	}
	return fmt.Sprintf("%d messages left", n), true
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
