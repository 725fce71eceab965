package disk

import (
	"maps"
	"slices"
	"strconv"

	"pestle/sim/lot"
	"pestle/sim/random"
)

// Loss counts what became of the operations that were pending when the power
// was lost.
type Loss struct {
	Kept    int64 `json:"kept"`    // operations that are there as if they had been durable
	Torn    int64 `json:"torn"`    // of which some sectors are there
	Dropped int64 `json:"dropped"` // of which nothing is there
	Garbage int64 `json:"garbage"` // sectors with garbage in them
}

// lose makes what the lot keeps durable. Base and Durable are then what the
// real files have to be rolled back to; settle ends it.
func (m *medium) lose(l lot.Lot) Loss {
	var loss Loss
	groups := m.groups()
	for i := range m.Pending {
		o := &m.Pending[i]
		kept, whole := 0, 1
		if o.isEntry() {
			if i < l.Name(random.New(l.Key, groups[o.Entries[0].Name]).Uint64()) {
				kept = 1
				for _, e := range o.Entries {
					set(m.Durable, e)
				}
			}
		} else {
			var garbage int64
			kept, garbage = m.landPart(l, i)
			whole = len(o.After) / sectorSize
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
	m.Pending, m.Losing = nil, true
	return loss
}

// landPart makes durable what the lot keeps of a write. It returns how many of
// its sectors those are and how many others have garbage.
func (m *medium) landPart(l lot.Lot, i int) (kept int, garbage int64) {
	o := &m.Pending[i]
	f := m.Files[o.File]
	if i < l.Size(o.File) {
		f.DurableSize = o.Size
	}
	o.sectors(func(s int64, after []byte) {
		switch {
		case i < l.Sector(o.File, s):
			f.Base[s] = after
			kept++
		case l.Garbage(o.File, s):
			f.Base[s] = garble(f.Base[s], after, random.New(random.Mix(random.Mix(l.Key^o.File)^uint64(s)), strconv.Itoa(i)))
			garbage++
		}
	})
	return kept, garbage
}

// whole is a copy of a sector of a base.
func whole(base []byte) []byte {
	p := make([]byte, sectorSize)
	copy(p, base)
	return p
}

// garble puts garbage where a lost write was to change a sector.
func garble(is, after []byte, draw *random.Stream) []byte {
	out := whole(is)
	for i := range out {
		if out[i] != after[i] {
			out[i] = byte(draw.Uint64())
		}
	}
	return out
}

// groups names the group of each name in a pending change of the directory.
// Names that a rename joins are in one: a file is under its old name or under
// its new one, and never under none.
func (m *medium) groups() map[string]string {
	groups := map[string]string{}
	for i := range m.Pending {
		list := m.Pending[i].Entries
		if len(list) == 0 {
			continue
		}
		into := list[0].Name
		for _, e := range list {
			old, known := groups[e.Name]
			groups[e.Name] = into
			for name, g := range groups {
				if known && g == old {
					groups[name] = into
				}
			}
		}
	}
	return groups
}

// survivors are the files that are there after the loss, in a fixed order.
func (m *medium) survivors() []uint64 {
	return slices.Compact(slices.Sorted(maps.Values(m.Durable)))
}

// settle makes what is durable all there is.
func (m *medium) settle() {
	m.Names, m.Losing = maps.Clone(m.Durable), false
	m.collect()
	for _, f := range m.Files {
		f.Size = f.DurableSize
		maps.DeleteFunc(f.Damage, func(s int64, _ *damage) bool {
			_, rolledBack := f.Base[s]
			return rolledBack || s*sectorSize >= f.Size
		})
		clear(f.Base)
	}
}
