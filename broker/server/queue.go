package server

import "sync"

// queue hands items from any goroutine to one taker, in order. It has no
// bound of its own: each user names what bounds it.
type queue[T any] struct {
	mu    sync.Mutex
	items []T
	wake  chan struct{} // holds a token while the taker has something to take
}

func newQueue[T any]() *queue[T] { return &queue[T]{wake: make(chan struct{}, 1)} }

func (q *queue[T]) put(items ...T) {
	q.mu.Lock()
	q.items = append(q.items, items...)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// empty reports that there is nothing to take.
func (q *queue[T]) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) == 0
}

// take returns all items and keeps spare, emptied, to collect the next ones.
func (q *queue[T]) take(spare []T) []T {
	clear(spare)
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = spare[:0]
	return items
}
