package composer

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"pestle/history"
	"pestle/history/stream"
	"pestle/workload/driver"
)

const (
	lookEvery = 20 * time.Millisecond // how often a history is looked at

	// sealWithin is how long a producer tries to send its last message before
	// it leaves that to the end of the test: under faults nobody may answer.
	sealWithin = 10 * time.Second
)

// produce is a bounded piece of a producer's work, with its last message.
func (g *stage) produce(ctx context.Context) error {
	a, err := g.newProducer()
	if err != nil {
		return err
	}
	defer a.release()
	sealed, err := g.publish(ctx, a, between(200*time.Millisecond, 4*time.Second), sealWithin)
	if err != nil {
		return err
	}
	return g.assertions.Hit(produced, sealed, map[string]any{"producer": a.name})
}

// publish lets a producer live for a time, and then until its last message is
// acked, but no longer than a bound. It tells whether that was acked.
func (g *stage) publish(ctx context.Context, a *actor, work, bound time.Duration) (sealed bool, err error) {
	tail := stream.NewTail(g.history(a.name))
	defer func() { err = errors.Join(err, tail.Close()) }()
	if _, err := g.drainTail(tail, nil); err != nil { // what earlier lives left
		return false, err
	}
	err = g.live(ctx, a, driver.Produce, func(ctx context.Context, say func(string)) error {
		pause(ctx, work)
		say("drain")
		ctx, cancel := context.WithTimeout(ctx, bound)
		defer cancel()
		for !sealed && ctx.Err() == nil {
			pause(ctx, lookEvery)
			_, err := g.drainTail(tail, func(e history.Event) {
				sealed = sealed || e.Ev == history.Note && e.What == history.NoteSentinel
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return sealed, err
}

// consume is a bounded piece of a consumer's work.
func (g *stage) consume(ctx context.Context) error {
	a, err := g.anyConsumer()
	if err != nil {
		return err
	}
	defer a.release()
	tail := stream.NewTail(g.history(a.name))
	if _, err := g.drainTail(tail, nil); err != nil {
		return err
	}
	err = g.live(ctx, a, driver.Consume, func(ctx context.Context, _ func(string)) error {
		pause(ctx, between(200*time.Millisecond, 5*time.Second))
		return nil
	})
	count := 0
	_, read := g.drainTail(tail, func(e history.Event) {
		if e.Ev == history.Consume {
			count++
		}
	})
	if err := errors.Join(err, read, tail.Close()); err != nil {
		return err
	}
	return g.assertions.Hit(consumed, count > 0, map[string]any{"consumer": a.name, "messages": count})
}

// anyConsumer draws which channel is read. Of the ordered one there is one
// consumer.
func (g *stage) anyConsumer() (*actor, error) {
	if oneOf(true, false) {
		a, err := g.theOrdered()
		if !errors.Is(err, errTaken) {
			return a, err
		}
	}
	return g.newSharer(oneOf[int64](0, 50, 200))
}

// live runs an actor's process while script goes on, and ends it in order. The
// script says what the harness would say.
func (g *stage) live(ctx context.Context, a *actor, run func(context.Context, driver.Options) error, script func(context.Context, func(string)) error) error {
	reader, writer := io.Pipe()
	scripted, ended := context.WithCancel(ctx)
	told := make(chan error, 1)
	say := func(line string) { _, _ = io.WriteString(writer, line+"\n") } // fails when the process has ended, which is told below
	go func() {
		err := script(scripted, say)
		say("quit")
		told <- err
	}()
	err := run(ctx, driver.Options{Plan: a.plan, Name: a.name, Dir: g.State, Addresses: g.TCP, Control: reader})
	ended()
	return errors.Join(err, reader.Close(), <-told)
}

func (g *stage) history(name string) string {
	return filepath.Join(g.State, "history", name+".ndjson")
}

// drainTail hands what was added to a history to take, and counts it.
func (g *stage) drainTail(tail *stream.Tail, take func(history.Event)) (n int, err error) {
	for {
		events, err := tail.Read()
		if err != nil || len(events) == 0 {
			return n, err
		}
		n += len(events)
		for _, e := range events {
			if take != nil {
				take(e)
			}
		}
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
