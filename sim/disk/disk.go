// Package disk is the simulated disk of one node: its journal directory, kept
// in memory, on which written is not durable. It owns what a crash leaves
// behind, the faults of the medium and of the system calls, and how long each
// operation takes. It never schedules anything, knows no clock and does not
// look into the bytes. Chance comes from the stream it is given, so that the
// same operations and faults give the same bytes, crashes included.
//
// # What is where
//
//	names    file number → file, as the running system sees it and as the
//	         directory on the medium says
//	file     a size and a written and a durable image, each made of 4 KiB
//	         pages; a page that was never written is zeros and takes no room
//	pending  operations in their order that are written and not durable:
//	         directory entries, and writes with what they made of each 512-byte
//	         sector they touch
//	damage   sectors of which the medium holds something else than the durable
//	         image: the work of faults, kept apart, so that healing restores
//
// # An operation under way
//
// Create, Recycle, Write, Sync and Remove are changes. There is at most one under way:
// it shows to readers when it is issued, but for Recycle, and ends with Complete, which the
// caller calls when the latency of its Outcome has passed, also when it
// failed. Only Complete makes durable what the change makes durable. A crash
// in between finds it half done:
//
//	create  no file, a shorter one, or a whole one; its directory entry pending
//	write   its first pages, up to none or all; what there is, pending
//	sync    all of it still pending
//	remove  the file is there, or not, its directory entry pending
//	recycle the file has its old name and content, or no name, its directory
//	        entry pending, or its new name and beginning
//
// Reads may be issued at any time. A stuck Outcome means that nothing was
// begun: no Complete, and the same call again once the fault is healed.
//
// # Crashes
//
// Kill keeps every byte that was written: the kernel has it. PowerLoss draws
// one of four ways to keep some of what is pending: the first operations and
// no others; each page as it was after one of its writes, or before them; the
// same, but for half of the pages sector by sector; or that, with garbage in
// what a lost write was to change. Whatever the draw:
//
//   - a byte that was durable and that no pending write changes stays;
//   - a sector is as it was after one of the writes to it, or durable; only
//     garbage is neither, and only in bytes that those writes changed;
//   - a file without its directory entry is gone with all its bytes, a
//     removed one whose entry is still there is back with its durable ones;
//   - the size and the bytes behind the old size are kept or lost apart: zeros
//     stand where a size came without its bytes.
//
// More than maxPending operations do not stay pending: the kernel writes the
// oldest back in time, as if nobody had asked.
//
// # Example
//
//	d := disk.New(random.New(seed, "disk", "broker-1"), disk.Typical())
//	out := d.Create(1, 16<<20)
//	d.Complete() // out.Latency ns later; now the file is durable
//	d.Write(1, 0, batch)
//	d.Complete()
//	d.Sync(1)
//	d.Crash(disk.PowerLoss) // before Complete: the batch is there, or a part of it, or nothing
//	for _, file := range d.Files() {
//		content, _ := d.Content(file) // what a restarted node finds
//	}
//
//det:ring0
package disk

import (
	"fmt"
	"slices"

	"pestle/sim/lot"
	"pestle/sim/random"
)

const (
	sectorSize = lot.SectorSize
	pageSize   = lot.PageSize

	maxFile    = 1 << 30 // bytes; a larger file is the mistake of a caller
	maxPending = 4096    // operations; see the package comment
)

// Outcome is how an operation goes.
type Outcome struct {
	Latency int64 // ns until it ends, well or not
	Stuck   bool  // it has not begun and will not until the disk is healed; nothing else is set
	Failed  bool
	Text    string // why it failed: what was being done, on what, and the system's word
	Data    []byte // of a Read that did not fail; the caller's
}

// Disk is the disk of one node.
type Disk struct {
	options Options
	latency *random.Stream // apart from the others, so that a fault does not change every latency behind it
	chance  *random.Stream // whether a fault bites, and where
	crash   *random.Stream // what a crash leaves

	names   directory // as the running system sees it
	durable directory // as the medium has it
	lastID  uint64

	pending   []operation
	snapshots []byte // the sectors of pending

	underWay change
	faults   [kinds]fault
}

// New returns an empty disk. It draws from stream once.
func New(stream *random.Stream, options Options) *Disk {
	options.check()
	key := stream.Uint64()
	return &Disk{
		options: options,
		latency: random.New(key, "latency"),
		chance:  random.New(key, "fault"),
		crash:   random.New(key, "crash"),
	}
}

// changeKind is what is under way.
type changeKind uint8

const (
	nothing changeKind = iota
	creating
	writing
	syncing
	removing
	recycling
)

