package disk

import (
	"bytes"
	"errors"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pestle/faults"
	"pestle/faults/control"
	"pestle/sim/lot"
)

// patience bounds a wait for something that must happen.
const patience = 20 * time.Second

// waitForBites waits until the only fault has bitten so often.
func waitForBites(t *testing.T, d *Dir, n int64) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if list := d.Faults(); len(list) == 1 && list[0].Bites >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the faults %+v do not bite %d times", d.Faults(), n)
		}
	}
}

// rig is a directory with one durable file of 64 KiB.
type rig struct {
	t    *testing.T
	path string
	d    *Dir
	f    *File
}

const content = "0123456789abcdef"

func newRig(t *testing.T, o Options) *rig {
	r := &rig{t: t, path: t.TempDir()}
	d := open(t, r.path) // honest
	f, err := d.Create("a")
	must(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte(content), 4096), 0)
	must(t, errors.Join(err, f.Sync(), d.Sync(), f.Close()))
	r.d, err = Open(r.path, o)
	must(t, err)
	r.f, err = r.d.Open("a")
	must(t, err)
	return r
}

func (r *rig) impose(f faults.Fault) {
	r.t.Helper()
	f.Ref = 1
	must(r.t, r.d.Impose(f, 42))
}

func (r *rig) lift(bites int64) {
	r.t.Helper()
	n, err := r.d.Lift(1)
	must(r.t, err)
	if n != bites {
		r.t.Errorf("it bit %d times, not %d", n, bites)
	}
}

func (r *rig) write(text string, off int64) {
	r.t.Helper()
	_, err := r.f.WriteAt([]byte(text), off)
	must(r.t, err)
}

func (r *rig) holds(text string, off int64) {
	r.t.Helper()
	p := make([]byte, len(text))
	if _, err := r.f.ReadAt(p, off); err != nil || string(p) != text {
		r.t.Errorf("at %d there is %q (%v), not %q", off, p, err, text)
	}
}

func (r *rig) fails(err error, with syscall.Errno) {
	r.t.Helper()
	if !errors.Is(err, with) {
		r.t.Errorf("got error %v, not %v", err, with)
	}
}

// losesText loses the power with the first operations kept, and tells whether
// a file has not got text at an offset.
func (r *rig) losesText(text string, off int64) bool {
	r.t.Helper()
	_, err := r.d.PowerLoss(seedOf(lot.Prefix, 0, len(r.d.m.Pending)))
	must(r.t, err)
	return !bytes.HasPrefix(files(r.t, r.path)["a"][off:], []byte(text))
}

func TestDiskFull(t *testing.T) {
	r := newRig(t, Options{})
	r.impose(faults.Fault{Kind: faults.DiskFull})
	_, err := r.d.Create("b")
	r.fails(err, syscall.ENOSPC)
	_, err = r.f.WriteAt([]byte("xy"), 65535)
	r.fails(err, syscall.ENOSPC)
	r.write("within", 100)
	must(t, r.d.Rename("a", "c"))
	r.lift(2)
	r.write("xy", 65535)
	_, err = r.d.Create("b")
	must(t, err)
}

// A disk that turns takes its time for a sync with something to do, and is
// honest.
func TestDiskThatTurns(t *testing.T) {
	r := newRig(t, Options{Slow: true})
	r.write("x", 0)
	began := time.Now()
	must(t, r.f.Sync())
	if took := time.Since(began); took < turnTime {
		t.Errorf("a sync took %v", took)
	}
	if r.d.m.dirty(r.f.id) {
		t.Error("what was synced is not durable")
	}
}

func TestDiskSlow(t *testing.T) {
	r := newRig(t, Options{})
	r.impose(faults.Fault{Kind: faults.DiskSlow, Factor: 20})
	began := time.Now()
	r.write("x", 0)
	must(t, r.f.Sync())
	if took := time.Since(began); took < 20*(writeTime+syncTime) {
		t.Errorf("a write and a sync took %v", took)
	}
	r.lift(2)
	r.impose(faults.Fault{Kind: faults.DiskSlow, Factor: 10_000})
	done := make(chan error)
	go func() { _, err := r.d.Create("b"); done <- err }() // a minute, if nobody lifts it
	waitForBites(t, r.d, 1)
	r.lift(1)
	select {
	case err := <-done:
		must(t, err)
	case <-time.After(patience):
		t.Error("an operation stays slow when the disk is not")
	}
}

