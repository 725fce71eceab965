package sim

import (
	"errors"
	"fmt"
)

// Divergence is the first difference between two runs.
type Divergence struct {
	Event uint64 // number of the event or effect, from 1; 0: the runs do not differ
	A, B  string // it in words, in the one run and the other; "": that run has ended before
}

func (d Divergence) String() string {
	if d.Event == 0 {
		return "no difference"
	}
	return fmt.Sprintf("event %d\n  A: %s\n  B: %s", d.Event, orEnd(d.A), orEnd(d.B))
}

func orEnd(line string) string {
	if line == "" {
		return "(the run has ended)"
	}
	return line
}

func bisect(a, b Options, source *lots) (Divergence, error) {
	first, err := checkpoints(a, source)
	if err != nil {
		return Divergence{}, err
	}
	second, err := checkpoints(b, source)
	if err != nil {
		return Divergence{}, err
	}
	if first.TraceHash == second.TraceHash && first.Events == second.Events {
		return Divergence{}, nil
	}
	same := uint64(sharedPrefix(first.Checkpoints, second.Checkpoints)) * CheckpointEvery
	inA, err := stretch(a, same, source)
	if err != nil {
		return Divergence{}, err
	}
	inB, err := stretch(b, same, source)
	if err != nil {
		return Divergence{}, err
	}
	for i := range max(len(inA), len(inB)) {
		if x, y := inA.at(i), inB.at(i); x != y {
			return Divergence{Event: same + uint64(i) + 1, A: x.line, B: y.line}, nil
		}
	}
	return Divergence{}, errors.New("bisect: the runs differ, and did not when they were repeated: each of them is not deterministic")
}

func checkpoints(o Options, source *lots) (Result, error) {
	o.Sink, o.Log = nil, nil
	return run(o, source)
}

// sharedPrefix is how many checkpoints two lists begin with in common. Once
// they differ they stay different, so it could be found by halving; they are
// short.
func sharedPrefix(a, b []uint64) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// traced is one event in words, and the hash with it.
type traced struct {
	hash uint64
	line string
}

type tracedList []traced

// at is the i-th, or the zero value behind the end.
func (l tracedList) at(i int) traced {
	if i < len(l) {
		return l[i]
	}
	return traced{}
}

// stretch runs o and writes down the events behind a checkpoint, up to the
// next.
func stretch(o Options, from uint64, source *lots) (tracedList, error) {
	var list tracedList
	o.Sink = nil
	if end := from + CheckpointEvery; o.Until.Steps == 0 || o.Until.Steps > end {
		o.Until.Steps = end
	}
	w, err := newWorld(o, source)
	if err != nil {
		return nil, err
	}
	w.log = func(line string) {
		if n := w.trace.events; n > from && n <= from+CheckpointEvery {
			list = append(list, traced{w.trace.sum(), line})
		}
	}
	w.conduct()
	return list, nil
}
