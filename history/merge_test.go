package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The scripts are lines of
//
//	push a 10    stream a gets an event at time 10 (its lines count from 1)
//	close a, reopen a
//	pop          prints every event that may go, as a10, or nothing
func TestMerger(t *testing.T) {
	for name, script := range map[string]string{
		"an event waits for every open stream": `
			push a 10; pop
			push b 20; pop -> a10`,
		"a stream that has shown nothing holds everything back": `
			push a 10; push a 11; pop`,
		"a tick moves the others": `
			push a 10; push b 5; pop -> b5
			push b 12; pop -> a10`,
		"at equal times the source's name decides": `
			push b 10; push a 10; close a; pop -> a10 b10`,
		"an equal time is enough where the name comes later": `
			push b 5; push b 10; push a 10; pop -> b5 a10`,
		"at an equal time a stream with an earlier name may still bring more": `
			push a 10; pop
			push b 10; pop -> a10
			push a 10; pop -> a10
			push a 11; pop -> b10`,
		"a closed stream holds nothing back": `
			push a 10; push b 7; close b; pop -> b7 a10`,
		"what a closed stream had is still in order": `
			push a 10; push b 20; close b; pop -> a10
			push a 30; pop -> b20 a30`,
		"a reopened stream holds back again": `
			push b 7; close b; push a 10; pop -> b7 a10
			reopen b; push a 20; pop
			push b 15; pop -> b15
			push b 25; pop -> a20`,
		"all closed: everything goes": `
			push a 10; push a 20; push b 15; close a; close b; pop -> a10 b15 a20`,
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMerger("b", "a")
			seq := map[string]uint64{}
			for _, line := range strings.FieldsFunc(script, func(r rune) bool { return r == '\n' || r == ';' }) {
				command, want, _ := strings.Cut(strings.TrimSpace(line), " -> ")
				words := strings.Fields(command)
				switch words[0] {
				case "push":
					at, err := strconv.ParseInt(words[2], 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					seq[words[1]]++
					if err := m.Push(words[1], Event{Seq: seq[words[1]], T: at, Src: words[1]}); err != nil {
						t.Fatal(err)
					}
				case "close":
					m.Close(words[1])
				case "reopen":
					m.Reopen(words[1])
				case "pop":
					if got := popAll(m); got != want {
						t.Errorf("%s: got %q, want %q", line, got, want)
					}
				}
			}
		})
	}
}

func popAll(m *Merger) string {
	var got []string
	for e, ok := m.Pop(); ok; e, ok = m.Pop() {
		got = append(got, fmt.Sprint(e.Src, e.T))
	}
	return strings.Join(got, " ")
}

func TestMergerRefuses(t *testing.T) {
	at := func(seq uint64, t int64, src string) Event { return Event{Seq: seq, T: t, Src: src} }
	for name, c := range map[string]struct {
		first func(*Merger)
		push  Event
		want  string
	}{
		"an unknown stream": {func(*Merger) {}, at(1, 1, "c"), `history stream "c" is not among those merged`},
		"a closed stream":   {func(m *Merger) { m.Close("a") }, at(1, 1, "a"), `history stream "a" got line 1 after it was closed`},
		"time going back": {func(m *Merger) { _ = m.Push("a", at(1, 5, "a")) }, at(2, 4, "a"),
			`line 2 of a (t 4) does not come after line 1 of a (t 5)`},
		"a line twice": {func(m *Merger) { _ = m.Push("a", at(1, 5, "a")) }, at(1, 5, "a"),
			`line 1 of a (t 5) does not come after line 1 of a (t 5)`},
		"a count going back": {func(m *Merger) { _ = m.Push("a", at(2, 5, "a")) }, at(1, 6, "a"),
			`line 1 of a comes after its line 2`},
		"an event older than one released": {func(m *Merger) {
			m.Close("a")
			_ = m.Push("b", at(1, 10, "b"))
			popAll(m)
			m.Reopen("a")
		}, at(1, 9, "a"), `history stream "a": line 1 (t 9) comes too late: t 10 was already judged`},
	} {
		m := NewMerger("a", "b")
		c.first(m)
		if err := m.Push(c.push.Src, c.push); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want … %s …", name, err, c.want)
		}
	}
}

// However the streams' reading is interleaved, the merged order is that of
// Event.Before over everything.
func TestMergerOrderIsIndependentOfReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c"}
		streams := map[string][]Event{}
		var want []Event
		for _, name := range names {
			at := int64(0)
			for i := range rapid.IntRange(0, 12).Draw(t, "lines of "+name) {
				at += rapid.Int64Range(0, 3).Draw(t, "step")
				streams[name] = append(streams[name], Event{Seq: uint64(i + 1), T: at, Src: name})
			}
			want = append(want, streams[name]...)
		}
		slices.SortFunc(want, func(x, y Event) int {
			if x.Before(y) {
				return -1
			}
			return 1
		})
		m := NewMerger(names...)
		open := slices.Clone(names)
		var got []Event
		for len(open) > 0 {
			name := rapid.SampledFrom(open).Draw(t, "read")
			if len(streams[name]) == 0 {
				m.Close(name)
				open = slices.DeleteFunc(open, func(s string) bool { return s == name })
			} else {
				if err := m.Push(name, streams[name][0]); err != nil {
					t.Fatal(err)
				}
				streams[name] = streams[name][1:]
			}
			for e, ok := m.Pop(); ok; e, ok = m.Pop() {
				got = append(got, e)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	})
}
