// Package schedule is the order in which things happen in a simulated world: a
// queue of events by virtual time.
//
// It owns the order and nothing else: what an event means is known to the one
// it is addressed to. Events of the same time come in an order that a key
// draws from what the events are, not from when they were added: equal keys
// give equal orders, another key explores another order, and an event that is
// added elsewhere does not change how two others stand to each other. Events
// that are the same in everything come in the order they were added.
//
//	q := schedule.New(noise)
//	q.Add(schedule.Event{At: 2_000_000, To: broker, Kind: timer})
//	q.Add(schedule.Event{At: 1_000_000, To: network, Kind: arrival, A: conn})
//	for e, ok := q.Take(deadline); ok; e, ok = q.Take(deadline) {
//		world.step(e) // the network's first
//	}
//
// Nothing is ever taken out of the queue but in its order. An event that is no
// longer wanted is told by its Life or its payload when it comes, and dropped
// then.
//
//det:ring0
package schedule

import "pestle/sim/random"

// Actor names who an event is for.
type Actor uint32

// Event is one thing that is going to happen. Kind, Life, A and B are the
// addressee's: Life is usually the incarnation that the event belongs to.
type Event struct {
	At   int64 // virtual time in ns
	To   Actor
	Kind uint8
	Life uint32
	A, B uint64

	tie uint64
	seq uint64
}

func (e *Event) before(o *Event) bool {
	if e.At != o.At {
		return e.At < o.At
	}
	if e.tie != o.tie {
		return e.tie < o.tie
	}
	return e.seq < o.seq
}

// Queue holds the events that are still to come: a heap with four children to
// a node, which are next to each other in memory.
type Queue struct {
	heap []Event
	key  uint64
	seq  uint64
	now  int64 // of the last event taken
}

// New returns an empty queue at time 0.
func New(key uint64) *Queue { return &Queue{key: key} }

// Len returns how many events are still to come.
func (q *Queue) Len() int { return len(q.heap) }

// Now returns the time of the last event taken, or a later one that Take was
// asked for in vain: nothing can be added before it.
func (q *Queue) Now() int64 { return q.now }

const arity = 4

// Add puts an event into the queue. One that should have been before now comes
// now.
func (q *Queue) Add(e Event) {
	e.At = max(e.At, q.now)
	e.tie = random.Mix(random.Mix(random.Mix(q.key^uint64(e.To)<<40^uint64(e.Life)<<8^uint64(e.Kind))^e.A) ^ e.B)
	q.seq++
	e.seq = q.seq
	q.heap = append(q.heap, e)
	h, i := q.heap, len(q.heap)-1
	for i > 0 {
		parent := (i - 1) / arity
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

// Take returns the next event at or before a time. When there is none, it is
// that time now.
func (q *Queue) Take(until int64) (Event, bool) {
	if len(q.heap) == 0 || q.heap[0].At > until {
		q.now = max(q.now, until)
		return Event{}, false
	}
	first := q.heap[0]
	last := len(q.heap) - 1
	e := q.heap[last]
	q.heap = q.heap[:last]
	if last > 0 {
		q.sink(e)
	}
	q.now = first.At
	return first, true
}

// sink puts e where the root was taken out.
func (q *Queue) sink(e Event) {
	h, i := q.heap, 0
	for {
		child := arity*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for c := child + 1; c < min(child+arity, len(h)); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}