// change is the operation that Complete ends.
type change struct {
	kind  changeKind
	none  bool  // it failed or lied: nothing becomes durable
	drop  bool  // a sync failed: what was to become durable is taken for clean
	file  *file // creating: the new one; recycling: the old one
	name  uint64
	to    uint64 // recycling: the name to be
	head  []byte // recycling: what it is to begin with
	was   *file  // creating, removing: what the name stood for before
	off   int64  // writing
	n     int64  // writing, in bytes
	size  int64  // writing: of the file before
	above []byte // writing: the sectors it touches, as they were before; memory is reused
}

func (d *Disk) begin(kind changeKind, name uint64) {
	if d.underWay.kind != nothing {
		panic(fmt.Sprintf("disk: a change of file %d is issued while one of file %d is under way: call Complete first", name, d.underWay.name))
	}
	d.underWay = change{kind: kind, name: name, above: d.underWay.above[:0]}
}

// Complete ends the change under way. It panics when there is none.
func (d *Disk) Complete() {
	c := &d.underWay
	switch c.kind {
	case nothing:
		panic("disk: Complete, and no change is under way")
	case creating, removing:
		if !c.none {
			d.syncDirectory()
		}
	case recycling:
		if !c.none {
			d.recycle()
		}
	case syncing:
		if c.drop {
			d.dropDirty(c.file)
		} else if !c.none {
			d.land(c.file)
		}
	}
	c.kind, c.file, c.was, c.head = nothing, nil, nil, nil
}

// fail makes the change under way one that failed.
func (d *Disk) fail(latency int64, format string, args ...any) Outcome {
	d.underWay.none = true
	return Outcome{Latency: latency, Failed: true, Text: fmt.Sprintf(format, args...)}
}

// Create makes a file of size zero bytes, in the place of whatever has its
// number, and syncs it and the directory. It fails on a full disk.
func (d *Disk) Create(name uint64, size int64) Outcome {
	if d.strikes(Stuck) {
		return Outcome{Stuck: true}
	}
	d.begin(creating, name)
	took := d.draw(d.options.Create)
	if size < 0 || size > maxFile {
		return d.fail(took, "create journal file %d of %d bytes: the size must be 0 to %d", name, size, maxFile)
	}
	if d.strikes(Full) {
		return d.fail(took, "create journal file %d of %d bytes: no space left on device", name, size)
	}
	d.lastID++
	f := &file{id: d.lastID, size: size, durableSize: size}
	d.enter(name, f)
	return Outcome{Latency: took}
}

// Remove deletes a file and syncs the directory. It fails when there is none.
func (d *Disk) Remove(name uint64) Outcome {
	if d.strikes(Stuck) {
		return Outcome{Stuck: true}
	}
	d.begin(removing, name)
	took := d.draw(d.options.Remove)
	if d.names.file(name) == nil {
		return d.fail(took, "remove journal file %d: it does not exist", name)
	}
	d.enter(name, nil)
	return Outcome{Latency: took}
}

// Recycle gives a file, all of it durable, a new beginning and then another
// name, which no file has, and syncs it and the directory in between and
// afterwards. It fails when there is no file of the name or one of the other.
// head becomes the disk's.
func (d *Disk) Recycle(from, to uint64, head []byte) Outcome {
	if d.strikes(Stuck) {
		return Outcome{Stuck: true}
	}
	d.begin(recycling, from)
	took := d.draw(d.options.Create)
	f := d.names.file(from)
	if f == nil || d.names.file(to) != nil || int64(len(head)) > f.size {
		return d.fail(took, "recycle journal file %d as %d: it does not exist, is shorter than what it is to begin with, or there is one of that number", from, to)
	}
	c := &d.underWay
	c.file, c.to, c.head = f, to, head
	return Outcome{Latency: took}
}

// recycle ends a Recycle.
func (d *Disk) recycle() {
	c := d.underWay
	d.rename(c.name, nil)
	d.put(c.file, 0, c.head)
	if !d.strikes(Lying) {
		d.land(c.file)
	}
	d.rename(c.to, c.file)
}

// rename changes what a name stands for, and syncs the directory.
func (d *Disk) rename(name uint64, f *file) {
	d.names.set(name, f)
	d.await(operation{entry: true, name: name, file: f})
	if !d.strikes(Lying) {
		d.syncDirectory()
	}
}

// enter changes what a name stands for, as part of the change under way.
func (d *Disk) enter(name uint64, f *file) {
	c := &d.underWay
	c.file, c.was, c.none = f, d.names.file(name), d.strikes(Lying)
	d.names.set(name, f)
	d.await(operation{entry: true, name: name, file: f})
}

