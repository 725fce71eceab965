package peer

import (
	"bytes"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAPeerThatRestartsIsReachedAgain(t *testing.T) {
	a, b := start(t, 1, "", nil), start(t, 2, "", nil)
	a.connect(t, b)
	b.Close()
	again := start(t, 2, b.address, nil)
	a.connect(t, again)
	if s := a.stats(2); s.Connects != 2 {
		t.Errorf("%d connections, want 2", s.Connects)
	}
	for _, want := range []string{"no connection to peer", "connected to peer"} {
		if !strings.Contains(a.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, a.log)
		}
	}
	if n := strings.Count(a.log.String(), "no connection to peer"); n != 1 {
		t.Errorf("one outage was told %d times:\n%s", n, a.log)
	}
}

func TestFramesForWhoCannotBeReachedAreDropped(t *testing.T) {
	a := start(t, 1, "", nil)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	absent := &node{id: 2, address: gone.Addr().String()}
	told := 0
	waitFor(t, "frames to be dropped", func() bool {
		a.tell(absent, "x")
		told++
		return a.stats(2).DroppedFrames > 1
	})
	if s := a.stats(2); s.SentFrames != 0 || s.Connects != 0 {
		t.Errorf("%+v, want nothing sent", s)
	}
	a.Close()
	if s := a.stats(2); s.DroppedFrames != uint64(told) {
		t.Errorf("%d frames were dropped of %d", s.DroppedFrames, told)
	}
}

// A peer that is paused takes what its socket and this node's bear; then the
// queue is full and the rest is dropped, and Tell never waits.
func TestFramesForAPeerThatTakesNoneAreDropped(t *testing.T) {
	a := start(t, 1, "", func(l *limits) { l.queue = 1 << 20 })
	b := start(t, 2, "", func(l *limits) { l.window = 1 })
	a.connect(t, b)
	b.held.Store(true)
	frame := make([]byte, 64<<10)
	waitFor(t, "a full queue", func() bool {
		a.Tell(2, b.address, frame)
		a.Flush(true)
		return a.stats(2).DroppedFrames > 0
	})
	l := a.links[2]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending > a.limits.queue {
		t.Errorf("%d bytes are queued, and at most %d may be", l.pending, a.limits.queue)
	}
}

// Who dials what is not a node's peer address does not take it for one.
func TestWhoDoesNotWelcomeIsNoPeer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var attempts atomic.Int32
	go func() {
		for {
			sock, err := l.Accept()
			if err != nil {
				return
			}
			attempts.Add(1)
			_, _ = sock.Write([]byte("HTTP/1.1 400 Bad Request\r\n"))
			sock.Close()
		}
	}()
	a := start(t, 1, "", nil)
	other := &node{id: 2, address: l.Addr().String()}
	waitFor(t, "attempts", func() bool {
		a.tell(other, "x")
		return attempts.Load() >= 4
	})
	a.Close()
	if s := a.stats(2); s.Connects != 0 || s.SentFrames != 0 {
		t.Errorf("%+v, want no connection", s)
	}
	if n := strings.Count(a.log.String(), "not a node of a cluster"); n != 1 {
		t.Errorf("one trouble was told %d times:\n%s", n, a.log)
	}
}

// patient is a connection that remembers the last deadline set.
type patient struct {
	net.Conn
	deadline time.Time
}

func (p *patient) SetDeadline(t time.Time) error {
	p.deadline = t
	return p.Conn.SetDeadline(t)
}

func TestAWelcomedConnectionMayBeSilentForAnyTime(t *testing.T) {
	near, far := net.Pipe()
	a, b := &patient{Conn: near}, &patient{Conn: far}
	one, two := start(t, 1, "", nil), start(t, 2, "", nil)
	one.mu.Lock()
	l := newLink(one.Transport, 2, two.address)
	one.mu.Unlock()
	introduced := make(chan error)
	go func() { introduced <- l.introduce(a) }()
	if from, err := two.greet(b); from != 1 || err != nil {
		t.Fatalf("greeted node %d, %v", from, err)
	}
	if err := admit(b); err != nil {
		t.Fatal(err)
	}
	if err := <-introduced; err != nil {
		t.Fatal(err)
	}
	if !a.deadline.IsZero() || !b.deadline.IsZero() {
		t.Errorf("deadlines %v and %v are left", a.deadline, b.deadline)
	}
}

// What is told between two attempts to connect is old by the next one.
func TestNothingGathersBetweenAttempts(t *testing.T) {
	a := start(t, 1, "", nil)
	a.mu.Lock()
	l := newLink(a.Transport, 2, "127.0.0.1:1") // and nothing runs it
	a.mu.Unlock()
	l.queue([]byte("before"))
	l.rest()
	l.queue([]byte("during"))
	l.resume()
	l.queue([]byte("after"))
	out, _, frames := l.take(nil)
	if want := appendFrame(nil, []byte("after")); !bytes.Equal(out, want) || frames != 1 || l.pending != len(want) {
		t.Errorf("%d frames are queued, %q, %d bytes; want the last one only", frames, out, l.pending)
	}
	if s := a.stats(2); s.DroppedFrames != 2 {
		t.Errorf("%d frames were dropped, want 2", s.DroppedFrames)
	}
}
