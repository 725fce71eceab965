package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"pestle/faults"
	"pestle/sim/lot"
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

// names are those of the files of a sequence.
var names = []string{"a", "b", "c"}

// step does something, if it is possible.
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

// failSync lets a sync fail, if it has something to do.
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
func seedOf(how lot.Policy, from uint64, pending int) uint64 {
	for seed := from; ; seed++ {
		if lot.Draw(random.New(seed, "power-loss"), pending).Policy == how {
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
		how := lot.Policy(rapid.IntRange(0, int(lot.Policies)-1).Draw(r, "policy"))
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

// TestRenamesInOrder: a later rename of a file is not there without the earlier
// ones that it rests on, also where two rows of renames meet.
func TestRenamesInOrder(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(400) {
		path := t.TempDir()
		d := open(t, path)
		for _, name := range []string{"a", "c"} {
			f, err := d.Create(name)
			must(t, err)
			_, err = f.WriteAt([]byte(name), 0)
			must(t, errors.Join(err, f.Sync(), d.Sync(), f.Close()))
		}
		must(t, errors.Join(d.Rename("c", "d"), d.Rename("a", "b"), d.Rename("b", "c"), d.Rename("d", "e")))
		_, err := d.PowerLoss(seed)
		must(t, err)
		left := ""
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			if p, there := files(t, path)[name]; there {
				left += name + "=" + string(p) + " "
			}
		}
		seen[left] = true
	}
	for _, want := range []string{"a=a c=c ", "a=a d=c ", "b=a d=c ", "c=a d=c ", "c=a e=c "} {
		if !seen[want] {
			t.Errorf("never left: %s", want)
		}
		delete(seen, want)
	}
	for left := range seen {
		t.Errorf("left: %s", left)
	}
}

// TestGarbage is where a lost write was to change a byte, and nowhere else.
func TestGarbage(t *testing.T) {
	garbage := int64(0)
	for seed := range uint64(60) {
		r := newRig(t, Options{})
		for at := int64(0); at < 65536; at += 512 {
			r.write("changed", at+256)
		}
		loss, err := r.d.PowerLoss(seedOf(lot.Garbled, seed*1000, 128))
		must(t, err)
		garbage += loss.Garbage
		for at, b := range files(t, r.path)["a"] {
			if in := at % 512; (in < 256 || in >= 263) && b != content[at%len(content)] {
				t.Fatalf("seed %d: garbage at %d, where nothing was written", seed, at)
			}
		}
	}
	if garbage == 0 {
		t.Error("there was no garbage")
	}
}

// seedWith finds a seed of a power loss that keeps the first operations.
func seedWith(first, pending int) uint64 {
	for seed := uint64(0); ; seed++ {
		if l := lot.Draw(random.New(seed, "power-loss"), pending); l.Policy == lot.Prefix && l.First == first {
			return seed
		}
	}
}

// TestKillBeforeRecord: what a killed process had done last is there, whether
// the ledger knows of it or not, and is not durable.
func TestKillBeforeRecord(t *testing.T) {
	for _, c := range []struct {
		name          string
		do            func(t *testing.T, r *rig) error // to the real files
		after, before string                           // what is left with it and without
	}{
		{"create", func(t *testing.T, r *rig) error { return createAside(r, "b") }, "a b=", "a"},
		{"create in the place of another", func(t *testing.T, r *rig) error { return createAside(r, "a") }, "a=", "a"},
		{"rename", func(t *testing.T, r *rig) error { return os.Rename(r.d.name("a"), r.d.name("b")) }, "b", "a"},
		{"remove", func(t *testing.T, r *rig) error { return os.Remove(r.d.name("a")) }, "", "a"},
		{"grow", func(t *testing.T, r *rig) error { _, err := r.f.file.WriteAt([]byte("xy"), 65535); return err }, "a+1", "a"},
	} {
		for _, lose := range []bool{false, true} {
			r := newRig(t, Options{})
			must(t, c.do(t, r))
			d := open(t, r.path)
			if got := described(t, r.path); got != c.after {
				t.Errorf("%s: the next process finds %q, not %q", c.name, got, c.after)
			}
			pending, want := len(d.m.Pending), c.after
			seed := seedWith(pending, pending)
			if lose {
				seed, want = seedWith(0, pending), c.before
			}
			_, err := d.PowerLoss(seed)
			must(t, err)
			if got := described(t, r.path); got != want {
				t.Errorf("%s, lost: %v: left is %q, not %q", c.name, lose, got, want)
			}
			links, err := os.ReadDir(d.hidden(""))
			if must(t, err); len(links) != len(files(t, r.path))+1 {
				t.Errorf("%s, lost: %v: %d files are left behind", c.name, lose, len(links)-1)
			}
		}
	}
}

// createAside does what Create does before it notes it.
func createAside(r *rig, name string) error {
	file := r.d.m.LastID + 1
	return errors.Join(os.WriteFile(r.d.link(file), nil, 0o644), r.d.place(file, name))
}

// described names the files; = marks an empty one, and +n one that grew.
func described(t *testing.T, path string) string {
	left := files(t, path)
	var words []string
	for _, name := range slices.Sorted(maps.Keys(left)) {
		switch n := len(left[name]); {
		case n == 0:
			name += "="
		case n > 65536:
			name += fmt.Sprintf("+%d", n-65536)
		}
		words = append(words, name)
	}
	return strings.Join(words, " ")
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
			l := lot.Draw(random.New(seed, "power-loss"), len(d.m.Pending))
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
		_, err = d.PowerLoss(seedOf(lot.Garbled, 5, 40))
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

// TestWriteBack: more than so many bytes do not stay pending.
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
}

// TestWrittenBackIsDurable: of a sector that was written again and again, a
// power loss takes no more than what is pending.
func TestWrittenBackIsDurable(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	f, err := d.Create("a")
	must(t, errors.Join(err, d.Sync()))
	const writes = maxPending + 100
	for i := range writes {
		_, err := f.WriteAt(binary.BigEndian.AppendUint32(nil, uint32(i+1)), 0)
		must(t, err)
	}
	pending := len(d.m.Pending)
	if pending > maxPending {
		t.Errorf("%d operations are pending", pending)
	}
	_, err = d.PowerLoss(seedWith(0, pending))
	must(t, err)
	if got := binary.BigEndian.Uint32(files(t, path)["a"]); int(got) != writes-pending {
		t.Errorf("the write left is number %d of %d, of which %d were pending", got, writes, pending)
	}
}

// TestFirstOpen: what a broker without faults has left is durable, and what is
// no file is left alone.
func TestFirstOpen(t *testing.T) {
	path := t.TempDir()
	must(t, errors.Join(os.WriteFile(filepath.Join(path, "a"), []byte("old"), 0o644), os.Mkdir(filepath.Join(path, "other"), 0o755)))
	d := open(t, path)
	if _, err := d.Open("other"); err == nil {
		t.Error("a directory opens as a file")
	}
	f, err := d.Open("a")
	must(t, err)
	_, err = f.WriteAt([]byte("new, and longer"), 0)
	must(t, err)
	_, err = d.PowerLoss(seedWith(0, len(d.m.Pending)))
	must(t, err)
	if left := files(t, path); string(left["a"]) != "old" {
		t.Errorf("left are %q", left)
	}
	if _, err := os.Stat(filepath.Join(path, "other")); err != nil {
		t.Errorf("the directory is gone: %v", err)
	}
}
