package disk

import (
	"bytes"
	"maps"
	"slices"

	"pestle/sim/lot"
)

const (
	sectorSize = lot.SectorSize
	pageSize   = lot.PageSize

	// More than this does not stay pending: the kernel writes the oldest back.
	maxPending      = 4096     // operations
	maxPendingBytes = 32 << 20 // of their sectors
)

// medium is what is durable and what is only written. It does no I/O: the
// same records make the same medium. Its fields are exported for the ledger.
type medium struct {
	Seq     uint64 // of the last operation
	LastID  uint64 // of the last file; never used twice
	Names   map[string]uint64
	Durable map[string]uint64 // what the names stand for on the medium
	Files   map[uint64]*inode
	Pending []operation
	Losing  bool // the power was lost, and the real files are not rolled back yet
}

// inode is one file, whatever its name.
type inode struct {
	Size        int64 // bytes
	DurableSize int64
	Base        map[int64][]byte  // by sector; empty: zeros
	Damage      map[int64]*damage // by sector
}

// damage is a sector that a fault of the medium has changed in the real file.
// Base and pending operations are without it: where a power loss rolls a
// damaged sector back, the damage is gone.
type damage struct {
	Clean []byte // what it holds once the fault is healed
	Ref   int
}

// operation is one thing that is written and not durable.
type operation struct {
	Seq     uint64
	Entries []entry // of the directory; else a write
	File    uint64
	Off     int64
	After   []byte // the sectors that the write touches, as they are with it
	Size    int64  // of the file with it
}

// entry makes a name stand for a file; 0: for nothing.
type entry struct {
	Name string
	File uint64
}

func (o *operation) first() int64 { return o.Off / sectorSize }

func (o *operation) isEntry() bool { return len(o.Entries) > 0 }

// sectors calls do with each sector of a write and what it made of it.
func (o *operation) sectors(do func(sector int64, after []byte)) {
	for at := 0; at < len(o.After); at += sectorSize {
		do(o.first()+int64(at/sectorSize), o.After[at:at+sectorSize])
	}
}

func newMedium() *medium { return (&medium{}).made() }

// made makes the maps that gob leaves out because they are empty.
func (m *medium) made() *medium {
	if m.Names == nil {
		m.Names = map[string]uint64{}
	}
	if m.Durable == nil {
		m.Durable = map[string]uint64{}
	}
	if m.Files == nil {
		m.Files = map[uint64]*inode{}
	}
	for _, f := range m.Files {
		f.made()
	}
	return m
}

func (f *inode) made() *inode {
	if f.Base == nil {
		f.Base = map[int64][]byte{}
	}
	if f.Damage == nil {
		f.Damage = map[int64]*damage{}
	}
	return f
}

// record is one change of a medium: exactly one of its fields is set.
type record struct {
	Snapshot *medium
	Adopt    *adopted
	Enter    []entry // a file that was not known is made, empty
	Write    *written
	Synced   *synced
	Entered  uint64 // the directory was synced: operations up to this number
	Hurt     *hurt
	Lost     *lot.Lot
	Settled  bool // the real files are rolled back
}

// adopted is a file that was found; its name and its bytes are durable.
type adopted struct {
	Name string
	File uint64
	Size int64
}

// written is a write; Before and After are the sectors it touches.
type written struct {
	File          uint64
	Off, N        int64
	Before, After []byte // empty Before: zeros
}

// synced is the end of a sync of a file, over operations up to a number.
type synced struct {
	File uint64
	Upto uint64
	Drop bool // it failed: they are taken for clean and are not durable
}

// hurt changes what the real file holds in a sector, and nothing else.
type hurt struct {
	File   uint64
	Sector int64
	Clean  []byte // empty: it is healed
	Ref    int
}

// apply changes the medium.
func (m *medium) apply(r *record) {
	switch {
	case r.Snapshot != nil:
		*m = *r.Snapshot.made()
	case r.Adopt != nil:
		a := r.Adopt
		m.LastID = max(m.LastID, a.File)
		m.Files[a.File] = (&inode{Size: a.Size, DurableSize: a.Size}).made()
		m.Names[a.Name], m.Durable[a.Name] = a.File, a.File
	case r.Enter != nil:
		m.enter(r.Enter)
	case r.Write != nil:
		m.write(r.Write)
	case r.Synced != nil:
		m.synced(r.Synced)
	case r.Entered > 0:
		m.land(func(o *operation) bool { return o.isEntry() && o.Seq <= r.Entered })
	case r.Hurt != nil:
		m.hurt(r.Hurt)
	case r.Lost != nil:
		m.lose(*r.Lost)
	case r.Settled:
		m.settle()
	}
}

func (m *medium) enter(list []entry) {
	for _, e := range list {
		set(m.Names, e)
		if e.File != 0 && m.Files[e.File] == nil {
			m.LastID = max(m.LastID, e.File)
			m.Files[e.File] = (&inode{}).made()
		}
	}
	m.await(operation{Entries: list})
}

