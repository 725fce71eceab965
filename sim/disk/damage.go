package disk

import (
	"bytes"
	"cmp"
	"slices"
)

// damaged is a sector of which the medium holds something else than the
// durable image.
type damaged struct {
	sector int64
	kind   Kind // the newest fault that had to do with it: who heals it
	data   [sectorSize]byte
}

func (f *file) findDamage(sector int64) (int, bool) {
	return slices.BinarySearchFunc(f.damage, sector, func(s damaged, sector int64) int { return cmp.Compare(s.sector, sector) })
}

// medium returns sectors as the medium has them.
func (f *file) medium(e extent) []byte {
	p := make([]byte, e.size())
	f.durable.read(e.off(), p)
	f.overlay(e.off(), p)
	return p
}

// overlay puts the damage at an offset over p. It reports whether there is
// any.
func (f *file) overlay(off int64, p []byte) bool {
	if len(f.damage) == 0 {
		return false
	}
	end := off + int64(len(p))
	first, _ := f.findDamage(off / sectorSize)
	hit := false
	for _, s := range f.damage[first:] {
		at := s.sector * sectorSize
		lo, hi := max(off, at), min(end, at+sectorSize)
		if lo >= hi {
			break
		}
		copy(p[lo-off:hi-off], s.data[lo-at:hi-at])
		hit = true
	}
	return hit
}

// hurt makes the medium hold data, whole sectors, at an offset.
func (f *file) hurt(off int64, data []byte, kind Kind) {
	var clean [sectorSize]byte
	for ; len(data) > 0; off, data = off+sectorSize, data[sectorSize:] {
		i, found := f.findDamage(off / sectorSize)
		f.durable.read(off, clean[:])
		switch same := bytes.Equal(clean[:], data[:sectorSize]); {
		case same && found:
			f.damage = slices.Delete(f.damage, i, i+1)
			continue
		case same:
			continue
		case !found:
			f.damage = slices.Insert(f.damage, i, damaged{sector: off / sectorSize})
		}
		f.damage[i].kind = kind
		copy(f.damage[i].data[:], data)
	}
}

// rewrite makes the medium hold p at an offset where it has landed: damage
// stays in the bytes of a sector that were not written.
func (f *file) rewrite(off int64, p []byte) {
	if len(f.damage) == 0 {
		return
	}
	end := off + int64(len(p))
	var clean [sectorSize]byte
	for i := len(f.damage) - 1; i >= 0; i-- {
		s := &f.damage[i]
		at := s.sector * sectorSize
		lo, hi := max(off, at), min(end, at+sectorSize)
		if lo >= hi {
			continue
		}
		copy(s.data[lo-at:hi-at], p[lo-off:hi-off])
		f.durable.read(at, clean[:])
		if s.data == clean {
			f.damage = slices.Delete(f.damage, i, i+1)
		}
	}
}

// rot turns one bit of a page that is stored, if there is any.
func (d *Disk) rot() {
	var stored int64
	d.eachFile(func(f *file) { stored += f.durable.stored() })
	if stored == 0 {
		return
	}
	skip := d.chance.Below(stored)
	d.eachFile(func(f *file) {
		n := f.durable.stored()
		if skip >= 0 && skip < n {
			start := f.durable.nth(skip) * pageSize
			off := start + d.chance.Below(min(pageSize, f.durableSize-start))
			e := sectorsOf(off, 1)
			data := f.medium(e)
			data[off%sectorSize] ^= 1 << d.chance.Below(8)
			f.hurt(e.off(), data, BitRot)
			d.faults[BitRot].bites++
		}
		skip -= n
	})
}

// missed is what the medium will hold at an offset when a sync went wrong
// unseen.
type missed struct {
	off  int64
	data []byte // whole sectors
	kind Kind
}

// miss decides which of the writes that make f durable do not land where they
// should. A write of the medium is a run of sectors.
func (d *Disk) miss(f *file) []missed {
	if !d.faults[LostWrite].on && !d.faults[Misdirected].on {
		return nil
	}
	var stale, astray []missed
	for _, e := range d.runs(f) {
		places := f.size/sectorSize - (e.to - e.from) // where else it can go
		switch {
		case d.strikes(LostWrite):
			stale = append(stale, missed{e.off(), f.medium(e), LostWrite})
		case places > 0 && d.strikes(Misdirected):
			stale = append(stale, missed{e.off(), f.medium(e), Misdirected})
			to := d.chance.Below(places)
			if to >= e.from {
				to++
			}
			astray = append(astray, missed{to * sectorSize, d.view(f, e.off(), e.size()), Misdirected})
		}
	}
	return append(stale, astray...)
}

// runs returns the sectors that a sync of f writes, ascending and joined.
func (d *Disk) runs(f *file) []extent {
	var all []extent
	for i := range d.pending {
		if o := &d.pending[i]; !o.entry && o.file == f {
			all = append(all, o.sectors())
		}
	}
	slices.SortFunc(all, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	joined := all[:0]
	for _, e := range all {
		if n := len(joined); n > 0 && e.from <= joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, e.to)
		} else {
			joined = append(joined, e)
		}
	}
	return joined
}

// Damaged reports whether the medium holds something else than what was made
// durable, in any of n bytes at an offset of a file: a fault hides the truth,
// and Heal brings it back. Without damage, what is not there was really lost.
func (d *Disk) Damaged(name uint64, off, n int64) bool {
	clean, ok := d.CleanBytes(name, off, n)
	if !ok || n == 0 {
		return false
	}
	e := sectorsOf(off, n)
	return !bytes.Equal(clean, d.names.file(name).medium(e)[off-e.off():][:n])
}

// CleanBytes returns what the medium would hold without damage in n bytes at
// an offset of a file: what was made durable. It returns false where there
// is no such file or place.
func (d *Disk) CleanBytes(name uint64, off, n int64) ([]byte, bool) {
	f := d.names.file(name)
	if f == nil || off < 0 || n < 0 || n > f.size-off {
		return nil, false
	}
	p := make([]byte, n)
	f.durable.read(off, p)
	return p, true
}

// eachFile calls do for each file that is there, or that a crash can bring
// back, in an order that depends only on what happened.
func (d *Disk) eachFile(do func(*file)) {
	for _, e := range d.names {
		do(e.file)
	}
	for _, e := range d.durable {
		if !d.names.holds(e.file) {
			do(e.file)
		}
	}
	for i := range d.pending {
		if o := &d.pending[i]; o.entry && o.file != nil && !d.names.holds(o.file) && !d.durable.holds(o.file) {
			do(o.file)
		}
	}
}

// stored counts the pages that take room.
func (m *image) stored() int64 {
	var n int64
	for _, p := range m.pages {
		if p != nil {
			n++
		}
	}
	return n
}

// nth returns the index of the stored page that has n others before it.
func (m *image) nth(n int64) int64 {
	for i, p := range m.pages {
		if p == nil {
			continue
		}
		if n == 0 {
			return int64(i)
		}
		n--
	}
	panic("disk: fewer pages are stored than were counted")
}
