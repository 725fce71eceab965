package core

import "sort"

// span is the offsets lo ≤ x < hi.
type span struct{ lo, hi uint64 }

// offsets is a set of message offsets, kept as ascending spans that neither
// overlap nor touch.
type offsets struct{ spans []span }

// after returns the index of the first span that ends behind o.
func (s *offsets) after(o uint64) int {
	return sort.Search(len(s.spans), func(i int) bool { return s.spans[i].hi > o })
}

func (s *offsets) contains(o uint64) bool {
	i := s.after(o)
	return i < len(s.spans) && s.spans[i].lo <= o
}

// overlaps reports whether any offset of x is in the set.
func (s *offsets) overlaps(x span) bool {
	i := s.after(x.lo)
	return i < len(s.spans) && s.spans[i].lo < x.hi
}

// add puts the offsets of x, none of which may be in the set, into it.
func (s *offsets) add(x span) {
	if x.lo >= x.hi || s.overlaps(x) {
		panic("core: a span is empty or already in the set")
	}
	i := s.after(x.lo)
	joinsLeft := i > 0 && s.spans[i-1].hi == x.lo
	joinsRight := i < len(s.spans) && s.spans[i].lo == x.hi
	switch {
	case joinsLeft && joinsRight:
		s.spans[i-1].hi = s.spans[i].hi
		s.spans = append(s.spans[:i], s.spans[i+1:]...)
	case joinsLeft:
		s.spans[i-1].hi = x.hi
	case joinsRight:
		s.spans[i].lo = x.lo
	default:
		s.spans = append(s.spans, span{})
		copy(s.spans[i+1:], s.spans[i:])
		s.spans[i] = x
	}
}

// next returns the first offset ≥ o that is not in the set.
func (s *offsets) next(o uint64) uint64 {
	if i := s.after(o); i < len(s.spans) && s.spans[i].lo <= o {
		return s.spans[i].hi
	}
	return o
}

// count returns how many offsets are in the set.
func (s *offsets) count() int64 {
	n := uint64(0)
	for _, x := range s.spans {
		n += x.hi - x.lo
	}
	return int64(n)
}
