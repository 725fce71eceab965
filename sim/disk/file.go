package disk

// file is one journal file. A name can come to stand for another one, while a
// crash may still bring the old one back.
type file struct {
	id uint64 // never used twice

	written image // what the kernel has
	size    int64 // bytes

	durable     image // what the medium has, or would have without damage
	durableSize int64

	dropped []extent // the two images differ here and nothing is pending: a sync failed

	damage []damaged // what the medium has instead, by ascending sector
}

// extent is a run of sectors.
type extent struct{ from, to int64 } // to is the first one behind it

// sectorsOf returns the sectors that hold n > 0 bytes at an offset.
func sectorsOf(off, n int64) extent {
	return extent{off / sectorSize, (off + n + sectorSize - 1) / sectorSize}
}

func (e extent) off() int64  { return e.from * sectorSize }
func (e extent) size() int64 { return (e.to - e.from) * sectorSize }

// revert makes the running system see what is durable.
func (f *file) revert(e extent) {
	var sector [sectorSize]byte
	for at := e.off(); at < e.off()+e.size(); at += sectorSize {
		f.durable.read(at, sector[:])
		f.written.write(at, sector[:])
	}
}

// shrink cuts everything behind the durable size.
func (f *file) shrink() {
	f.size = f.durableSize
	f.written.truncate(f.size)
	f.durable.truncate(f.size)
	for len(f.damage) > 0 && f.damage[len(f.damage)-1].sector*sectorSize >= f.size {
		f.damage = f.damage[:len(f.damage)-1]
	}
}

// image is the bytes of a file. A page that is nil, or behind the last one, is
// zeros, and so is the last page behind the end of the file.
type image struct{ pages []*page }

type page [pageSize]byte

// read fills p with the bytes at an offset.
func (m *image) read(off int64, p []byte) {
	for len(p) > 0 {
		i, at := off/pageSize, off%pageSize
		n := min(int64(len(p)), pageSize-at)
		if i < int64(len(m.pages)) && m.pages[i] != nil {
			copy(p[:n], m.pages[i][at:])
		} else {
			clear(p[:n])
		}
		p, off = p[n:], off+n
	}
}

// write stores p at an offset.
func (m *image) write(off int64, p []byte) {
	for len(p) > 0 {
		i, at := off/pageSize, off%pageSize
		n := min(int64(len(p)), pageSize-at)
		if missing := i + 1 - int64(len(m.pages)); missing > 0 {
			m.pages = append(m.pages, make([]*page, missing)...)
		}
		if m.pages[i] == nil {
			m.pages[i] = new(page)
		}
		copy(m.pages[i][at:], p[:n])
		p, off = p[n:], off+n
	}
}

// truncate makes everything from size on zeros.
func (m *image) truncate(size int64) {
	whole := (size + pageSize - 1) / pageSize
	if whole >= int64(len(m.pages)) {
		whole = int64(len(m.pages))
	}
	clear(m.pages[whole:])
	m.pages = m.pages[:whole]
	if last := size / pageSize; last < whole && m.pages[last] != nil {
		clear(m.pages[last][size%pageSize:])
	}
}
