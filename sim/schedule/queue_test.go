package schedule

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drain(q *Queue, until int64) []Event {
	var out []Event
	for e, ok := q.Take(until); ok; e, ok = q.Take(until) {
		e.tie, e.seq = 0, 0
		out = append(out, e)
	}
	return out
}

func TestTakeByTime(t *testing.T) {
	q := New(1)
	for _, at := range []int64{5, 1, 4, 2, 3} {
		q.Add(Event{At: at, A: uint64(at)})
	}
	if got := drain(q, 3); len(got) != 3 || got[0].At != 1 || got[1].At != 2 || got[2].At != 3 {
		t.Errorf("up to 3: %v", got)
	}
	if q.Now() != 3 || q.Len() != 2 {
		t.Errorf("now %d, %d left; want 3 and 2", q.Now(), q.Len())
	}
	if _, ok := q.Take(3); ok {
		t.Error("an event of 4 was taken at 3")
	}
	q.Add(Event{At: 1, A: 9}) // too late: it comes now
	if got := drain(q, 100); len(got) != 3 || got[0].A != 9 || got[0].At != 3 {
		t.Errorf("to the end: %v", got)
	}
	if q.Now() != 100 {
		t.Errorf("now %d; want 100, to which Take had waited", q.Now())
	}
}

// How two events of one time stand to each other depends on the key and on
// them alone.
func TestTies(t *testing.T) {
	order := func(key uint64, events ...Event) []uint64 {
		q := New(key)
		for _, e := range events {
			q.Add(e)
		}
		var out []uint64
		for _, e := range drain(q, 0) {
			out = append(out, e.A)
		}
		return out
	}
	a, b, c := Event{To: 1, A: 1}, Event{To: 2, A: 2}, Event{To: 2, A: 3}
	first := order(7, a, b)
	if again := order(7, b, a); !slices.Equal(again, first) {
		t.Errorf("added the other way round: %v, before %v", again, first)
	}
	with := slices.DeleteFunc(order(7, c, a, b), func(n uint64) bool { return n == 3 })
	if !slices.Equal(with, first) {
		t.Errorf("with a third among them: %v, before %v", with, first)
	}
	swapped := 0
	for key := range uint64(100) {
		if !slices.Equal(order(key, a, b), first) {
			swapped++
		}
	}
	if swapped < 25 || swapped > 75 {
		t.Errorf("%d of 100 keys swap the two; about half should", swapped)
	}
	same := Event{To: 1, A: 5}
	q := New(7)
	q.Add(same)
	q.Add(same)
	one, _ := q.Take(0)
	two, _ := q.Take(0)
	if one.seq > two.seq {
		t.Error("two equal events did not keep the order they were added in")
	}
}

// The heap against a sorted list.
func TestQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := New(rapid.Uint64().Draw(t, "key"))
		var model []Event
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "add") {
				e := Event{At: rapid.Int64Range(0, 20).Draw(t, "at"), To: Actor(rapid.IntRange(0, 3).Draw(t, "to"))}
				q.Add(e)
				model = append(model, lastAdded(q, e))
				continue
			}
			until := rapid.Int64Range(0, 20).Draw(t, "until")
			e, ok := q.Take(until)
			slices.SortFunc(model, func(a, b Event) int {
				if a.before(&b) {
					return -1
				}
				return 1
			})
			if want := len(model) > 0 && model[0].At <= until; ok != want {
				t.Fatalf("taken: %v, want %v", ok, want)
			}
			if ok {
				if e != model[0] {
					t.Fatalf("took %+v, want %+v", e, model[0])
				}
				model = model[1:]
			}
		}
	})
}

// lastAdded is e as the queue keeps it.
func lastAdded(q *Queue, e Event) Event {
	i := slices.IndexFunc(q.heap, func(o Event) bool { return o.seq == q.seq })
	if q.heap[i].To != e.To || q.heap[i].At < e.At {
		panic("the queue keeps another event")
	}
	return q.heap[i]
}

func BenchmarkQueue(b *testing.B) {
	q := New(1)
	for i := range 500 {
		q.Add(Event{At: int64(i)})
	}
	b.ReportAllocs()
	for i := range b.N {
		e, _ := q.Take(1 << 60)
		q.Add(Event{At: e.At + int64(i*7919%1000), A: uint64(i)})
	}
}
