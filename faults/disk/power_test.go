package disk

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"pestle/faults"
	"pestle/sim/random"
)

func open(t require, path string) *Dir {
	d, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

type require interface{ Fatal(args ...any) }

func must(t require, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// files are the real files of a directory, as another program sees them.
func files(t require, path string) map[string][]byte {
	entries, err := os.ReadDir(path)
	must(t, err)
	out := map[string][]byte{}
	for _, e := range entries {
		if !e.IsDir() {
			out[e.Name()], err = os.ReadFile(filepath.Join(path, e.Name()))
			must(t, err)
		}
	}
	return out
}

// both is a disk and the model of it.
type both struct {
	t    *rapid.T
	path string
	d    *Dir
	m    *model
}

func (b *both) open(name string) *File {
	f, err := b.d.Open(name)
	must(b.t, err)
	return f
}

// steps are what sequences are made of.
var names = []string{"a", "b", "c"}

func (b *both) step(t *rapid.T) {
	name := rapid.SampledFrom(names).Draw(t, "name")
	there := b.m.file(name) != nil
	switch what := rapid.SampledFrom([]string{"create", "write", "write", "write", "sync", "fail", "names", "rename", "remove", "kill"}).Draw(t, "step"); {
	case what == "create":
		f, err := b.d.Create(name)
		must(t, err)
		must(t, f.Close())
		b.m.create(name)
	case what == "kill":
		b.d = open(t, b.path)
	case what == "names":
		must(t, b.d.Sync())
		b.m.syncNames()
	case !there:
	case what == "write":
		off := rapid.IntRange(0, 9000).Draw(t, "offset")
		p := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.IntRange(1, 5000).Draw(t, "bytes"))
		f := b.open(name)
		_, err := f.WriteAt(p, int64(off))
		must(t, errors.Join(err, f.Close()))
		b.m.write(name, off, p)
	case what == "sync":
		f := b.open(name)
		must(t, errors.Join(f.Sync(), f.Close()))
		b.m.sync(name, false)
	case what == "fail":
		b.failSync(name)
	case what == "rename":
		to := rapid.SampledFrom(names).Draw(t, "to")
		if to != name {
			must(t, b.d.Rename(name, to))
			b.m.rename(name, to)
		}
	case what == "remove":
		must(t, b.d.Remove(name))
		b.m.remove(name)
	}
}

func (b *both) failSync(name string) {
	must(b.t, b.d.Impose(faults.Fault{Ref: 1, Kind: faults.FsyncError, Count: 1}, 1))
	f := b.open(name)
	err := f.Sync()
	bites, lifted := b.d.Lift(1)
	must(b.t, errors.Join(lifted, f.Close()))
	if failed := errors.Is(err, syscall.EIO); failed != (bites == 1) {
		b.t.Fatal("a failing sync: ", err, " after bites: ", bites)
	} else if failed {
		b.m.sync(name, true)
	}
}

// seedOf finds a seed of a power loss that draws a policy.
func seedOf(how policy, from uint64, pending int) uint64 {
	for seed := from; ; seed++ {
		if drawLot(seed, pending).Policy == how {
			return seed
		}
	}
}

// TestPowerLoss: whatever was done, killed processes in between, a power loss
// leaves what the rules allow, and the next process finds that and no more.
func TestPowerLoss(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		path, err := os.MkdirTemp(root, "")
		must(r, err)
		b := &both{t: r, path: path, d: open(r, path), m: newModel()}
		for range rapid.IntRange(1, 20).Draw(r, "steps") {
			b.step(r)
		}
		for name, content := range files(r, path) {
			if f := b.m.file(name); f == nil || !bytes.Equal(f.written, content) {
				r.Fatalf("%s is not as it was written", name)
			}
		}
		how := policy(rapid.IntRange(0, int(policies)-1).Draw(r, "policy"))
		pending := int64(len(b.d.m.Pending))
		loss, err := b.d.PowerLoss(seedOf(how, rapid.Uint64Range(0, 1<<40).Draw(r, "seed"), int(pending)))
		must(r, err)
		left := files(r, path)
		if why := b.m.objection(left, how); why != "" {
			r.Fatalf("policy %d: %s", how, why)
		}
		if loss.Kept+loss.Torn+loss.Dropped != pending {
			r.Fatalf("of %d operations %+v", pending, loss)
		}
		_, err = open(r, path).PowerLoss(7)
		must(r, err)
		if !maps.EqualFunc(left, files(r, path), bytes.Equal) {
			r.Fatal("a second power loss takes more")
		}
	})
}