func TestDiskStuck(t *testing.T) {
	r := newRig(t, Options{})
	r.impose(faults.Fault{Kind: faults.DiskStuck})
	done := make(chan error, 1)
	go func() { _, err := r.f.WriteAt([]byte("late"), 0); done <- err }()
	waitForBites(t, r.d, 1)
	if got := files(t, r.path)["a"][:4]; string(got) != "0123" {
		t.Errorf("a stuck write has written %q", got)
	}
	select {
	case <-done:
		t.Error("a stuck write is done")
	default:
	}
	r.lift(1)
	must(t, <-done)
	r.holds("late", 0)
}

func TestDiskReadError(t *testing.T) {
	r := newRig(t, Options{})
	r.impose(faults.Fault{Kind: faults.DiskReadError, Rate: 300})
	failed := int64(0)
	for range 1000 {
		if _, err := r.f.ReadAt(make([]byte, 1), 0); err != nil {
			r.fails(err, syscall.EIO)
			failed++
		}
	}
	if failed < 200 || failed > 400 {
		t.Errorf("of 1000 reads %d fail, at 300 permille", failed)
	}
	r.lift(failed)
	r.holds("0123", 0)
}

func TestDiskWriteShort(t *testing.T) {
	r := newRig(t, Options{})
	r.impose(faults.Fault{Kind: faults.DiskWriteShort, Count: 2})
	text := strings.Repeat("#", 1000)
	for range 2 {
		n, err := r.f.WriteAt([]byte(text), 0)
		r.fails(err, syscall.EIO)
		if n >= 1000 {
			t.Errorf("%d bytes of 1000 are written", n)
		}
		r.holds(text[:n], 0)
		if n < 999 {
			next := make([]byte, 1)
			if _, err := r.f.ReadAt(next, 999); err != nil || next[0] == '#' {
				t.Errorf("the last byte is written: %q, %v", next, err)
			}
		}
	}
	r.write("whole", 0)
	r.lift(2)
}

// TestFsyncError: told once; a later sync that succeeds proves nothing, not
// even in the next process; written again, it is durable.
func TestFsyncError(t *testing.T) {
	for _, again := range []bool{false, true} {
		r := newRig(t, Options{})
		r.impose(faults.Fault{Kind: faults.FsyncError, Count: 1})
		must(t, r.f.Sync()) // nothing to do, and so nothing fails
		r.write("dropped", 512)
		r.fails(r.f.Sync(), syscall.EIO)
		must(t, r.f.Sync())
		r.lift(1)
		r.holds("dropped", 512)
		r.d = open(t, r.path)
		f, err := r.d.Open("a")
		must(t, err)
		r.f = f
		must(t, r.f.Sync())
		if again {
			r.write("dropped", 512)
			must(t, r.f.Sync())
		}
		if lost := r.losesText("dropped", 512); lost == again {
			t.Errorf("written again: %v, lost: %v", again, lost)
		}
	}
}

// TestLying: on a disk that lies a sync says it is done, and is not.
func TestLying(t *testing.T) {
	for _, lying := range []bool{false, true} {
		lost := 0
		for seed := range uint64(20) {
			r := newRig(t, Options{Lying: lying})
			r.write("acknowledged", 1024)
			must(t, r.f.Sync())
			_, err := r.d.PowerLoss(seed)
			must(t, err)
			if !bytes.Contains(files(t, r.path)["a"], []byte("acknowledged")) {
				lost++
			}
		}
		if lying != (lost > 0) {
			t.Errorf("lying: %v, and %d of 20 are lost", lying, lost)
		}
	}
}

