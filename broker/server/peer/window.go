package peer

import "sync"

// window bounds what of one connection was delivered and is not released: a
// node that tells faster than it is heard is slowed by its own socket.
type window struct {
	limit int
	freed chan struct{} // holds a token when there may be room again

	mu   sync.Mutex
	used int
}

func newWindow(limit int) *window { return &window{limit: limit, freed: make(chan struct{}, 1)} }

// take waits until n bytes have room, or the window is empty. It returns false
// when over closes first.
func (w *window) take(n int, over <-chan struct{}) bool {
	for !w.tryTake(n) {
		select {
		case <-w.freed:
		case <-over:
			return false
		}
	}
	return true
}

func (w *window) tryTake(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used > 0 && w.used+n > w.limit {
		return false
	}
	w.used += n
	return true
}

func (w *window) give(n int) {
	w.mu.Lock()
	w.used -= n
	w.mu.Unlock()
	select {
	case w.freed <- struct{}{}:
	default:
	}
}
