package sim

import (
	"slices"

	"pestle/history"
)

// harnessName is the source of the harness's own history lines.
const harnessName = "harness"

// recorder keeps the history streams of a run and hands their events on in
// merged order.
type recorder struct {
	merger  *history.Merger
	sink    func(history.Event) error
	streams []stream // the harness first
	failed  error    // the first line that could not be judged

	acks, consumes int64
}

// stream is the history of one process, in chunks, so that a long one is not
// copied again and again as it grows.
type stream struct {
	name   string
	chunks [][]history.Event
	lines  uint64
}

const chunkSize = 512 // events

func (s *stream) add(e history.Event) {
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last]) == chunkSize {
		s.chunks = append(s.chunks, make([]history.Event, 0, chunkSize))
		last++
	}
	s.chunks[last] = append(s.chunks[last], e)
	s.lines++
}

func (s *stream) events() []history.Event { return slices.Concat(s.chunks...) }

func newRecorder(names []string, sink func(history.Event) error) *recorder {
	r := &recorder{merger: history.NewMerger(names...), sink: sink}
	for _, name := range names {
		r.streams = append(r.streams, stream{name: name})
		if name != harnessName {
			r.merger.Close(name)
		}
	}
	return r
}

// open says that the process of a stream is about to be started.
func (r *recorder) open(number int) { r.merger.Reopen(r.streams[number].name) }

// close says that it is gone.
func (r *recorder) close(number int) {
	r.merger.Close(r.streams[number].name)
	r.release()
}

// append writes a line and returns it as written.
func (r *recorder) append(now int64, number int, e history.Event) history.Event {
	s := &r.streams[number]
	if e.T == 0 {
		e.T = now
	}
	e.Src, e.Seq = s.name, s.lines+1
	s.add(e)
	switch e.Ev {
	case history.Ack:
		r.acks++
	case history.Consume:
		r.consumes++
	}
	if err := r.merger.Push(s.name, e); err != nil && r.failed == nil {
		r.failed = err
	}
	r.release()
	return e
}

func (r *recorder) release() {
	for r.failed == nil {
		e, ok := r.merger.Pop()
		if !ok {
			return
		}
		if r.sink != nil {
			r.failed = r.sink(e)
		}
	}
}

// finish hands on all that is left.
func (r *recorder) finish() {
	for i := range r.streams {
		r.merger.Close(r.streams[i].name)
	}
	r.release()
}
