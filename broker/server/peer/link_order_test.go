package peer

import (
	"encoding/binary"
	"testing"
)

// A frame of which the network takes only the beginning is gone on with by the
// writer, and what follows stays behind it.
func TestFramesArriveWholeAndInOrderThroughAFullSocket(t *testing.T) {
	a := start(t, 1, "", nil)
	b := start(t, 2, "", func(l *limits) { l.window = 1 })
	a.connect(t, b)
	a.tell(b, "last of them")
	b.past(t, "last of them")
	a.mu.Lock()
	l := a.links[2]
	a.mu.Unlock()
	left := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.pending
	}
	b.held.Store(true)
	frame := func(i uint32) []byte { return binary.BigEndian.AppendUint32(make([]byte, 3000+i%1000), i) }
	count := uint32(0)
	for ; left() < 1<<20; count++ { // until more waits than one write takes
		a.Tell(2, b.address, frame(count))
		a.Flush(true)
	}
	b.held.Store(false)
	for i := range count {
		f := b.next(t)
		if want := string(frame(i)); string(f.Data) != want {
			t.Fatalf("frame %d of %d is not as it was told: %d bytes, want %d", i, count, len(f.Data), len(want))
		}
		if i == 0 {
			f.Release()
		}
	}
	waitFor(t, "the count of what is left", func() bool { return left() == 0 })
	if s := a.stats(2); s.DroppedFrames != 0 {
		t.Errorf("%+v, want nothing dropped", s)
	}
}
