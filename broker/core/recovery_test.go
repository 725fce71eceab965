package core

import (
	"strings"
	"testing"
)

// A power loss may leave the file that was just begun torn, and one behind it
// empty. A crash while they are taken away leaves no hole in the journal.
func TestCrashWhileEmptyFilesAreRemoved(t *testing.T) {
	r := newRig(t, Config{FileSize: 4 << 10})
	p := r.dial()
	for r.core.writer.current().seq < 2 {
		p.publish("t", strings.Repeat("x", 100))
	}
	r.kill()
	clear(r.disk[2].cached[100:]) // its first batch is torn
	r.disk[3] = &diskFile{cached: make([]byte, 4<<10), durable: make([]byte, 4<<10)}
	for first := true; ; first = false {
		if err := r.tryStart(); err != nil {
			t.Fatalf("the node does not start again: %v", err)
		}
		if len(r.changes) == 0 || r.changes[0].Kind != FxRemove {
			if first {
				t.Fatalf("nothing is removed: %+v", r.changes)
			}
			break
		}
		r.work() // one removal, then the next crash
		r.kill()
	}
	r.settle()
	r.dial().publish("t", "goes on")
}
