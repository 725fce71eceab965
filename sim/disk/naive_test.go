package disk

import (
	"fmt"
	"slices"
	"strings"

	"pestle/sim/lot"
)

// naive is what the package comment says a power loss may leave, kept in the
// simplest way: every state that each part of the disk had since it was last
// durable, with the number of the operation behind it.
type naive struct {
	operations int
	names      map[uint64]*parts[*naiveFile]
}

type naiveFile struct {
	written []byte
	size    parts[int]
	sectors map[int]*parts[string]
}

// parts is one part of a disk: its durable state, then those after operations.
type parts[T any] struct {
	durable T
	later   []state[T]
}

type state[T any] struct {
	operation int
	is        T
}

// at is the state when the operations before cut happened to the part.
func (p *parts[T]) at(cut int) T {
	is := p.durable
	for _, s := range p.later {
		if s.operation < cut {
			is = s.is
		}
	}
	return is
}

func (p *parts[T]) set(operation int, is T) { p.later = append(p.later, state[T]{operation, is}) }

func (m *naive) name(n uint64) *parts[*naiveFile] {
	if m.names[n] == nil {
		m.names[n] = &parts[*naiveFile]{}
	}
	return m.names[n]
}

// file is what the running system sees.
func (m *naive) file(n uint64) *naiveFile { return m.name(n).at(m.operations) }

func (m *naive) enter(n uint64, size int) {
	f := &naiveFile{written: make([]byte, size), sectors: map[int]*parts[string]{}}
	f.size.durable = size
	m.name(n).set(m.operations, f)
	m.operations++
}

func (m *naive) write(n uint64, off int, text string) {
	f := m.file(n)
	if missing := off + len(text) - len(f.written); missing > 0 {
		f.written = append(f.written, make([]byte, missing)...)
	}
	copy(f.written[off:], text)
	f.size.set(m.operations, len(f.written))
	for s := off / 512; s <= (off+len(text)-1)/512; s++ {
		f.sector(s).set(m.operations, padded(f.written, s))
	}
	m.operations++
}

func (f *naiveFile) sector(s int) *parts[string] {
	if f.sectors[s] == nil {
		f.sectors[s] = &parts[string]{durable: strings.Repeat("\x00", 512)}
	}
	return f.sectors[s]
}

// padded is a sector of a file; behind the end there are zeros.
func padded(p []byte, s int) string {
	p = p[min(len(p), s*512):min(len(p), s*512+512)]
	return string(p) + strings.Repeat("\x00", 512-len(p))
}

// sync makes what is pending durable, or forgets that it is pending.
func (m *naive) sync(n uint64, fails bool) {
	f := m.file(n)
	if !fails {
		f.size.durable = f.size.at(m.operations)
	}
	f.size.later = nil
	for _, s := range f.sectors {
		if !fails {
			s.durable = s.at(m.operations)
		}
		s.later = nil
	}
}

// objection says why a crash under a policy cannot have left what d holds; ""
// when it can.
func (m *naive) objection(d *Disk, how lot.Policy) string {
	if how != lot.Prefix {
		return m.objectionTo(d, how, 0, m.operations)
	}
	var why string
	for cut := range m.operations + 1 {
		if why = m.objectionTo(d, how, cut, cut); why == "" {
			return ""
		}
	}
	return why + " (and more with other numbers of operations kept)"
}

// objectionTo tries every part with the cuts from first to last.
func (m *naive) objectionTo(d *Disk, how lot.Policy, first, last int) string {
	for n := range uint64(4) {
		content, there := d.Content(n)
		why := fmt.Sprintf("file %d, there: %t, was never so", n, there)
		for cut := first; cut <= last && why != ""; cut++ {
			if f := m.name(n).at(cut); f == nil {
				if !there {
					why = ""
				}
			} else if there {
				why = f.objectionTo(content, how, first, last)
			}
		}
		if why != "" {
			return why
		}
	}
	return ""
}

func (f *naiveFile) objectionTo(content []byte, how lot.Policy, first, last int) string {
	some := func(holds func(cut int) bool) bool {
		for cut := first; cut <= last; cut++ {
			if holds(cut) {
				return true
			}
		}
		return false
	}
	if !some(func(cut int) bool { return f.size.at(cut) == len(content) }) {
		return fmt.Sprintf("the size %d was never so", len(content))
	}
	unit := 1
	if how <= lot.Paged {
		unit = 8
	}
	same := func(s, cut int) bool {
		was := padded([]byte(f.sector(s).at(cut))[:max(min(512, len(content)-s*512), 0)], 0)
		return padded(content, s) == was
	}
	for from := 0; from*512 < len(content); from += unit {
		if some(func(cut int) bool {
			for s := from; s < from+unit; s++ {
				if !same(s, cut) {
					return false
				}
			}
			return true
		}) {
			continue
		}
		if how != lot.Garbled || !f.onlyChangedBytesDiffer(content, from) {
			return fmt.Sprintf("sectors %d to %d were never so: %s", from, from+unit-1, short(content[from*512:min(len(content), from*512+unit*512)]))
		}
	}
	return ""
}

// onlyChangedBytesDiffer: garbage is where some pending write was to change a
// byte.
func (f *naiveFile) onlyChangedBytesDiffer(content []byte, s int) bool {
	part := f.sector(s)
	for i := range min(512, len(content)-s*512) {
		changed := slices.ContainsFunc(part.later, func(v state[string]) bool { return v.is[i] != part.durable[i] })
		if !changed && content[s*512+i] != part.durable[i] {
			return false
		}
	}
	return true
}
