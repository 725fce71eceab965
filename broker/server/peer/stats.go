package peer

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// counters of one peer.
type counters struct {
	sentFrames, sentBytes         atomic.Uint64
	droppedFrames                 atomic.Uint64
	receivedFrames, receivedBytes atomic.Uint64
	connects                      atomic.Uint64
}

// count returns the counters of a node. The caller holds t.mu.
func (t *Transport) count(node uint64) *counters {
	c := t.counts[node]
	if c == nil {
		c = &counters{}
		t.counts[node] = c
	}
	return c
}

// Stats counts what went to and came from one node since the start. Bytes
// include the lengths of frames.
type Stats struct {
	Node                          uint64
	SentFrames, SentBytes         uint64 // the network took them
	DroppedFrames                 uint64 // were to be sent, and were not
	ReceivedFrames, ReceivedBytes uint64
	Connects                      uint64 // connections made to it
}

// Stats returns the counts of every node there was traffic with, by node.
func (t *Transport) Stats() []Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]Stats, 0, len(t.counts))
	for node, c := range t.counts {
		out = append(out, Stats{
			Node:       node,
			SentFrames: c.sentFrames.Load(), SentBytes: c.sentBytes.Load(),
			DroppedFrames:  c.droppedFrames.Load(),
			ReceivedFrames: c.receivedFrames.Load(), ReceivedBytes: c.receivedBytes.Load(),
			Connects: c.connects.Load(),
		})
	}
	slices.SortFunc(out, func(a, b Stats) int { return cmp.Compare(a.Node, b.Node) })
	return out
}
