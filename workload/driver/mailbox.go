package driver

import (
	"sync"

	"pestle/workload"
)

// mailbox holds the events that clients report until the loop takes them. Put
// never waits, because the loop may at that moment be waiting for the client.
// What it holds is bounded by the plan: one answer per open send, and at most
// RDY deliveries.
type mailbox struct {
	mu     sync.Mutex
	events []workload.Event
	filled chan struct{} // holds one when there are events
}

func newMailbox() *mailbox { return &mailbox{filled: make(chan struct{}, 1)} }

func (b *mailbox) put(e workload.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
	if len(b.events) == 1 {
		b.filled <- struct{}{}
	}
}

// take returns what was put since the last take, in order. Call it after a
// receive from filled.
func (b *mailbox) take() []workload.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}
