package disk

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"pestle/faults"
)

// wrong is what a fault of the medium makes a sector hold.
type wrong struct {
	hurt         // Clean: what it would hold without
	holds []byte //
}

// extent is a run of sectors; to is the first one behind it.
type extent struct{ from, to int64 }

// runs returns the sectors that a sync of a file writes, ascending and joined.
func (m *medium) runs(file, upto uint64) []extent {
	var all []extent
	for i := range m.Pending {
		if o := &m.Pending[i]; !o.isEntry() && o.File == file && o.Seq <= upto {
			all = append(all, extent{o.first(), o.first() + int64(len(o.After)/sectorSize)})
		}
	}
	slices.SortFunc(all, func(a, b extent) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
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

// miss decides which of the writes that a sync makes durable do not land where
// they should. A write of the medium is a run of sectors.
func (d *Dir) miss(f *File, upto uint64) (list []wrong, err error) {
	if d.faults[faults.LostWrite] == nil && d.faults[faults.MisdirectedWrite] == nil {
		return nil, nil
	}
	node := d.m.Files[f.id]
	var astray []wrong
	for _, e := range d.m.runs(f.id, upto) {
		places := node.Size/sectorSize - (e.to - e.from) // where else it can go
		switch {
		case d.strikes(faults.LostWrite):
			err = d.stale(&list, f, e, d.faults[faults.LostWrite].Ref)
		case places > 0 && d.strikes(faults.MisdirectedWrite):
			fault := d.faults[faults.MisdirectedWrite]
			to := fault.draw.Below(places)
			if to >= e.from {
				to++
			}
			err = errors.Join(d.stale(&list, f, e, fault.Ref), d.astray(&astray, f, e, to, fault.Ref))
		}
		if err != nil {
			return nil, err
		}
	}
	return append(list, astray...), nil
}

// stale leaves a run as the medium had it. What an earlier fault has kept from a
// sector does not come to it now: only what is written anew is taken back.
func (d *Dir) stale(list *[]wrong, f *File, e extent, ref int) error {
	for s := e.from; s < e.to; s++ {
		now, err := d.sector(f.file, s)
		if err != nil {
			return err
		}
		ideal, holds, before := now, slices.Clone(now), whole(d.m.Files[f.id].Base[s])
		if damage := d.m.Files[f.id].Damage[s]; damage != nil {
			ideal = damage.Clean
		}
		for i := range holds {
			if ideal[i] != before[i] {
				holds[i] = before[i]
			}
		}
		*list = append(*list, wrong{hurt{File: f.id, Sector: s, Clean: now, Ref: ref}, holds})
	}
	return nil
}

// astray puts a run somewhere else, but not over what is not durable there
// itself: that will be written again.
func (d *Dir) astray(list *[]wrong, f *File, e extent, to int64, ref int) error {
	for s := e.from; s < e.to; s++ {
		at := to + s - e.from
		if _, pending := d.m.Files[f.id].Base[at]; pending && (at < e.from || at >= e.to) {
			continue
		}
		now, err := d.sector(f.file, s)
		if err != nil {
			return err
		}
		there, err := d.sector(f.file, at)
		if err != nil {
			return err
		}
		*list = append(*list, wrong{hurt{File: f.id, Sector: at, Clean: there, Ref: ref}, now})
	}
	return nil
}

// sector reads what a file really holds.
func (d *Dir) sector(f *os.File, sector int64) ([]byte, error) {
	p := make([]byte, sectorSize)
	_, err := readFull(f, p, sector*sectorSize)
	return p, err
}

// harm makes sectors hold what they should not. It is noted first: a kill in
// between leaves nothing that cannot be healed.
func (d *Dir) harm(list []wrong) error {
	for _, w := range list {
		node := d.m.Files[w.File]
		if node == nil {
			continue
		}
		if before := node.Damage[w.Sector]; before != nil {
			w.Clean = before.Clean
		}
		if bytes.Equal(w.Clean, w.holds) {
			continue
		}
		w.Clean = slices.Clone(w.Clean)
		if err := d.note(record{Hurt: &w.hurt}); err != nil {
			return err
		}
		if err := d.overwrite(w.File, w.Sector, w.holds); err != nil {
			return err
		}
	}
	return nil
}

// overwrite puts bytes into a sector of a real file, as far as the file goes.
func (d *Dir) overwrite(file uint64, sector int64, p []byte) error {
	f, err := os.OpenFile(d.link(file), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("damage or heal a file: %w", err)
	}
	size := d.m.Files[file].Size
	_, err = f.WriteAt(p[:min(sectorSize, size-sector*sectorSize)], sector*sectorSize)
	return errors.Join(err, f.Close())
}

// heal undoes the damage of a fault.
func (d *Dir) heal(ref int) error {
	for _, h := range d.m.damaged(ref) {
		if err := d.overwrite(h.File, h.Sector, d.m.Files[h.File].Damage[h.Sector].Clean); err != nil {
			return err
		}
		if err := d.note(record{Hurt: &h}); err != nil {
			return err
		}
	}
	return nil
}

// rot turns bits of pages that are durable and hold something.
func (d *Dir) rot(fault *fault) error {
	pages, err := d.stored()
	if err != nil || len(pages) == 0 {
		return err
	}
	for range fault.Count {
		at := pages[fault.draw.Below(int64(len(pages)))]
		node := d.m.Files[at.file]
		off := at.sector*sectorSize + fault.draw.Below(min(pageSize, node.Size-at.sector*sectorSize))
		f, err := os.Open(d.link(at.file))
		if err != nil {
			return fmt.Errorf("rot: %w", err)
		}
		clean, err := d.sector(f, off/sectorSize)
		f.Close()
		if err != nil {
			return fmt.Errorf("rot: %w", err)
		}
		holds := slices.Clone(clean)
		holds[off%sectorSize] ^= 1 << fault.draw.Below(8)
		if err := d.harm([]wrong{{hurt{File: at.file, Sector: off / sectorSize, Clean: clean, Ref: fault.Ref}, holds}}); err != nil {
			return err
		}
		fault.bites++
	}
	return nil
}

// place is a sector of a file.
type place struct {
	file   uint64
	sector int64
}

// stored lists the first sectors of the pages that are not all zeros and have
// nothing that is not durable.
func (d *Dir) stored() (pages []place, err error) {
	for _, file := range d.m.survivors() {
		content, err := os.ReadFile(d.link(file))
		if err != nil {
			return nil, fmt.Errorf("look for what is stored: %w", err)
		}
		base := d.m.Files[file].Base
		for first := int64(0); first*sectorSize < int64(len(content)); first += pageSize / sectorSize {
			page := content[first*sectorSize : min(int64(len(content)), first*sectorSize+pageSize)]
			pending := false
			for s := range int64(pageSize / sectorSize) {
				_, is := base[first+s]
				pending = pending || is
			}
			if !pending && slices.ContainsFunc(page, func(b byte) bool { return b != 0 }) {
				pages = append(pages, place{file, first})
			}
		}
	}
	return pages, nil
}
