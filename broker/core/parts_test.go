package core

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The set of offsets against a map.
func TestOffsets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var set offsets
		model := map[uint64]bool{}
		for range rapid.IntRange(0, 60).Draw(rt, "spans") {
			lo := rapid.Uint64Range(0, 80).Draw(rt, "lo")
			x := span{lo, lo + rapid.Uint64Range(1, 6).Draw(rt, "length")}
			overlaps := false
			for o := x.lo; o < x.hi; o++ {
				overlaps = overlaps || model[o]
			}
			if got := set.overlaps(x); got != overlaps {
				rt.Fatalf("%v overlaps %v: %v", set.spans, x, got)
			}
			if overlaps {
				continue
			}
			set.add(x)
			for o := x.lo; o < x.hi; o++ {
				model[o] = true
			}
		}
		if n := set.count(); n != int64(len(model)) {
			rt.Fatalf("%v counts %d, want %d", set.spans, n, len(model))
		}
		for o := uint64(0); o < 90; o++ {
			next := o
			for model[next] {
				next++
			}
			if set.contains(o) != model[o] || set.next(o) != next {
				rt.Fatalf("%v at %d: contains %v, next %d", set.spans, o, set.contains(o), set.next(o))
			}
		}
		for i := 1; i < len(set.spans); i++ {
			if set.spans[i-1].hi >= set.spans[i].lo {
				rt.Fatalf("spans touch: %v", set.spans)
			}
		}
	})
}

// The message index against a map; what is forgotten costs no chunk.
func TestMessageLog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var log messageLog
		model := map[uint64]bool{}
		next := rapid.Uint64Range(0, 1000).Draw(rt, "first")
		for range rapid.IntRange(0, 400).Draw(rt, "steps") {
			if len(model) == 0 || rapid.Bool().Draw(rt, "put") {
				log.put(message{offset: next})
				model[next] = true
				next++
				continue
			}
			keys := sortedKeys(model)
			o := keys[rapid.IntRange(0, len(keys)-1).Draw(rt, "which")]
			log.forget(log.at(o))
			delete(model, o)
		}
		chunks := map[uint64]bool{}
		for _, o := range sortedKeys(model) {
			if m := log.at(o); m == nil || m.offset != o {
				rt.Fatalf("message %d is %+v", o, m)
			}
			chunks[o/chunkSize] = true
		}
		for o := uint64(0); o < next+100; o++ {
			if !model[o] && log.at(o) != nil {
				rt.Fatalf("message %d is there", o)
			}
		}
		first := next
		if keys := sortedKeys(model); len(keys) > 0 {
			first = keys[0]
		}
		if log.first(next) != first || log.count() != len(model) {
			rt.Fatalf("first %d and count %d, want %d and %d", log.first(next), log.count(), first, len(model))
		}
		live := len(slices.DeleteFunc(slices.Clone(log.chunks), func(c *chunk) bool { return c == nil }))
		if live > len(chunks)+1 {
			rt.Fatalf("%d chunks are kept for messages in %d", live, len(chunks))
		}
	})
}

// Deadlines come out by time, and those of one time in the order they were
// set, whatever was cancelled in between.
func TestDeadlines(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var s deadlines
		list := make([]deadline, 40)
		for range rapid.IntRange(1, 200).Draw(rt, "steps") {
			d := &list[rapid.IntRange(0, len(list)-1).Draw(rt, "which")]
			if rapid.IntRange(0, 3).Draw(rt, "cancel") == 0 {
				s.cancel(d)
			} else {
				s.set(d, int64(rapid.IntRange(0, 9).Draw(rt, "at")), nil)
			}
		}
		want := []*deadline{}
		for i := range list {
			if list[i].isSet() {
				want = append(want, &list[i])
			}
		}
		slices.SortFunc(want, func(a, b *deadline) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		for _, w := range want {
			if _, early := s.passed(w.at - 1); early {
				rt.Fatal("a deadline passes before its time")
			}
			if d, ok := s.passed(w.at); !ok || d != w || d.isSet() {
				rt.Fatalf("got %+v, want %+v", d, w)
			}
		}
		if _, ok := s.next(); ok {
			rt.Fatal("a deadline is left")
		}
	})
}
