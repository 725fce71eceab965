package core

import (
	"slices"
	"strings"
	"testing"

	"pestle/broker/journal"
	"pestle/broker/replica"
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

// A mark protects the last batch when nothing follows it for a while, also
// where it is the last that its file has room for and where the file had to
// grow for it.
func TestLastBatchIsProtectedAtTheEndOfAFile(t *testing.T) {
	for name, size := range map[string]func(r *rig) int{
		"the file is full": func(r *rig) int {
			room, n := r.core.writer.room(), 0
			for publishSize(n+1) <= room {
				n++
			}
			return n
		},
		"the file has grown": func(*rig) int { return 10_000 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{FileSize: 4 << 10})
			p := r.dial()
			p.publish("t", "a")
			body := strings.Repeat("x", size(r))
			p.publish("t", body)
			w := r.core.writer
			if left := w.current().size - w.at; left > sealed {
				t.Fatalf("%d bytes are left in the file", left)
			}
			r.pass(second)
			r.kill()
			r.disk[w.current().seq].cached[w.at-journal.MarkSize-100] ^= 1
			if err := r.tryStart(); err == nil {
				t.Error("the node starts though the last batch has rotted")
			}
		})
	}
}

// publishSize is how many bytes the record of one message of n bytes takes.
func publishSize(n int) int64 {
	e := publish{partition: 1, log: 1_700_000_001e9, messages: []published{{body: make([]byte, n)}}}
	origin := replica.Origin{Node: 1, Life: 1, Ticket: 1}
	return journal.RecordSize(len(replica.EncodeEntry(kindPublish, origin, e.encode())) - 1)
}

// A node that is started again and again does not fill its journal: its
// elections go with the files they are in.
func TestRestartsDoNotFillTheJournal(t *testing.T) {
	r := newRig(t, Config{FileSize: 4 << 10})
	r.dial().publish("t", "a")
	finishAll(r.consumer("t", "ch", 1))
	r.pass(second)
	for range 50 {
		r.restart()
		r.pass(second)
	}
	if n := len(r.disk); n > 3 {
		t.Errorf("%d journal files are left after 50 restarts", n)
	}
	if now := r.core.writer.current().seq; now < 5 {
		t.Errorf("50 restarts took %d files: nothing was tested", now)
	}
}

// An answer does not wait for the zeros of the next file: it is asked for
// behind the sync that the answer waits for.
func TestNextFileIsMadeBehindTheSync(t *testing.T) {
	r := newRig(t, Config{FileSize: 4 << 10})
	p := r.dial()
	p.publish("t", strings.Repeat("x", 1000))
	p.Publish("t", []byte(strings.Repeat("x", 1000)))
	for len(r.changes) < 2 {
		r.work()
	}
	var kinds []EffectKind
	for _, e := range r.changes {
		kinds = append(kinds, e.Kind)
	}
	if want := []EffectKind{FxWrite, FxSync, FxCreate}; !slices.Equal(kinds, want) {
		t.Errorf("disk effects %v, want %v", kinds, want)
	}
}

// A file that was made ahead is kept over a restart: a full disk may not give
// its place again. One that is too short was left half made, and one that was
// written to is torn.
func TestFileMadeAheadIsKept(t *testing.T) {
	for name, test := range map[string]struct {
		change func(f *diskFile)
		kept   bool
	}{
		"as it was made":  {func(*diskFile) {}, true},
		"with its header": {func(f *diskFile) { copy(f.cached, journal.AppendFileHeader(nil, 2, 17)) }, true},
		"half made":       {func(f *diskFile) { f.cached = f.cached[:1000] }, false},
		"torn":            {func(f *diskFile) { copy(f.cached, journal.AppendFileHeader(nil, 2, 17)); f.cached[200] = 1 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{FileSize: 4 << 10, Salt: 42})
			p := r.dial()
			for len(r.disk) < 2 {
				p.publish("t", strings.Repeat("x", 100))
			}
			r.kill()
			test.change(r.disk[2])
			r.noRoom = true
			r.start()
			p = r.dial()
			var answers []string
			for range 50 {
				p.Publish("t", []byte(strings.Repeat("x", 100)))
				answers = append(answers, p.got()...)
			}
			if now := r.core.writer.current().seq; now == 2 != test.kept {
				t.Errorf("the node writes to file %d; answers: %q", now, answers)
			}
			r.noRoom = false
			r.restart()
		})
	}
}

// A full disk without even the room for what consumers finished does not hold
// up a graceful stop: what cannot be written is delivered again.
func TestGracefulStopOnAFullDisk(t *testing.T) {
	for _, durability := range []Durability{Fsync, Memory} {
		r := newRig(t, Config{FileSize: 4 << 10, Durability: durability})
		c := r.consumer("t", "ch", 1)
		p := r.dial()
		p.publish("t", "a")
		r.noRoom = true
		for range 100 { // ledgers use up the reserve
			c.Requeue(c.deliveries()[0].ID, 0)
			r.pass(second)
		}
		if r.core.unfinished() == 0 {
			t.Fatal("there is room for every ledger entry")
		}
		p.Publish("t", []byte("refused"))
		r.talk()
		r.step(Event{Kind: EvStop})
		r.pass(10 * second)
		if !r.stopped || !r.logged("are not written") {
			t.Fatalf("stopped: %v, logs: %q", r.stopped, r.logs)
		}
		r.noRoom = false
		r.restart()
		wantBodies(t, finishAll(r.consumer("t", "ch", 10)), "a")
	}
}
