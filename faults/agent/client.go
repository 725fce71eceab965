package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrGone is in the error of every call once the agent's stream has ended.
var ErrGone = errors.New("the agent is gone")

// RemoteError is what the agent answered instead of doing what it was asked.
type RemoteError struct {
	Op   Op
	Text string
}

func (e *RemoteError) Error() string { return fmt.Sprintf("agent: %s: %s", e.Op, e.Text) }

// Client is the harness's end of one agent's stream. Any number of goroutines
// may call it. It ends with the stream, which its owner closes.
type Client struct {
	unasked func(Answer)
	done    chan struct{} // closed when the stream ended

	writing sync.Mutex // one line at a time
	stream  io.ReadWriter

	mu      sync.Mutex
	last    uint64                 // number of the last request
	waiting map[uint64]chan Answer // each has room for its answer
	report  Answer                 // set before reported is closed
	reports int
	err     error // set before done is closed

	reported chan struct{}
}

// NewClient reads the agent's stream until it ends. Answers that nobody asked
// for, except the first report, go to unasked, which must not wait; nil drops
// them.
func NewClient(stream io.ReadWriter, unasked func(Answer)) *Client {
	c := &Client{
		unasked: unasked, stream: stream, waiting: make(map[uint64]chan Answer),
		done: make(chan struct{}), reported: make(chan struct{}),
	}
	go c.read()
	return c
}

// Report waits for the agent's first line, which tells that it is ready and
// what its kernel can do.
func (c *Client) Report(ctx context.Context) (Answer, error) {
	select {
	case <-c.reported:
		return c.report, nil
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("wait for the agent's report: %w", ctx.Err())
	case <-c.done:
		return Answer{}, fmt.Errorf("wait for the agent's report: %w", c.err)
	}
}

// Call sends a request, whose ID it sets, and waits for the answer. Errors are
// a RemoteError when the agent could not do it, ErrGone when its stream ended,
// and the context's; after that one the request may still be carried out.
func (c *Client) Call(ctx context.Context, r Request) (Answer, error) {
	if err := r.Validate(); err != nil {
		return Answer{}, err
	}
	answered := make(chan Answer, 1)
	c.mu.Lock()
	c.last++
	r.ID = c.last
	c.waiting[r.ID] = answered
	c.mu.Unlock()
	defer c.forget(r.ID)

	if err := c.write(r); err != nil {
		return Answer{}, fmt.Errorf("agent: %s: %w", r.Op, err)
	}
	select {
	case a := <-answered:
		if a.Err != "" {
			return a, &RemoteError{r.Op, a.Err}
		}
		return a, nil
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("agent: %s: %w", r.Op, ctx.Err())
	case <-c.done:
		return Answer{}, fmt.Errorf("agent: %s: %w", r.Op, c.err)
	}
}

// Done is closed when the agent's stream has ended; the agent is gone then.
func (c *Client) Done() <-chan struct{} { return c.done }

func (c *Client) forget(id uint64) {
	c.mu.Lock()
	delete(c.waiting, id)
	c.mu.Unlock()
}

func (c *Client) write(r Request) error {
	line, err := appendLine(r)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.stream.Write(line); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}

func (c *Client) read() {
	lines := bufio.NewScanner(c.stream)
	lines.Buffer(make([]byte, 0, 4096), MaxLine)
	var err error
	for err == nil && lines.Scan() {
		var a Answer
		if a, err = ParseAnswer(lines.Bytes()); err == nil {
			c.take(a)
		}
	}
	if err == nil {
		err = lines.Err()
	}
	if err == nil {
		err = io.EOF
	}
	c.err = fmt.Errorf("%w: %w", ErrGone, err)
	close(c.done)
}

func (c *Client) take(a Answer) {
	c.mu.Lock()
	answered := c.waiting[a.ID]
	delete(c.waiting, a.ID)
	first := a.ID == 0 && a.Op == Report && c.reports == 0
	if first {
		c.reports++
	}
	c.mu.Unlock()
	switch {
	case first:
		c.report = a
		close(c.reported)
	case answered != nil:
		answered <- a
	case a.ID == 0 && c.unasked != nil:
		c.unasked(a)
	}
}
