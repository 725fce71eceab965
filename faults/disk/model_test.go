package disk

import (
	"bytes"
	"fmt"
	"slices"

	"pestle/sim/lot"
)

// model is what the package comment of sim/disk says a power loss may leave,
// kept in the simplest way: every state that each part of the disk had since it
// was last durable, with the number of the operation behind it.
type model struct {
	operations int
	names      map[string]*parts[*modelFile]
}

type modelFile struct {
	written []byte
	size    parts[int]
	sectors map[int]*parts[[]byte]
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

// settle makes the part durable, or forgets that it is not.
func (p *parts[T]) settle(fails bool) {
	if !fails && len(p.later) > 0 {
		p.durable = p.later[len(p.later)-1].is
	}
	p.later = nil
}

func newModel() *model { return &model{names: map[string]*parts[*modelFile]{}} }

func (m *model) name(n string) *parts[*modelFile] {
	if m.names[n] == nil {
		m.names[n] = &parts[*modelFile]{}
	}
	return m.names[n]
}

// file is what the running system sees.
func (m *model) file(n string) *modelFile { return m.name(n).at(m.operations) }

func (m *model) create(n string) {
	m.name(n).set(m.operations, &modelFile{sectors: map[int]*parts[[]byte]{}})
	m.operations++
}

func (m *model) remove(n string) {
	m.name(n).set(m.operations, nil)
	m.operations++
}

func (m *model) rename(from, to string) {
	f := m.file(from)
	m.name(from).set(m.operations, nil)
	m.name(to).set(m.operations, f)
	m.operations++
}

func (m *model) write(n string, off int, p []byte) {
	f := m.file(n)
	if missing := off + len(p) - len(f.written); missing > 0 {
		f.written = append(f.written, make([]byte, missing)...)
	}
	copy(f.written[off:], p)
	f.size.set(m.operations, len(f.written))
	for s := off / sectorSize; s <= (off+len(p)-1)/sectorSize; s++ {
		f.sector(s).set(m.operations, padded(f.written, s))
	}
	m.operations++
}

func (m *model) sync(n string, fails bool) {
	f := m.file(n)
	f.size.settle(fails)
	for _, s := range f.sectors {
		s.settle(fails)
	}
}

func (m *model) syncNames() {
	for _, p := range m.names {
		p.settle(false)
	}
}

func (f *modelFile) sector(s int) *parts[[]byte] {
	if f.sectors[s] == nil {
		f.sectors[s] = &parts[[]byte]{durable: make([]byte, sectorSize)}
	}
	return f.sectors[s]
}

// padded is a copy of a sector of a file; behind the end there are zeros.
func padded(p []byte, s int) []byte {
	out := make([]byte, sectorSize)
	copy(out, p[min(len(p), s*sectorSize):])
	return out
}

// objection says why a power loss under a policy cannot have left these files;
// "" when it can.
func (m *model) objection(left map[string][]byte, how lot.Policy) string {
	if how != lot.Prefix {
		return m.objectionTo(left, how, 0, m.operations)
	}
	var why string
	for cut := range m.operations + 1 {
		if why = m.objectionTo(left, how, cut, cut); why == "" {
			return ""
		}
	}
	return why + " (and more with other numbers of operations kept)"
}

// objectionTo tries every part with the cuts from first to last.
func (m *model) objectionTo(left map[string][]byte, how lot.Policy, first, last int) string {
	for name := range left {
		if m.names[name] == nil {
			return name + " was never made"
		}
	}
	for name, part := range m.names {
		content, there := left[name]
		why := fmt.Sprintf("%s, there: %t, was never so", name, there)
		for cut := first; cut <= last && why != ""; cut++ {
			if f := part.at(cut); f == nil && !there {
				why = ""
			} else if f != nil && there {
				why = f.objectionTo(content, how, first, last)
			}
		}
		if why != "" {
			return name + ": " + why
		}
	}
	return ""
}

func (f *modelFile) objectionTo(content []byte, how lot.Policy, first, last int) string {
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
		unit = pageSize / sectorSize
	}
	for from := 0; from*sectorSize < len(content); from += unit {
		if some(func(cut int) bool {
			for s := from; s < from+unit; s++ {
				was := f.sector(s).at(cut)[:max(min(sectorSize, len(content)-s*sectorSize), 0)]
				if !bytes.Equal(padded(content, s), padded(was, 0)) {
					return false
				}
			}
			return true
		}) {
			continue
		}
		if how != lot.Garbled || !f.onlyChangedBytesDiffer(content, from) {
			return fmt.Sprintf("sectors %d to %d were never so", from, from+unit-1)
		}
	}
	return ""
}

// onlyChangedBytesDiffer: garbage is where some pending write was to change a
// byte.
func (f *modelFile) onlyChangedBytesDiffer(content []byte, s int) bool {
	part := f.sector(s)
	for i := range min(sectorSize, len(content)-s*sectorSize) {
		changed := slices.ContainsFunc(part.later, func(v state[[]byte]) bool { return v.is[i] != part.durable[i] })
		if !changed && content[s*sectorSize+i] != part.durable[i] {
			return false
		}
	}
	return true
}
