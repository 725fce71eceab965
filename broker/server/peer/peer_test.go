package peer

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience bounds a wait for something that must happen. No test depends on
// how long it takes.
const patience = 5 * time.Second

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
	n.Flush()
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

func TestFramesArriveInOrderBetweenAll(t *testing.T) {
	nodes := []*node{start(t, 1, "", nil), start(t, 2, "", nil), start(t, 3, "", nil)}
	const each = 500
	for i := range each {
		for _, from := range nodes {
			for _, to := range nodes {
				if from != to {
					from.tell(to, fmt.Sprintf("%d to %d, number %d", from.id, to.id, i))
				}
			}
		}
	}
	for _, to := range nodes {
		seen := map[uint64]int{}
		for range 2 * each {
			f := to.next(t)
			if want := fmt.Sprintf("%d to %d, number %d", f.From, to.id, seen[f.From]); string(f.Data) != want {
				t.Fatalf("got %q, want %q", f.Data, want)
			}
			seen[f.From]++
		}
	}
	for _, n := range nodes {
		n.Close()
		for _, s := range n.Stats() {
			if s.SentFrames != each || s.ReceivedFrames != each || s.DroppedFrames != 0 || s.Connects != 1 ||
				s.SentBytes != s.ReceivedBytes || s.SentBytes < each*headerSize {
				t.Errorf("node %d counts %+v", n.id, s)
			}
			if l := n.links[s.Node]; l.pending != 0 {
				t.Errorf("node %d believes that %d bytes are on their way to node %d", n.id, l.pending, s.Node)
			}
		}
	}
}

func TestStatsAreByNode(t *testing.T) {
	a := New(Config{})
	for _, node := range []uint64{5, 3, 1 << 63, 4, 2} {
		a.count(node)
	}
	var got []uint64
	for _, s := range a.Stats() {
		got = append(got, s.Node)
	}
	if want := []uint64{2, 3, 4, 5, 1 << 63}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFramesOfAnySizeAreWhole(t *testing.T) {
	a, b := start(t, 1, "", nil), start(t, 2, "", nil)
	for _, size := range []int{0, 1, readSize - 4, readSize, trusted - 1, trusted, trusted + 1, maxWrite + 5, 9 << 20} {
		frame := bytes.Repeat([]byte{byte(size), 7, byte(size >> 8)}, size/3+1)[:size]
		a.Tell(2, b.address, frame)
		a.Flush()
		if got := b.next(t).Data; !bytes.Equal(got, frame) {
			t.Fatalf("%d bytes were sent, and %d others arrived", size, len(got))
		}
	}
}

func TestWhatIsToldTogetherLeavesTogether(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := start(t, 1, "", nil)
	var want []byte
	for i := range 100 {
		frame := fmt.Append(nil, i)
		a.Tell(2, l.Addr().String(), frame)
		want = appendFrame(want, frame)
	}
	if s := a.stats(2); s.Connects != 0 {
		t.Fatalf("connected before Flush: %+v", s)
	}
	a.Flush()
	sock, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	if _, err := readHello(sock); err != nil {
		t.Fatal(err)
	}
	if _, err := sock.Write([]byte{welcome}); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 2*len(want))
	n, err := sock.Read(got)
	if err != nil || !bytes.Equal(got[:n], want) {
		t.Fatalf("one read got %d bytes, %v; want all %d", n, err, len(want))
	}
}

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
		a.Flush()
		return a.stats(2).DroppedFrames > 0
	})
	l := a.links[2]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending > a.limits.queue {
		t.Errorf("%d bytes are queued, and at most %d may be", l.pending, a.limits.queue)
	}
}

func TestFramesWaitUntilEarlierOnesAreReleased(t *testing.T) {
	w := newWindow(10)
	over := make(chan struct{})
	if !w.take(100, over) {
		t.Fatal("one frame that is longer than the window has to pass")
	}
	if w.tryTake(1) {
		t.Fatal("nothing may pass while the window is full")
	}
	w.give(100)
	if !w.tryTake(4) || !w.tryTake(6) || w.tryTake(1) {
		t.Fatal("ten bytes have to fit, and no eleventh")
	}
	passed := make(chan bool)
	go func() { passed <- w.take(5, over) }()
	w.give(4)
	w.give(6)
	if !<-passed {
		t.Fatal("room was made, and not taken")
	}
	go func() { passed <- w.take(100, over) }()
	close(over)
	if <-passed {
		t.Fatal("a frame passed after the end")
	}
}

