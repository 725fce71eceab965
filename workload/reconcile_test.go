package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pestle/history"
	"pestle/sim/random"
)

// disk is what survives a kill: the bytes of both files.
type disk struct {
	name    string
	state   []byte
	history []byte
	now     int64
}

// records reads the history back; a torn last line is dropped, as the real
// writer does.
func (d *disk) records(t *testing.T) []history.Event {
	t.Helper()
	d.history = d.history[:WholeLines(d.history)]
	var events []history.Event
	for _, line := range strings.SplitAfter(string(d.history), "\n") {
		if line == "" {
			continue
		}
		e, err := history.ParseLine([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func (d *disk) append(e history.Event) {
	d.now++
	e.Src, e.T = d.name, d.now
	e.Seq = uint64(strings.Count(string(d.history), "\n") + 1)
	d.history = history.AppendLine(d.history, e)
}

// killer lets a number of effects through and then kills in the middle of the
// next: a line is torn, a send never leaves.
type killer struct{ left int }

var errKilled = errors.New("killed")

func (k *killer) carryOut(d *disk, effects []Effect, wire func(Effect)) error {
	for _, e := range effects {
		torn := k.left == 0
		k.left--
		switch {
		case e.Kind == FxState && torn:
			d.state = append(d.state, e.Line[:len(e.Line)/2]...)
		case e.Kind == FxState:
			d.state = append(d.state, e.Line...)
		case e.Kind == FxHistory && torn:
			before := len(d.history)
			d.append(e.History)
			d.history = d.history[:(before+len(d.history))/2]
		case e.Kind == FxHistory:
			d.append(e.History)
		case !torn:
			wire(e)
		}
		if torn {
			return errKilled
		}
	}
	return nil
}

// reconcileProducer does what a restarted process does first.
func reconcileProducer(t *testing.T, d *disk) Resume {
	t.Helper()
	d.state = d.state[:WholeLines(d.state)]
	lines, err := ParseProducerLines(d.state)
	if err != nil {
		t.Fatal(err)
	}
	state, err := ReplayProducer(1, nil, lines)
	if err != nil {
		t.Fatal(err)
	}
	events := d.records(t)
	lacking, err := MissingFromProducer(producerConfig(), lines, events)
	if err != nil {
		t.Fatal(err)
	}
	if len(lacking) > 2 {
		t.Fatalf("one kill left more than one line out: %+v", lacking)
	}
	for _, e := range lacking {
		d.append(e)
	}
	return Resume{Incarnation: Incarnations(events) + 1, Highest: state.Highest}
}

// A producer is killed at every single effect, again and again. Each time
// state and history agree afterwards, no counter is ever used for two
// messages, and whatever reached the wire stands in both files.
func TestProducerKilledAtEveryEffect(t *testing.T) {
	for after := range 60 {
		d := &disk{name: "producer-1"}
		sent := map[ID]string{}   // the body each id went out with
		tries := map[string]int{} // sends by id and try
		for life := range 4 {
			resume := reconcileProducer(t, d)
			for id := range sent {
				if id.Counter > resume.Highest {
					t.Fatalf("after %d effects: %s was sent, but the next life would begin at %d", after, id, resume.Highest+1)
				}
			}
			if resume.Incarnation > life+1 {
				t.Fatalf("life %d calls itself incarnation %d", life+1, resume.Incarnation)
			}
			liveProducer(t, d, resume, &killer{left: after}, func(e Effect) {
				if body, again := sent[e.ID]; again && body != string(e.Body) {
					t.Fatalf("after %d effects: %s went out with two bodies", after, e.ID)
				}
				sent[e.ID] = string(e.Body)
				tries[fmt.Sprint(e.ID, e.Try)]++
			})
		}
		reconcileProducer(t, d)
		checkProducerFiles(t, d)
		for try, n := range tries {
			if n > 1 {
				t.Fatalf("after %d effects: %s was sent %d times", after, try, n)
			}
		}
	}
}

// liveProducer runs one incarnation until it is killed or has done enough.
func liveProducer(t *testing.T, d *disk, resume Resume, k *killer, sent func(Effect)) {
	t.Helper()
	p, err := NewProducer(producerConfig(), resume)
	if err != nil {
		t.Fatal(err)
	}
	s := random.New(uint64(k.left), "answers", fmt.Sprint(resume.Highest))
	now := int64(resume.Incarnation) * 1_000_000 * ms
	queue := []Event{{Kind: EvStart}}
	for range 100 {
		if len(queue) == 0 {
			deadline, _ := p.NextDeadline()
			now = max(now, deadline)
			queue = append(queue, Event{Kind: EvTimer})
		}
		var fx Effects
		p.Step(now, queue[0], &fx)
		queue = queue[1:]
		err := k.carryOut(d, fx.List, func(e Effect) {
			sent(e)
			queue = append(queue, Event{Kind: EvAck + EventKind(s.Below(3)), ID: e.ID, Try: e.Try})
		})
		if err != nil {
			return
		}
	}
}

// checkProducerFiles says whether every attempt and ack stands in both files,
// in the same order, with tries counted from 1.
func checkProducerFiles(t *testing.T, d *disk) {
	t.Helper()
	lines, err := ParseProducerLines(d.state)
	if err != nil {
		t.Fatal(err)
	}
	var fromHistory []ProducerLine
	tries := map[string]int{}
	for _, e := range d.records(t) {
		if e.Ev != history.Attempt && e.Ev != history.Ack {
			continue
		}
		id, err := ParseID(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		fromHistory = append(fromHistory, ProducerLine{ID: id, Ack: e.Ev == history.Ack})
		if e.Ev == history.Attempt {
			if tries[e.ID]++; e.Try != tries[e.ID] || e.Sum == "" || e.Size == 0 {
				t.Fatalf("attempt %d of %s is %+v", tries[e.ID], e.ID, e)
			}
		}
	}
	if !slices.Equal(lines, fromHistory) {
		t.Fatalf("state says\n%v\nhistory says\n%v", lines, fromHistory)
	}
}

// A consumer is killed at every single effect. Each time state and history
// agree afterwards, and whatever was confirmed stands in both.
func TestConsumerKilledAtEveryEffect(t *testing.T) {
	for after := range 30 {
		d := &disk{name: "consumer-shared-1"}
		confirmed := map[uint64]bool{}
		for life := range 4 {
			lines := reconcileConsumer(t, d)
			for token := range confirmed {
				if !slices.ContainsFunc(lines, func(l ConsumerLine) bool { return l.ID.Counter == token }) {
					t.Fatalf("after %d effects: producer-1-%d was confirmed, but has no state line", after, token)
				}
			}
			c, err := NewConsumer(consumerConfig(), Resume{Incarnation: life + 1})
			if err != nil {
				t.Fatal(err)
			}
			k := &killer{left: after}
			e := Event{Kind: EvStart}
			for n := uint64(1); n <= 10; n++ {
				var fx Effects
				c.Step(int64(life+1)*1000*ms, e, &fx)
				if k.carryOut(d, fx.List, func(e Effect) { confirmed[e.Token] = true }) != nil {
					break
				}
				counter := uint64(life)*100 + n
				body, _ := Message{ID: ID{1, counter}, Topic: "orders"}.Encode()
				e = Event{Kind: EvDelivery, Delivery: Delivery{Token: counter, Position: fmt.Sprintf("%016x", counter), Attempts: 1, Body: body}}
			}
		}
		lines := reconcileConsumer(t, d)
		var fromHistory []ConsumerLine
		for _, e := range d.records(t) {
			if e.Ev == history.Consume {
				id, err := ParseID(e.ID)
				if err != nil {
					t.Fatal(err)
				}
				fromHistory = append(fromHistory, ConsumerLine{ID: id, Position: e.Pos})
			}
		}
		if !slices.Equal(lines, fromHistory) {
			t.Fatalf("after %d effects: state says\n%v\nhistory says\n%v", after, lines, fromHistory)
		}
	}
}

func reconcileConsumer(t *testing.T, d *disk) []ConsumerLine {
	t.Helper()
	d.state = d.state[:WholeLines(d.state)]
	lines, err := ParseConsumerLines(d.state)
	if err != nil {
		t.Fatal(err)
	}
	lacking, err := MissingFromConsumer(consumerConfig(), lines, d.records(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range lacking {
		d.append(e)
	}
	return lines
}

// What is rebuilt is what was lost, apart from what only the wire knew.
func TestMissing(t *testing.T) {
	m := producerConfig().message(ID{1, 1})
	attempt := history.Event{Ev: history.Attempt, ID: "producer-1-1", Try: 1, Topic: "orders", Size: len(m.Payload), Sum: m.Sum().String()}
	started := history.Event{Ev: history.Note, What: history.NoteStarted}
	replayed := history.Event{Ev: history.Note, What: history.NoteReplayed, ID: "producer-1-1"}
	const why = "rebuilt from the state file"

	state := []ProducerLine{{ID: ID{1, 1}}, {ID: ID{1, 1}, Ack: true}}
	got, err := MissingFromProducer(producerConfig(), state, []history.Event{started, attempt})
	ack := history.Event{Ev: history.Ack, ID: "producer-1-1", Try: 1, Topic: "orders", Text: why}
	if want := []history.Event{ack, replayed}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the ack: got %+v, %v\nwant %+v", got, err, want)
	}

	got, err = MissingFromProducer(producerConfig(), state[:1], []history.Event{started})
	attempt.Text = why
	if want := []history.Event{attempt, replayed}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the attempt: got %+v, %v\nwant %+v", got, err, want)
	}

	got, err = MissingFromConsumer(consumerConfig(), []ConsumerLine{{ID{1, 1}, "0007"}}, []history.Event{started})
	consume := history.Event{Ev: history.Consume, ID: "producer-1-1", Topic: "orders", Channel: "shared", Consumer: "consumer-shared-1", Pos: "0007", Text: why}
	if want := []history.Event{consume, replayed}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the consume: got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestContradictions(t *testing.T) {
	attempt := func(try int) history.Event { return history.Event{Ev: history.Attempt, ID: "producer-1-1", Try: try} }
	ack := history.Event{Ev: history.Ack, ID: "producer-1-1", Try: 1}
	note := history.Event{Ev: history.Note}
	for name, c := range map[string]struct {
		state  []ProducerLine
		events []history.Event
		want   Contradiction
	}{
		"history without state": {nil, []history.Event{note, attempt(1)},
			Contradiction{0, 2, "attempt of producer-1-1 has no state line, though state is always written first"}},
		"another event": {[]ProducerLine{{ID: ID{1, 1}}, {ID: ID{1, 1}}}, []history.Event{attempt(1), note, ack},
			Contradiction{2, 3, "state says attempt of producer-1-1, try 2, history says ack of producer-1-1, try 1"}},
		"another id": {[]ProducerLine{{ID: ID{1, 2}}}, []history.Event{attempt(1)},
			Contradiction{1, 1, "state says attempt of producer-1-2, try 1, history says attempt of producer-1-1, try 1"}},
		"another try": {[]ProducerLine{{ID: ID{1, 1}}}, []history.Event{attempt(2)},
			Contradiction{1, 1, "state says attempt of producer-1-1, try 1, history says attempt of producer-1-1, try 2"}},
	} {
		_, err := MissingFromProducer(producerConfig(), c.state, c.events)
		var got *Contradiction
		if !errors.As(err, &got) || *got != c.want {
			t.Errorf("%s: got %v, want %v", name, err, &c.want)
		}
	}
	consume := history.Event{Ev: history.Consume, ID: "producer-1-1", Pos: "0008"}
	_, err := MissingFromConsumer(consumerConfig(), []ConsumerLine{{ID{1, 1}, "0007"}}, []history.Event{consume})
	if want := "state line 1 and history line 1: state says consume of producer-1-1 at 0007, history says consume of producer-1-1 at 0008"; err == nil || err.Error() != want {
		t.Errorf("another position: got %v, want %s", err, want)
	}
}
