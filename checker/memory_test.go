package checker

import (
	"fmt"
	"testing"

	"pestle/history"
)

// load is a healthy run without end, drawn out of nothing: each message is
// sent, acked, consumed and finished on both channels, a few in flight at once.
type load struct {
	seqs    map[string]uint64
	t       int64
	counter int
	events  []history.Event // of the message before the last, to overlap them
}

func newLoad() *load { return &load{seqs: map[string]uint64{}, t: 1e9} }

func (l *load) add(e history.Event) {
	l.seqs[e.Src]++
	l.t += 1e5
	e.Seq, e.T = l.seqs[e.Src], l.t
	l.events = append(l.events, e)
}

// next returns the events of one more message.
func (l *load) next() []history.Event {
	l.events = l.events[:0]
	l.counter++
	producer := "producer-1"
	if l.counter%2 == 0 {
		producer = "producer-2"
	}
	id := fmt.Sprintf("%s-%d", producer, (l.counter+1)/2)
	pos := fmt.Sprintf("00001%011x", l.counter)
	size, sum := content(id)
	l.add(history.Event{Src: producer, Ev: history.Attempt, ID: id, Try: 1, Topic: testTopic, Size: size, Sum: sum})
	l.add(history.Event{Src: producer, Ev: history.Ack, ID: id, Try: 1, Topic: testTopic})
	for _, consumer := range []string{"consumer-ordered-1", "consumer-shared-2"} {
		e := history.Event{Src: consumer, ID: id, Topic: testTopic, Channel: consumer[len("consumer-") : len(consumer)-2], Consumer: consumer, Pos: pos}
		consume, finish := e, e
		consume.Ev, consume.Attempts, consume.Size, consume.Sum = history.Consume, 1, size, sum
		finish.Ev = history.Finish
		l.add(consume)
		l.add(finish)
	}
	return l.events
}

// TestSettledMessagesAreFolded: a long healthy run leaves nothing open, and
// the messages in memory are those that were once open together.
func TestSettledMessagesAreFolded(t *testing.T) {
	c, l := New(testConfig()), newLoad()
	const messages = 20_000
	for range messages {
		for _, e := range l.next() {
			if err := c.Observe(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	spare := 0
	for m := c.free; m != nil; m = m.next {
		spare++
	}
	if open := len(c.producers[0].open) + len(c.producers[1].open); open != 0 || spare != 1 || c.waiting.first != nil {
		t.Errorf("%d messages are open and %d spare, want 0 and 1", open, spare)
	}
	if blocks := len(c.producers[0].folded); blocks != messages/2/blockSize+1 {
		t.Errorf("%d blocks of folded messages, want %d", blocks, messages/2/blockSize+1)
	}
}

// BenchmarkObserve reports the cost of one event of a healthy run; B/op grows
// with what is kept of a folded message, 18 bytes for six events, and with the
// history's own strings.
func BenchmarkObserve(b *testing.B) {
	c, l := New(testConfig()), newLoad()
	var events []history.Event
	for len(events) < b.N {
		events = append(events, l.next()...)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, e := range events[:b.N] {
		if err := c.Observe(e); err != nil {
			b.Fatal(err)
		}
	}
}