func TestANewAddressIsUsedAtOnce(t *testing.T) {
	a, b := start(t, 1, "", nil), start(t, 2, "", nil)
	a.connect(t, b)
	moved := start(t, 2, "", nil)
	a.tell(moved, "here")
	moved.want(t, 1, "here")
}

func TestANewConnectionTakesTheOldOnesPlace(t *testing.T) {
	b := start(t, 2, "", nil)
	open := func() net.Conn {
		sock := dial(t, b)
		if _, err := sock.Write((hello{from: 1, to: 2}).bytes()); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(sock, make([]byte, 1)); err != nil {
			t.Fatalf("no welcome: %v", err)
		}
		return sock
	}
	first, second := open(), open()
	if _, err := first.Read(make([]byte, 1)); err == nil {
		t.Error("the first connection is still open")
	}
	if _, err := second.Write(appendFrame(nil, []byte("x"))); err != nil {
		t.Fatal(err)
	}
	b.want(t, 1, "x")
}

func TestCloseSendsWhatIsQueued(t *testing.T) {
	a, b := start(t, 1, "", nil), start(t, 2, "", nil)
	a.connect(t, b)
	a.Tell(2, b.address, []byte("last words"))
	a.Close()
	b.past(t, "last words")
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

func TestStrangersAreRefusedAndNamed(t *testing.T) {
	for _, test := range []struct{ name, opening, want string }{
		{"HTTP", "GET / HTTP/1.1\r\nHost: example\r\n\r\n", `it begins with \"GET / HT\": not a node of a cluster`},
		{"another version", magic + "\x02" + strings.Repeat("\x00", 16), "it speaks version 2 between nodes, this one version 1"},
		{"another node's address", string(hello{from: 1, to: 3}.bytes()), "node 1 looks for node 3 here, and this is node 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := start(t, 2, "", nil)
			sock := dial(t, b)
			if _, err := io.WriteString(sock, test.opening); err != nil {
				t.Fatal(err)
			}
			if n, err := sock.Read(make([]byte, 1)); err == nil {
				t.Fatalf("got %d bytes, want a closed connection", n)
			}
			b.Close()
			if !strings.Contains(b.log.String(), test.want) {
				t.Errorf("the log lacks %q:\n%s", test.want, b.log)
			}
		})
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
	out, frames := l.take(nil)
	if want := appendFrame(nil, []byte("after")); !bytes.Equal(out, want) || frames != 1 || l.pending != len(want) {
		t.Errorf("%d frames are queued, %q, %d bytes; want the last one only", frames, out, l.pending)
	}
	if s := a.stats(2); s.DroppedFrames != 2 {
		t.Errorf("%d frames were dropped, want 2", s.DroppedFrames)
	}
}

// BenchmarkRoundTrip measures a frame of 1 KiB to another node and one back.
//
//	go test -run - -bench RoundTrip ./broker/server/peer
func BenchmarkRoundTrip(b *testing.B) {
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		return l
	}
	near, far := listen(), listen()
	quiet := slog.New(slog.DiscardHandler)
	back := make(chan struct{}, 1)
	one := New(Config{Node: 1, Listener: near, Log: quiet, Deliver: func(f *Frame) {
		f.Release()
		back <- struct{}{}
	}})
	defer one.Close()
	var two *Transport
	two = New(Config{Node: 2, Listener: far, Log: quiet, Deliver: func(f *Frame) {
		f.Release()
		two.Tell(1, near.Addr().String(), f.Data)
		two.Flush()
	}})
	defer two.Close()
	one.Serve()
	two.Serve()
	frame := make([]byte, 1<<10)
	for b.Loop() {
		one.Tell(2, far.Addr().String(), frame)
		one.Flush()
		<-back
	}
}
