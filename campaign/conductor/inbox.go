package conductor

import (
	"path/filepath"

	"pestle/history"
	"pestle/history/stream"
)

// inbox reads the run's history streams while they grow and hands their
// events on in merged order.
type inbox struct {
	tails  []tail // in the order of the names: what is read first never depends on a map
	merger *history.Merger
	sink   func(history.Event) error

	acks, consumes int64
}

type tail struct {
	name   string
	file   *stream.Tail
	closed bool
}

func newInbox(dir string, names []string, sink func(history.Event) error) *inbox {
	b := &inbox{merger: history.NewMerger(names...), sink: sink}
	for _, name := range names {
		t := tail{name: name, file: stream.NewTail(filepath.Join(dir, "history", name+".ndjson"))}
		if name != harnessName {
			t.closed = true
			b.merger.Close(name)
		}
		b.tails = append(b.tails, t)
	}
	return b
}

// open says that the process is about to be started.
func (b *inbox) open(name string) {
	b.merger.Reopen(name)
	b.tail(name).closed = false
}

// close says that the process is gone; its last lines are read first.
func (b *inbox) close(name string, observe func(history.Event)) error {
	t := b.tail(name)
	if err := b.drain(t, observe); err != nil {
		return err
	}
	t.closed = true
	b.merger.Close(name)
	return nil
}

func (b *inbox) tail(name string) *tail {
	for i := range b.tails {
		if b.tails[i].name == name {
			return &b.tails[i]
		}
	}
	panic("conductor: no history stream of " + name)
}

// read takes what was written since the last call: observe sees it at once,
// the sink in merged order as far as that is settled.
func (b *inbox) read(observe func(history.Event)) error {
	for i := range b.tails {
		if b.tails[i].closed {
			continue
		}
		if err := b.drain(&b.tails[i], observe); err != nil {
			return err
		}
	}
	return b.release()
}

func (b *inbox) drain(t *tail, observe func(history.Event)) error {
	for {
		events, err := t.file.Read()
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return nil
		}
		for _, e := range events {
			switch e.Ev {
			case history.Ack:
				b.acks++
			case history.Consume:
				b.consumes++
			}
			observe(e)
			if err := b.merger.Push(t.name, e); err != nil {
				return err
			}
		}
	}
}

func (b *inbox) release() error {
	for e, ok := b.merger.Pop(); ok; e, ok = b.merger.Pop() {
		if err := b.sink(e); err != nil {
			return err
		}
	}
	return nil
}

// finish reads to the end of every stream, hands on all that is left and
// closes the files.
func (b *inbox) finish(observe func(history.Event)) error {
	for i := range b.tails {
		t := &b.tails[i]
		if !t.closed {
			if err := b.close(t.name, observe); err != nil {
				return err
			}
		}
		if err := t.file.Close(); err != nil {
			return err
		}
	}
	return b.release()
}