// differing counts the bits in which the file is not what was written.
func (r *rig) differing() (n int) {
	for i, b := range files(r.t, r.path)["a"] {
		n += bits.OnesCount8(b ^ content[i%len(content)])
	}
	return n
}

// TestBitRot: bits turn, and turn back when it is lifted, also in another
// process, and also after a power loss.
func TestBitRot(t *testing.T) {
	r := newRig(t, Options{})
	r.impose(faults.Fault{Kind: faults.BitRot, Count: 5})
	if n := r.differing(); n != 5 && n != 3 && n != 1 { // a bit may turn twice
		t.Fatalf("%d bits are turned, not 5", n)
	}
	_, err := r.d.PowerLoss(1)
	must(t, err)
	r.d = open(t, r.path)
	before := r.differing()
	r.impose(faults.Fault{Kind: faults.BitRot, Count: 5}) // again, for a new process: nothing more
	if n := r.differing(); n != before {
		t.Errorf("%d bits are turned after it is imposed again, not %d", n, before)
	}
	r.lift(0)
	if n := r.differing(); n != 0 {
		t.Errorf("%d bits are turned after healing", n)
	}
}

// TestMendedWhileNobodyRuns: damage that is over when its process is gone is
// undone for the next one, and only that.
func TestMendedWhileNobodyRuns(t *testing.T) {
	r := newRig(t, Options{})
	r.impose(faults.Fault{Kind: faults.BitRot, Count: 5})
	must(t, control.Mend(r.path, 2))
	r.d = open(t, r.path)
	if r.differing() == 0 {
		t.Fatal("the damage of a fault that is not over is undone")
	}
	must(t, control.Mend(r.path, 1))
	r.d = open(t, r.path)
	if n := r.differing(); n != 0 {
		t.Errorf("%d bits are still turned", n)
	}
	if refs, err := control.ToMend(r.path); len(refs) > 0 || err != nil {
		t.Errorf("still to mend: %v, %v", refs, err)
	}
	must(t, os.WriteFile(filepath.Join(r.path, ".chaos", "mend"), []byte("1\nall\n"), 0o644))
	if _, err := Open(r.path, Options{}); err == nil || !strings.Contains(err.Error(), `"all" is no number of a fault; remove the line`) {
		t.Errorf("a note that is none: %v", err)
	}
}

// TestHealingKeepsWhatWasWritten: over damage, and beside it in its sector.
func TestHealingKeepsWhatWasWritten(t *testing.T) {
	for _, lose := range []bool{false, true} {
		r := newRig(t, Options{})
		r.impose(faults.Fault{Kind: faults.BitRot, Count: 200})
		for at := int64(0); at < 65536; at += 512 {
			r.write("new!", at+100)
		}
		if lose {
			_, err := r.d.PowerLoss(seedOf(lot.Paged, 3, 128))
			must(t, err)
			r.d = open(t, r.path)
		}
		_, err := r.d.Lift(1)
		must(t, err)
		kept := 0
		for at, now := 0, files(t, r.path)["a"]; at < 65536; at += 512 {
			old := bytes.Repeat([]byte(content), 32)
			written := append(append(bytes.Clone(old[:100]), "new!"...), old[104:]...)
			switch sector := now[at : at+512]; {
			case bytes.Equal(sector, written):
				kept++
			case !lose || !bytes.Equal(sector, old):
				t.Fatalf("power lost: %v: after healing the sector at %d holds %q", lose, at, sector)
			}
		}
		if lose && (kept == 0 || kept == 128) {
			t.Errorf("the loss kept %d of 128 sectors: nothing is shown", kept)
		}
	}
}

func TestLostWrite(t *testing.T) {
	r := newRig(t, Options{})
	r.impose(faults.Fault{Kind: faults.LostWrite, Rate: 1000})
	r.write("new", 2048)
	r.holds("new", 2048)
	must(t, r.f.Sync())
	r.holds("012", 2048)
	r.lift(1)
	r.holds("new", 2048)
	if r.losesText("new", 2048) {
		t.Error("what was healed is lost with the power")
	}
}

