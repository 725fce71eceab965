package disk

import "slices"

// operation is one thing that is written and not durable: what a name stands
// for, or bytes of a file.
type operation struct {
	entry bool
	name  uint64 // entry
	file  *file  // entry: what the name stands for now, nil for nothing; else whose bytes
	off   int64  // of the bytes
	n     int64  // of them, more than 0
	size  int64  // of the file with them
	at    int    // in Disk.snapshots: the sectors as they are with these and all earlier bytes
}

func (o *operation) sectors() extent { return sectorsOf(o.off, o.n) }

// snapshot returns the sectors of o.
func (d *Disk) snapshot(o *operation) []byte { return d.snapshots[o.at : o.at+int(o.sectors().size())] }

// await adds an operation to the pending ones.
func (d *Disk) await(o operation) {
	if len(d.pending) >= maxPending {
		d.writeBack(maxPending / 2)
	}
	d.pending = append(d.pending, o)
}

// writeBack makes the first operations durable, unasked.
func (d *Disk) writeBack(first int) {
	for i := range d.pending[:first] {
		d.landOne(&d.pending[i])
	}
	left := first
	d.forget(func(*operation) bool { left--; return left >= 0 })
}

// landOne makes one operation durable.
func (d *Disk) landOne(o *operation) {
	if o.entry {
		d.durable.set(o.name, o.file)
		return
	}
	o.file.durable.write(o.sectors().off(), d.snapshot(o))
	o.file.durableSize = o.size
	o.file.rewrite(o.off, d.snapshot(o)[o.off%sectorSize:][:o.n])
}

// forget takes operations off the pending ones.
func (d *Disk) forget(gone func(*operation) bool) {
	kept, end := 0, 0
	for i := range d.pending {
		o := &d.pending[i]
		if gone(o) {
			continue
		}
		if !o.entry {
			from := d.snapshot(o)
			o.at = end
			end += copy(d.snapshots[end:], from)
		}
		d.pending[kept] = *o
		kept++
	}
	clear(d.pending[kept:])
	d.pending, d.snapshots = d.pending[:kept], d.snapshots[:end]
}

// put stores p as the write under way.
func (d *Disk) put(f *file, off int64, p []byte) {
	c := &d.underWay
	c.file, c.off, c.n, c.size = f, off, int64(len(p)), f.size
	if len(p) == 0 {
		return
	}
	e := sectorsOf(off, c.n)
	c.above = slices.Grow(c.above[:0], int(e.size()))[:e.size()]
	f.written.read(e.off(), c.above)
	f.written.write(off, p)
	f.size = max(f.size, off+c.n)
	d.await(operation{file: f, off: off, n: c.n, size: f.size, at: len(d.snapshots)})
	d.snapshots = append(d.snapshots, c.above...)
	copy(d.snapshots[len(d.snapshots)-len(c.above)+int(off%sectorSize):], p)
}

// dirty reports whether a sync of f has anything to do.
func (d *Disk) dirty(f *file) bool {
	return slices.ContainsFunc(d.pending, func(o operation) bool { return !o.entry && o.file == f })
}

// land makes the bytes of a file durable.
func (d *Disk) land(f *file) {
	missed := d.miss(f)
	for i := range d.pending {
		if o := &d.pending[i]; !o.entry && o.file == f {
			d.landOne(o)
		}
	}
	for _, m := range missed {
		f.hurt(m.off, m.data, m.kind)
	}
	d.forget(func(o *operation) bool { return !o.entry && o.file == f })
}

// dropDirty takes the bytes of a file for clean, although the medium does not
// have them.
func (d *Disk) dropDirty(f *file) {
	d.forget(func(o *operation) bool {
		if o.entry || o.file != f {
			return false
		}
		f.dropped = append(f.dropped, o.sectors())
		return true
	})
}

// SyncDirectory makes durable what the names stand for, as a process does that
// finds them at its start: whoever made a file may have ended before its name
// was durable.
func (d *Disk) SyncDirectory() {
	if !d.strikes(Lying) {
		d.syncDirectory()
	}
}

// syncDirectory makes all directory entries durable. What was pending for a
// file that is gone with them is forgotten.
func (d *Disk) syncDirectory() {
	for i := range d.pending {
		if d.pending[i].entry {
			d.landOne(&d.pending[i])
		}
	}
	d.forget(func(o *operation) bool { return o.entry || !d.durable.holds(o.file) })
}
