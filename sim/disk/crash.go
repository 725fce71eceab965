package disk

import (
	"slices"

	"pestle/sim/lot"
)

// Crash is a way for a node to end.
type Crash uint8

// The ways.
const (
	Kill      Crash = iota // the process is gone, and the kernel has what it wrote
	PowerLoss              // what is not durable is at the mercy of a draw
)

// Loss counts what became of the operations that were pending when the power
// was lost. It is zero for Kill.
type Loss struct {
	Kept    int64 // operations that are there as if they had been durable
	Torn    int64 // of which some sectors are there
	Dropped int64 // of which nothing is there
	Garbage int64 // sectors with garbage in them
}

// Crash ends the operation under way and, with the power, takes what is not
// durable. Faults stay as they are.
func (d *Disk) Crash(how Crash) Loss {
	d.interrupt()
	if how == Kill {
		return Loss{}
	}
	return d.losePower(lot.Draw(d.crash, len(d.pending)))
}

// interrupt leaves the change under way half done.
func (d *Disk) interrupt() {
	c := &d.underWay
	switch {
	case c.kind == creating && c.file != nil:
		switch d.crash.Below(3) {
		case 0:
			d.unenter()
		case 1:
			c.file.size = d.crash.Below(c.file.size/pageSize+1) * pageSize
			c.file.durableSize = c.file.size
		}
	case c.kind == removing && c.was != nil:
		if d.crash.Below(2) == 0 {
			d.unenter()
		}
	case c.kind == recycling && c.file != nil:
		switch d.crash.Below(3) {
		case 0:
			d.names.set(c.name, nil)
			d.await(operation{entry: true, name: c.name})
		case 1:
			d.recycle()
		}
	case c.kind == writing && c.n > 0:
		pages := (c.off+c.n-1)/pageSize - c.off/pageSize + 1
		kept := (c.off/pageSize+d.crash.Below(pages+1))*pageSize - c.off
		d.cutWrite(min(max(kept, 0), c.n))
	}
	c.kind, c.file, c.was, c.head = nothing, nil, nil, nil
}

// unenter takes back what the change under way did to the directory.
func (d *Disk) unenter() {
	d.names.set(d.underWay.name, d.underWay.was)
	d.pending = d.pending[:len(d.pending)-1]
}

// cutWrite leaves the first n bytes of the write under way.
func (d *Disk) cutWrite(n int64) {
	c := d.underWay
	if n == c.n {
		return
	}
	last := len(d.pending) - 1
	o := d.pending[last]
	p := slices.Clone(d.snapshot(&o)[o.off%sectorSize:][:n])
	c.file.written.write(o.sectors().off(), c.above)
	c.file.size = c.size
	d.pending, d.snapshots = d.pending[:last], d.snapshots[:o.at]
	d.put(c.file, c.off, p)
}

// losePower makes what the lot keeps durable, and what is durable all there is.
func (d *Disk) losePower(l lot.Lot) Loss {
	var loss Loss
	for i := range d.pending {
		o := &d.pending[i]
		kept, whole := 0, 1
		if o.entry {
			if i < l.Name(o.name) {
				d.durable.set(o.name, o.file)
				kept = 1
			}
		} else {
			var garbage int64
			kept, garbage = d.landPart(l, i)
			whole = int(o.sectors().to - o.sectors().from)
			loss.Garbage += garbage
		}
		switch kept {
		case whole:
			loss.Kept++
		case 0:
			loss.Dropped++
		default:
			loss.Torn++
		}
	}
	d.forgetUnsynced()
	return loss
}

// landPart makes durable what the lot keeps of an operation on bytes. It
// returns how many of its sectors those are and how many others have garbage.
func (d *Disk) landPart(l lot.Lot, i int) (kept int, garbage int64) {
	o := &d.pending[i]
	f := o.file
	if i < l.Size(f.id) {
		f.durableSize = o.size
	}
	e := o.sectors()
	for s := e.from; s < e.to; s++ {
		content := d.snapshot(o)[(s-e.from)*sectorSize:][:sectorSize]
		switch {
		case i < l.Sector(f.id, s):
			lo, hi := max(o.off-s*sectorSize, 0), min(o.off+o.n-s*sectorSize, sectorSize)
			f.durable.write(s*sectorSize, content)
			f.rewrite(s*sectorSize+lo, content[lo:hi])
			kept++
		case l.Garbage(f.id, s):
			d.garble(f, s, content)
			garbage++
		}
	}
	return kept, garbage
}

// garble puts garbage where a lost write was to change a sector.
func (d *Disk) garble(f *file, sector int64, content []byte) {
	var is [sectorSize]byte
	f.durable.read(sector*sectorSize, is[:])
	for i := range is {
		if is[i] != content[i] {
			is[i] = byte(d.crash.Uint64())
		}
	}
	f.durable.write(sector*sectorSize, is[:])
}

// forgetUnsynced makes the running system see what is durable, and no more.
func (d *Disk) forgetUnsynced() {
	d.names = slices.Clone(d.durable)
	for i := range d.pending {
		if o := &d.pending[i]; !o.entry {
			o.file.revert(o.sectors())
		}
	}
	d.forget(func(*operation) bool { return true })
	for _, e := range d.names {
		for _, x := range e.file.dropped {
			e.file.revert(x)
		}
		e.file.dropped = nil
		if e.file.durableSize < e.file.size {
			e.file.shrink()
		}
	}
}
