//go:build linux

package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"pestle/faults/agent"
	"pestle/history/stream"
)

// Serve reports, then carries requests out until in ends or ctx does, and heals
// everything. Errors are those of the pod (no address in the subnet, rules that
// cannot be removed) and of the lines; what a request asks for in vain is in its
// answer.
func Serve(ctx context.Context, in io.Reader, out io.Writer, options Options) (err error) {
	s, err := open(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	w := &writer{out: out}
	defer w.relays.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before the relays are waited for
	if err := w.write(agent.Answer{Op: agent.Report, Abilities: s.abilities}, nil); err != nil {
		return err
	}
	return s.serve(ctx, in, w)
}

func (s *server) serve(ctx context.Context, in io.Reader, w *writer) error {
	lines := make(chan []byte)
	ended := make(chan error, 1)
	go func() { ended <- scan(ctx, in, lines) }()
	for {
		var lost <-chan struct{} // never, without a queue
		if s.pump != nil {
			lost = s.pump.done
		}
		select {
		case line := <-lines:
			if err := s.answer(ctx, line, w); err != nil {
				return err
			}
		case <-lost:
			if err := w.write(agent.Answer{Op: agent.Trouble}, s.loseQueue()); err != nil {
				return err
			}
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// scan sends each line, until there are no more.
func scan(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 4096), agent.MaxLine)
	for scanner.Scan() {
		line := append([]byte(nil), scanner.Bytes()...)
		select {
		case lines <- line:
		case <-ctx.Done():
			return nil
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read the harness's lines: %w", err)
	}
	return nil
}

func (s *server) answer(ctx context.Context, line []byte, w *writer) error {
	r, err := agent.ParseRequest(line)
	a := agent.Answer{ID: r.ID, Op: r.Op}
	if err == nil && r.Op == agent.Control {
		// It may wait for a disk that is stuck; a heal must not wait for it.
		w.relays.Add(1)
		go func() {
			defer w.relays.Done()
			var err error
			a.Reply, err = relay(ctx, *r.Relay)
			_ = w.write(a, err) // the reader of lines meets the same end
		}()
		return nil
	}
	if err == nil {
		err = s.carryOut(r, &a)
	}
	return w.write(a, err)
}

// writer writes answers, one at a time.
type writer struct {
	relays sync.WaitGroup // that will write

	mu  sync.Mutex
	out io.Writer
}

// write completes an answer with the time and what failed.
func (w *writer) write(a agent.Answer, failed error) error {
	a.At = stream.Now()
	if failed != nil {
		a.Err = failed.Error()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := agent.WriteAnswer(w.out, a); err != nil {
		return fmt.Errorf("answer the harness: %w", err)
	}
	return nil
}