// A write that is lost does not bring back an earlier one of its sector that is
// lost too.
func TestLostWritesOfOneSector(t *testing.T) {
	r := newRig(t, Options{})
	was := string(files(t, r.path)["a"][2048:2054])
	r.impose(faults.Fault{Kind: faults.LostWrite, Rate: 1000})
	for i, text := range []string{"new", "too"} {
		r.write(text, 2048+3*int64(i))
		must(t, r.f.Sync())
		r.holds(was, 2048)
	}
	r.lift(2)
	r.holds("newtoo", 2048)
}

func TestMisdirectedWrite(t *testing.T) {
	r := newRig(t, Options{})
	r.impose(faults.Fault{Kind: faults.MisdirectedWrite, Rate: 1000})
	text := strings.Repeat("n", 1024)
	r.write(text, 2048)
	must(t, r.f.Sync())
	r.holds("0123", 2048)
	at := bytes.Index(files(t, r.path)["a"], []byte(text))
	if at < 0 || at == 2048 || at%512 != 0 {
		t.Errorf("the write is at %d", at)
	}
	r.lift(1)
	r.holds(text, 2048)
	if got := files(t, r.path)["a"]; len(got) != 65536 || bytes.Count(got, []byte("n")) != 1024 {
		t.Errorf("%d bytes, %d of them written, are there after healing", len(got), bytes.Count(got, []byte("n")))
	}
}

// TestFaultsThatAreNone: each refusal says why.
func TestFaultsThatAreNone(t *testing.T) {
	r := newRig(t, Options{})
	for _, c := range []struct {
		fault faults.Fault
		why   string
	}{
		{faults.Fault{Ref: 1, Kind: "disk-warm"}, "no fault of a disk"},
		{faults.Fault{Ref: 1, Kind: faults.Kill}, "no fault of a disk"},
		{faults.Fault{Ref: 0, Kind: faults.DiskFull}, "numbered from 1"},
		{faults.Fault{Ref: 1, Kind: faults.DiskSlow, Factor: 1}, "factor is 1; it takes 2 to 10000"},
		{faults.Fault{Ref: 1, Kind: faults.FsyncError}, "count is 0"},
		{faults.Fault{Ref: 1, Kind: faults.BitRot, Count: 1 << 40}, "count is"},
		{faults.Fault{Ref: 1, Kind: faults.LostWrite, Rate: 1001}, "rate is 1001"},
	} {
		if err := r.d.Impose(c.fault, 1); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%+v: %v, want %q", c.fault, err, c.why)
		}
	}
	r.impose(faults.Fault{Kind: faults.DiskFull})
	r.impose(faults.Fault{Kind: faults.DiskFull}) // the same once more is no mistake
	if err := r.d.Impose(faults.Fault{Ref: 2, Kind: faults.DiskFull}, 1); err == nil || !strings.Contains(err.Error(), "fault 1 is of the same kind") {
		t.Errorf("a second fault of a kind: %v", err)
	}
	if n, err := r.d.Lift(7); n != 0 || err != nil {
		t.Errorf("lifting what is not there: %d, %v", n, err)
	}
}

// TestDirectory: what is hidden stays hidden.
func TestDirectory(t *testing.T) {
	r := newRig(t, Options{})
	must(t, r.d.Rename("a", "b"))
	_, err := r.d.Create("c")
	must(t, err)
	must(t, r.d.Remove("c"))
	if names, err := r.d.List(); err != nil || len(names) != 1 || names[0] != "b" {
		t.Errorf("List: %q, %v", names, err)
	}
	if _, err := r.d.Open("a"); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("a file that is not there opens: %v", err)
	}
	if size, err := r.f.Size(); size != 65536 || err != nil {
		t.Errorf("Size: %d, %v", size, err)
	}
	if _, err := r.f.ReadAt(make([]byte, 2), 65535); !errors.Is(err, io.EOF) {
		t.Errorf("a read behind the end: %v", err)
	}
}
