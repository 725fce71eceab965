package peer

import (
	"bytes"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience bounds a wait for something that must happen. No test depends on
// how long it takes.
const patience = 20 * time.Second

// node is a transport with what it got.
type node struct {
	*Transport
	id      uint64
	address string
	arrived chan *Frame
	log     *logBook
	held    atomic.Bool // frames are not released as they are delivered
}

// start runs a node on loopback; address is empty for a free port.
func start(t *testing.T, id uint64, address string, set func(*limits)) *node {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{id: id, address: l.Addr().String(), arrived: make(chan *Frame, 1<<16), log: &logBook{}}
	n.Transport = New(Config{Node: id, Listener: l, Deliver: n.deliver, Log: slog.New(slog.NewTextHandler(n.log, nil))})
	n.limits.open = patience
	if set != nil {
		set(&n.limits)
	}
	n.Serve()
	t.Cleanup(n.Close)
	return n
}

func (n *node) deliver(f *Frame) {
	if !n.held.Load() {
		f.Release()
	}
	n.arrived <- f
}

func (n *node) tell(to *node, frames ...string) {
	for _, f := range frames {
		n.Tell(to.id, to.address, []byte(f))
	}
	n.Flush(true)
}

func (n *node) next(t *testing.T) *Frame {
	t.Helper()
	select {
	case f := <-n.arrived:
		return f
	case <-time.After(patience):
		t.Fatalf("node %d gets nothing; its log:\n%s", n.id, n.log)
		return nil
	}
}

func (n *node) want(t *testing.T, from uint64, frames ...string) {
	t.Helper()
	for _, want := range frames {
		if f := n.next(t); f.From != from || string(f.Data) != want {
			t.Fatalf("node %d got %q from %d, want %q from %d", n.id, f.Data, f.From, want, from)
		}
	}
}

// connect returns once frames of n reach to: one is told until it arrives.
func (n *node) connect(t *testing.T, to *node) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		n.tell(to, "hello")
		select {
		case <-to.arrived:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatalf("node %d does not reach node %d; its log:\n%s", n.id, to.id, n.log)
}

// past drops what connect may have left under way, up to the frame given.
func (n *node) past(t *testing.T, frame string) {
	t.Helper()
	for string(n.next(t).Data) != frame {
	}
}

func (n *node) stats(peer uint64) Stats {
	for _, s := range n.Stats() {
		if s.Node == peer {
			return s
		}
	}
	return Stats{}
}

// logBook is a log that tests read while it is written.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// waitFor polls what must become true.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

func dial(t *testing.T, to *node) net.Conn {
	t.Helper()
	sock, err := net.Dial("tcp", to.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sock.Close() })
	if err := sock.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return sock
}
