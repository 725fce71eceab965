package workload

import (
	"fmt"

	"pestle/history"
)

// Contradiction says that a state file and the history of the same process
// cannot both be true: the harness itself is broken. Lines count from 1; 0
// means that the file has no such line.
type Contradiction struct {
	StateLine   int
	HistoryLine int
	Text        string
}

// Error tells what contradicts what.
func (c *Contradiction) Error() string {
	return fmt.Sprintf("state line %d and history line %d: %s", c.StateLine, c.HistoryLine, c.Text)
}

// MissingFromProducer compares a producer's state lines with the events of its
// own history and returns the events that history lacks, because the process
// was killed between the two writes. Seq, Src and T are the writer's to fill
// in: an event that is written late is only ever believed later than it was.
// A *Contradiction is a harness error.
func MissingFromProducer(cfg ProducerConfig, state []ProducerLine, events []history.Event) ([]history.Event, error) {
	tries := make(map[ID]int)
	rebuild := func(l ProducerLine) history.Event {
		if l.Ack {
			return history.Event{Ev: history.Ack, ID: l.ID.String(), Try: tries[l.ID], Topic: cfg.Topic}
		}
		tries[l.ID]++
		m := cfg.message(l.ID)
		return history.Event{Ev: history.Attempt, ID: l.ID.String(), Try: tries[l.ID], Topic: cfg.Topic,
			Size: len(m.Payload), Sum: m.Sum().String(), Defer: cfg.deferral(l.ID)}
	}
	return missing(state, events, rebuild,
		func(e history.Event) bool { return e.Ev == history.Attempt || e.Ev == history.Ack },
		func(want, have history.Event) bool {
			return want.Ev == have.Ev && want.ID == have.ID && want.Try == have.Try
		})
}

// MissingFromConsumer does the same for a consumer. A rebuilt event says which
// message was seen at which position; attempts, size and sum are lost.
func MissingFromConsumer(cfg ConsumerConfig, state []ConsumerLine, events []history.Event) ([]history.Event, error) {
	rebuild := func(l ConsumerLine) history.Event {
		return history.Event{Ev: history.Consume, ID: l.ID.String(), Topic: cfg.Topic, Channel: cfg.Channel,
			Consumer: cfg.Name, Pos: l.Position}
	}
	return missing(state, events, rebuild,
		func(e history.Event) bool { return e.Ev == history.Consume },
		func(want, have history.Event) bool { return want.ID == have.ID && want.Pos == have.Pos })
}

// missing pairs the state lines with the recorded events in order: each event
// has a state line, and the state lines left over are what history lacks.
func missing[Line any](state []Line, events []history.Event, rebuild func(Line) history.Event,
	recorded func(history.Event) bool, same func(want, have history.Event) bool) ([]history.Event, error) {
	next := 0
	for i, have := range events {
		if !recorded(have) {
			continue
		}
		if next == len(state) {
			return nil, &Contradiction{HistoryLine: i + 1,
				Text: fmt.Sprintf("%s of %s has no state line, though state is always written first", have.Ev, have.ID)}
		}
		want := rebuild(state[next])
		next++
		if !same(want, have) {
			return nil, &Contradiction{StateLine: next, HistoryLine: i + 1,
				Text: fmt.Sprintf("state says %s, history says %s", describe(want), describe(have))}
		}
	}
	var lacking []history.Event
	for _, line := range state[next:] {
		e := rebuild(line)
		e.Text = "rebuilt from the state file"
		lacking = append(lacking, e, history.Event{Ev: history.Note, What: history.NoteReplayed, ID: e.ID})
	}
	return lacking, nil
}

func describe(e history.Event) string {
	if e.Ev == history.Consume {
		return fmt.Sprintf("%s of %s at %s", e.Ev, e.ID, e.Pos)
	}
	return fmt.Sprintf("%s of %s, try %d", e.Ev, e.ID, e.Try)
}

// Incarnations returns how many incarnations of a process its own history
// tells of.
func Incarnations(events []history.Event) int {
	n := 0
	for _, e := range events {
		if e.Ev == history.Note && e.What == history.NoteStarted {
			n++
		}
	}
	return n
}