// Write stores p at an offset. Behind the end it makes the file grow, with
// zeros in between; that fails on a full disk. A short write stores less than
// p and fails. p stays the caller's.
func (d *Disk) Write(name uint64, off int64, p []byte) Outcome {
	if d.strikes(Stuck) {
		return Outcome{Stuck: true}
	}
	d.begin(writing, name)
	took := d.draw(d.options.Write)
	f, n := d.names.file(name), int64(len(p))
	switch {
	case f == nil:
		return d.fail(took, "write %d bytes at %d of journal file %d: it does not exist", n, off, name)
	case off < 0 || off > maxFile-n:
		return d.fail(took, "write %d bytes at %d of journal file %d: it must stay within 0 to %d", n, off, name, maxFile)
	case off+n > f.size && d.strikes(Full):
		return d.fail(took, "write %d bytes at %d of journal file %d of %d bytes: no space left on device", n, off, name, f.size)
	case n > 0 && d.strikes(ShortWrite):
		kept := d.chance.Below(n)
		d.put(f, off, p[:kept])
		return d.fail(took, "write %d bytes at %d of journal file %d: only %d were written: input/output error", n, off, name, kept)
	}
	d.put(f, off, p)
	return Outcome{Latency: took}
}

// Sync makes the writes of a file durable. When it fails, that is told once,
// as Linux does: what was pending is taken for clean, is read as before, and is
// lost with the power unless it is written again.
func (d *Disk) Sync(name uint64) Outcome {
	if d.strikes(Stuck) {
		return Outcome{Stuck: true}
	}
	d.begin(syncing, name)
	f := d.names.file(name)
	took := d.draw(d.options.Sync)
	if f == nil {
		return d.fail(took, "sync journal file %d: it does not exist", name)
	}
	d.underWay.file = f
	dirty := d.dirty(f)
	if dirty && d.strikes(SyncError) {
		d.underWay.drop = true
		return d.fail(took, "sync journal file %d: input/output error", name)
	}
	if dirty && d.strikes(Lying) {
		d.underWay.none = true
		return Outcome{}
	}
	return Outcome{Latency: took}
}

// Read returns n bytes at an offset, as faults let the running system see
// them. It fails behind the end of the file.
func (d *Disk) Read(name uint64, off, n int64) Outcome {
	if d.strikes(Stuck) {
		return Outcome{Stuck: true}
	}
	took := d.draw(d.options.Read)
	f := d.names.file(name)
	var why string
	switch {
	case f == nil:
		why = "it does not exist"
	case off < 0 || n < 0 || n > f.size-off:
		why = fmt.Sprintf("it has %d bytes", f.size)
	case d.strikes(ReadError):
		why = "input/output error"
	default:
		return Outcome{Latency: took, Data: d.view(f, off, n)}
	}
	return Outcome{Latency: took, Failed: true, Text: fmt.Sprintf("read %d bytes at %d of journal file %d: %s", n, off, name, why)}
}

// Files returns the numbers of the files there are, ascending.
func (d *Disk) Files() []uint64 {
	numbers := make([]uint64, len(d.names))
	for i, e := range d.names {
		numbers[i] = e.name
	}
	return numbers
}

// Size returns the length of a file in bytes; false when there is none.
func (d *Disk) Size(name uint64) (int64, bool) {
	f := d.names.file(name)
	if f == nil {
		return 0, false
	}
	return f.size, true
}

// Content returns all of a file as a restarted node finds it, damage included;
// false when there is none. It takes no time and never fails: a Read of the
// whole file is the same with latency and read errors.
func (d *Disk) Content(name uint64) ([]byte, bool) {
	f := d.names.file(name)
	if f == nil {
		return nil, false
	}
	return d.view(f, 0, f.size), true
}

// view reads what the running system sees: the medium, and over it what is
// not there yet. The caller has checked the range.
func (d *Disk) view(f *file, off, n int64) []byte {
	p := make([]byte, n)
	f.written.read(off, p)
	if !f.overlay(off, p) {
		return p
	}
	for i := range d.pending {
		if o := &d.pending[i]; o.file == f && !o.entry {
			lo, hi := max(off, o.off), min(off+n, o.off+o.n)
			if lo < hi {
				copy(p[lo-off:hi-off], d.snapshots[o.at+int(lo-o.off+o.off%sectorSize):])
			}
		}
	}
	return p
}

// directory is the files of a disk by ascending number.
type directory []entry

type entry struct {
	name uint64
	file *file
}

func (l directory) find(name uint64) (int, bool) {
	return slices.BinarySearchFunc(l, name, func(e entry, name uint64) int {
		switch {
		case e.name < name:
			return -1
		case e.name > name:
			return 1
		}
		return 0
	})
}

// file returns the file of a name, nil when there is none.
func (l directory) file(name uint64) *file {
	if i, found := l.find(name); found {
		return l[i].file
	}
	return nil
}

// set makes a name stand for f, or for nothing when f is nil.
func (l *directory) set(name uint64, f *file) {
	i, found := l.find(name)
	switch {
	case found && f != nil:
		(*l)[i].file = f
	case found:
		*l = slices.Delete(*l, i, i+1)
	case f != nil:
		*l = slices.Insert(*l, i, entry{name, f})
	}
}

// holds reports whether some name stands for f.
func (l directory) holds(f *file) bool {
	return slices.ContainsFunc(l, func(e entry) bool { return e.file == f })
}
