package history

import (
	"fmt"
	"slices"
	"strings"
)

// Sequence checks that the lines of one stream come in order: time never goes
// back and each source counts upwards. A gap in a count is allowed, so that a
// history with lines taken out can still be judged. The zero value expects a
// first line.
type Sequence struct {
	last Event
	any  bool
	seqs map[string]uint64 // last Seq by source
}

// Check accepts e as the next line of the stream, or says why it cannot be.
func (s *Sequence) Check(e Event) error {
	if s.any && !s.last.Before(e) {
		return fmt.Errorf("line %d of %s (t %d) does not come after line %d of %s (t %d): lines of one stream are in order of t, src, seq",
			e.Seq, e.Src, e.T, s.last.Seq, s.last.Src, s.last.T)
	}
	if had := s.seqs[e.Src]; e.Seq <= had {
		return fmt.Errorf("line %d of %s comes after its line %d: a source counts its lines upwards", e.Seq, e.Src, had)
	}
	if s.seqs == nil {
		s.seqs = make(map[string]uint64)
	}
	s.seqs[e.Src] = e.Seq
	s.last, s.any = e, true
	return nil
}

// Merger brings several streams into the one order of Event.Before while they
// are still growing. It holds an event back until no open stream can bring an
// earlier one, so the order never depends on how fast each stream was read. A
// process that is idle writes NoteTick lines to keep the others moving.
type Merger struct {
	streams  []*mergeStream // by name
	released Event
	any      bool
}

type mergeStream struct {
	name  string
	open  bool
	order Sequence
	queue []Event // from head on
	head  int
}

func (s *mergeStream) empty() bool { return s.head == len(s.queue) }

// take returns the first event, and reuses the queue's memory once it is empty.
func (s *mergeStream) take() Event {
	e := s.queue[s.head]
	s.queue[s.head] = Event{}
	if s.head++; s.empty() {
		s.queue, s.head = s.queue[:0], 0
	}
	return e
}

// NewMerger returns a Merger of the named streams, all open and empty. Names
// must differ.
func NewMerger(names ...string) *Merger {
	m := &Merger{}
	for _, name := range names {
		m.streams = append(m.streams, &mergeStream{name: name, open: true})
	}
	slices.SortFunc(m.streams, func(a, b *mergeStream) int { return strings.Compare(a.name, b.name) })
	return m
}

// Push adds the next event of a stream. It is an error when the stream is
// unknown or closed, when the event is out of its order, and when a later
// event was already released, which a stream that was reopened too late can
// cause.
func (m *Merger) Push(name string, e Event) error {
	s := m.stream(name)
	switch {
	case s == nil:
		return fmt.Errorf("history stream %q is not among those merged", name)
	case !s.open:
		return fmt.Errorf("history stream %q got line %d after it was closed", name, e.Seq)
	case m.any && !m.released.Before(e):
		return fmt.Errorf("history stream %q: line %d (t %d) comes too late: t %d was already judged",
			name, e.Seq, e.T, m.released.T)
	}
	if err := s.order.Check(e); err != nil {
		return fmt.Errorf("history stream %q: %w", name, err)
	}
	if len(s.queue) == cap(s.queue) && s.head > len(s.queue)/2 {
		s.queue, s.head = append(s.queue[:0], s.queue[s.head:]...), 0
	}
	s.queue = append(s.queue, e)
	return nil
}

// Close says that nothing more comes from the stream for now: it holds no
// other stream's events back any longer. Call it when the process is gone and
// its last line was pushed.
func (m *Merger) Close(name string) { m.setOpen(name, false) }

// Reopen says that the stream will go on; call it before its process is
// started again. From here on it holds back events later than its last one.
func (m *Merger) Reopen(name string) { m.setOpen(name, true) }

func (m *Merger) setOpen(name string, open bool) {
	if s := m.stream(name); s != nil {
		s.open = open
	}
}

func (m *Merger) stream(name string) *mergeStream {
	i, found := slices.BinarySearchFunc(m.streams, name, func(s *mergeStream, name string) int {
		return strings.Compare(s.name, name)
	})
	if !found {
		return nil
	}
	return m.streams[i]
}

// Pop returns the next event of the merged order, or false while an open
// stream could still bring an earlier one or nothing is left.
func (m *Merger) Pop() (Event, bool) {
	var first *mergeStream
	for _, s := range m.streams {
		if !s.empty() && (first == nil || s.queue[s.head].Before(first.queue[first.head])) {
			first = s
		}
	}
	if first == nil {
		return Event{}, false
	}
	e := &first.queue[first.head]
	for _, s := range m.streams {
		if s.open && s.empty() && s.mayBring(e) {
			return Event{}, false
		}
	}
	m.released, m.any = first.take(), true
	return m.released, true
}

// mayBring reports whether the stream's next event can be before e.
func (s *mergeStream) mayBring(e *Event) bool {
	if !s.order.any {
		return true
	}
	next := Event{T: s.order.last.T, Src: s.order.last.Src, Seq: s.order.last.Seq + 1}
	return next.Before(*e)
}