// TestRenameIsWhole: after a power loss a renamed file is under its old name or
// under its new one.
func TestRenameIsWhole(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(64) {
		path := t.TempDir()
		d := open(t, path)
		_, err := d.Create("old")
		must(t, errors.Join(err, d.Sync(), d.Rename("old", "new")))
		f, err := d.Open("new")
		must(t, err)
		_, err = f.WriteAt([]byte("x"), 0)
		must(t, err)
		_, err = d.PowerLoss(seed)
		must(t, err)
		names := slices.Collect(maps.Keys(files(t, path)))
		if len(names) != 1 {
			t.Fatalf("seed %d leaves %q", seed, names)
		}
		seen[names[0]]++
	}
	if seen["old"] == 0 || seen["new"] == 0 {
		t.Errorf("left are %v", seen)
	}
}

// TestPowerLossIsFinishedByTheNext: a process that is killed while it rolls
// back leaves the rest to the next one.
func TestPowerLossIsFinishedByTheNext(t *testing.T) {
	for seed := range uint64(32) {
		one, two := t.TempDir(), t.TempDir()
		for _, path := range []string{one, two} {
			d := open(t, path)
			for _, name := range []string{"a", "b"} {
				f, err := d.Create(name)
				must(t, err)
				_, err = f.WriteAt(bytes.Repeat([]byte(name), 20_000), 0)
				must(t, errors.Join(err, d.Sync()))
			}
			must(t, d.Rename("a", "b"))
			if path == one {
				_, err := d.PowerLoss(seed)
				must(t, err)
				continue
			}
			l := drawLot(seed, len(d.m.Pending))
			must(t, d.ledger.append(&record{Lost: &l}))
			d.m.lose(l)
			for _, file := range d.m.survivors()[:1] {
				must(t, d.rollBackFile(file))
			}
			must(t, d.rollBackName("a"))
			open(t, path)
		}
		if got, want := files(t, two), files(t, one); !maps.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("seed %d: %d files are left, not the %d of a whole one", seed, len(got), len(want))
		}
	}
}

// TestPowerLossDrawsBySeed: the same seed leaves the same.
func TestPowerLossDrawsBySeed(t *testing.T) {
	var first map[string][]byte
	for range 3 {
		path := t.TempDir()
		d := open(t, path)
		f, err := d.Create("a")
		must(t, errors.Join(err, d.Sync()))
		for i := range 40 {
			_, err := f.WriteAt(bytes.Repeat([]byte{byte(i + 1)}, 700), int64(i)*600)
			must(t, err)
		}
		_, err = d.PowerLoss(seedOf(garbled, 5, 40))
		must(t, err)
		left := files(t, path)
		if first == nil {
			first = left
		}
		if !maps.EqualFunc(first, left, bytes.Equal) {
			t.Fatal("the same seed leaves something else")
		}
	}
}

// TestNothingReturnsAfterPowerLoss: who waits for the disk waits for ever.
func TestNothingReturnsAfterPowerLoss(t *testing.T) {
	d := open(t, t.TempDir())
	f, err := d.Create("a")
	must(t, err)
	must(t, d.Impose(faults.Fault{Ref: 1, Kind: faults.DiskStuck}, 1))
	returned := make(chan string, 10)
	go func() { _, _ = f.WriteAt([]byte("x"), 0); returned <- "a write that was stuck" }()
	waitForBites(t, d, 1)
	_, err = d.PowerLoss(1)
	must(t, err)
	if !d.Lost() {
		t.Error("the power is lost, and Lost says no")
	}
	for what, do := range map[string]func(){
		"write": func() { _, _ = f.WriteAt([]byte("x"), 0) },
		"read":  func() { _, _ = f.ReadAt(make([]byte, 1), 0) },
		"sync":  func() { _ = f.Sync() },
		"names": func() { _ = d.Sync() },
		"lift":  func() { _, _ = d.Lift(1) },
	} {
		go func() { do(); returned <- what }()
	}
	// Whatever would return has the time that the disk takes for other things.
	other := open(t, t.TempDir())
	for range 20 {
		_, err := other.Create("b")
		must(t, errors.Join(err, other.Sync()))
	}
	select {
	case what := <-returned:
		t.Errorf("%s returns after the power loss", what)
	default:
	}
}

// TestWriteBack: more than so many operations do not stay pending.
func TestWriteBack(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	f, err := d.Create("a")
	must(t, errors.Join(err, d.Sync()))
	block := bytes.Repeat([]byte("x"), 4<<20)
	for i := range int64(12) {
		_, err := f.WriteAt(block, i*4<<20)
		must(t, err)
	}
	held := 0
	for i := range d.m.Pending {
		held += len(d.m.Pending[i].After)
	}
	if held > maxPendingBytes {
		t.Errorf("%d bytes are pending", held)
	}
	for i := range int64(maxPending + 10) {
		_, err := f.WriteAt([]byte{1}, i)
		must(t, err)
	}
	if n := len(d.m.Pending); n > maxPending {
		t.Errorf("%d operations are pending", n)
	}
	_, err = d.PowerLoss(random.New(1).Uint64())
	must(t, err)
	if left := files(t, path)["a"]; len(left) < 8<<20 || left[0] != 1 {
		t.Errorf("what was written back is lost: %d bytes are left", len(left))
	}
}