func set(names map[string]uint64, e entry) {
	if e.File == 0 {
		delete(names, e.Name)
	} else {
		names[e.Name] = e.File
	}
}

func (m *medium) write(w *written) {
	f := m.Files[w.File]
	if f == nil {
		return // removed for good, and still open
	}
	f.Size = max(f.Size, w.Off+w.N)
	o := operation{File: w.File, Off: w.Off, After: w.After, Size: f.Size}
	o.sectors(func(s int64, after []byte) {
		d, at := f.Damage[s], (s-o.first())*sectorSize
		if _, known := f.Base[s]; !known {
			f.Base[s] = nil
			if d != nil {
				f.Base[s] = slices.Clone(d.Clean)
			} else if len(w.Before) > 0 {
				f.Base[s] = w.Before[at : at+sectorSize]
			}
		}
		if d != nil {
			d.overwrite(after, w.Off-s*sectorSize, w.N)
			if bytes.Equal(d.Clean, after) {
				delete(f.Damage, s)
			}
			copy(after, d.Clean)
		}
	})
	m.await(o)
}

// overwrite takes n bytes at an offset of a sector for written.
func (d *damage) overwrite(after []byte, off, n int64) {
	lo, hi := max(off, 0), min(off+n, sectorSize)
	copy(d.Clean[lo:hi], after[lo:hi])
}

// await adds an operation to the pending ones.
func (m *medium) await(o operation) {
	m.Seq++
	o.Seq = m.Seq
	m.Pending = append(m.Pending, o)
	held := 0
	for i := range m.Pending {
		held += len(m.Pending[i].After)
	}
	if len(m.Pending) > maxPending || held > maxPendingBytes && len(m.Pending) > 1 {
		upto := m.Pending[len(m.Pending)/2-1].Seq
		m.land(func(o *operation) bool { return o.Seq <= upto })
	}
}

// dirty reports whether a sync of a file has anything to do.
func (m *medium) dirty(file uint64) bool {
	return slices.ContainsFunc(m.Pending, func(o operation) bool { return !o.isEntry() && o.File == file })
}

func (m *medium) synced(s *synced) {
	of := func(o *operation) bool { return !o.isEntry() && o.File == s.File && o.Seq <= s.Upto }
	if s.Drop {
		m.Pending = slices.DeleteFunc(m.Pending, func(o operation) bool { return of(&o) })
		return
	}
	m.land(of)
}

// land makes operations durable.
func (m *medium) land(which func(*operation) bool) {
	touched := map[uint64]map[int64]bool{} // by what lands
	m.Pending = slices.DeleteFunc(m.Pending, func(o operation) bool {
		if !which(&o) {
			return false
		}
		for _, e := range o.Entries {
			set(m.Durable, e)
		}
		if f := m.Files[o.File]; f != nil {
			f.DurableSize = o.Size
			if touched[o.File] == nil {
				touched[o.File] = map[int64]bool{}
			}
			o.sectors(func(s int64, after []byte) { f.Base[s], touched[o.File][s] = after, true })
		}
		return true
	})
	for i := range m.Pending { // these sectors stay different from the medium
		if o := &m.Pending[i]; touched[o.File] != nil {
			o.sectors(func(s int64, _ []byte) { delete(touched[o.File], s) })
		}
	}
	for file, sectors := range touched {
		for s := range sectors {
			delete(m.Files[file].Base, s)
		}
	}
	m.collect()
}

// collect forgets the files that no crash brings back.
func (m *medium) collect() {
	held := map[uint64]bool{}
	for _, names := range []map[string]uint64{m.Names, m.Durable} {
		for _, file := range names {
			held[file] = true
		}
	}
	for i := range m.Pending {
		for _, e := range m.Pending[i].Entries {
			held[e.File] = true
		}
	}
	maps.DeleteFunc(m.Files, func(file uint64, _ *inode) bool { return !held[file] })
	m.Pending = slices.DeleteFunc(m.Pending, func(o operation) bool { return !o.isEntry() && m.Files[o.File] == nil })
}

func (m *medium) hurt(h *hurt) {
	f := m.Files[h.File]
	if len(h.Clean) > 0 {
		f.Damage[h.Sector] = &damage{Clean: h.Clean, Ref: h.Ref}
		return
	}
	delete(f.Damage, h.Sector)
}

// damaged lists the sectors that a fault has changed, in a fixed order.
func (m *medium) damaged(ref int) (list []hurt) {
	for _, file := range slices.Sorted(maps.Keys(m.Files)) {
		f := m.Files[file]
		for _, s := range slices.Sorted(maps.Keys(f.Damage)) {
			if f.Damage[s].Ref == ref {
				list = append(list, hurt{File: file, Sector: s, Ref: ref})
			}
		}
	}
	return list
}
