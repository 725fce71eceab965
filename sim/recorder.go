package sim

import (
	"pestle/history"
)

// harnessName is the source of the harness's own history lines.
const harnessName = "harness"

// recorder keeps the history streams of a run and hands their events on in
// merged order.
type recorder struct {
	merger  *history.Merger
	sink    func(history.Event) error
	streams []*Stream // the harness first
	last    []int64   // time of each stream's last line
	failed  error     // the first line that could not be judged

	acks, consumes int64
}

func newRecorder(names []string, sink func(history.Event) error) *recorder {
	r := &recorder{merger: history.NewMerger(names...), sink: sink}
	for _, name := range names {
		r.streams = append(r.streams, &Stream{Name: name})
		if name != harnessName {
			r.merger.Close(name)
		}
	}
	r.last = make([]int64, len(names))
	return r
}

// open says that the process of a stream is about to be started.
func (r *recorder) open(stream int) { r.merger.Reopen(r.streams[stream].Name) }

// close says that it is gone.
func (r *recorder) close(stream int) {
	r.merger.Close(r.streams[stream].Name)
	r.release()
}

// append writes a line and returns it as written: numbered, and not earlier
// than the one before.
func (r *recorder) append(now int64, stream int, e history.Event) history.Event {
	s := r.streams[stream]
	if e.T == 0 {
		e.T = now
	}
	e.T = max(e.T, r.last[stream])
	r.last[stream] = e.T
	e.Src, e.Seq = s.Name, uint64(len(s.Events)+1)
	s.Events = append(s.Events, e)
	switch e.Ev {
	case history.Ack:
		r.acks++
	case history.Consume:
		r.consumes++
	}
	if err := r.merger.Push(s.Name, e); err != nil && r.failed == nil {
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
	for _, s := range r.streams {
		r.merger.Close(s.Name)
	}
	r.release()
}
