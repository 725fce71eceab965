package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	gonsq "github.com/nsqio/go-nsq"

	"pestle/broker/core"
	"pestle/broker/nsq"
)

// quietNSQ returns a go-nsq configuration for tests.
func quietNSQ() *gonsq.Config {
	cfg := gonsq.NewConfig()
	cfg.MaxBackoffDuration = 0 // a requeue must not slow the test's consumer
	cfg.DefaultRequeueDelay = 0
	return cfg
}

func goProducer(t testing.TB, addr string) *gonsq.Producer {
	t.Helper()
	p, err := gonsq.NewProducer(addr, quietNSQ())
	if err != nil {
		t.Fatal(err)
	}
	p.SetLoggerLevel(gonsq.LogLevelMax)
	t.Cleanup(p.Stop)
	return p
}

// goConsumer connects a go-nsq consumer that hands messages to handle.
func goConsumer(t testing.TB, addr, topic, channel string, cfg *gonsq.Config, handle gonsq.HandlerFunc) *gonsq.Consumer {
	t.Helper()
	c, err := gonsq.NewConsumer(topic, channel, cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.SetLoggerLevel(gonsq.LogLevelMax)
	c.AddHandler(handle)
	if err := c.ConnectToNSQD(addr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(); <-c.StopChan })
	return c
}

func receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

func TestGoNSQPublishesAndConsumesInOrder(t *testing.T) {
	b := startIn(t, t.TempDir())
	p := goProducer(t, b.TCPAddr().String())
	const count = 500
	done := make(chan *gonsq.ProducerTransaction, count)
	for i := range count {
		if err := p.PublishAsync("orders", fmt.Appendf(nil, "message %d", i), done); err != nil {
			t.Fatal(err)
		}
	}
	for range count {
		if tx := receive(t, done, "answer to a publish"); tx.Error != nil {
			t.Fatal(tx.Error)
		}
	}
	got := make(chan string, count)
	goConsumer(t, b.TCPAddr().String(), "orders", "ch", quietNSQ(), func(m *gonsq.Message) error {
		got <- string(m.Body)
		return nil
	})
	for i := range count {
		if body, want := receive(t, got, "message"), fmt.Sprintf("message %d", i); body != want {
			t.Fatalf("got %q, want %q", body, want)
		}
	}
}

func TestMultiPublishIsDeliveredWhole(t *testing.T) {
	b := startIn(t, t.TempDir())
	if err := goProducer(t, b.TCPAddr().String()).MultiPublish("t", [][]byte{[]byte("a"), []byte("b"), []byte("c")}); err != nil {
		t.Fatal(err)
	}
	c := subscribe(t, b.TCPAddr().String(), "t", "ch", 10)
	for _, want := range []string{"a", "b", "c"} {
		if m := c.want(nsq.NoticeDelivered); string(m.Body) != want {
			t.Fatalf("got %q, want %q", m.Body, want)
		}
	}
}

func TestRequeueCountsAttempts(t *testing.T) {
	b := startIn(t, t.TempDir())
	b.mustPublish(t, "t", "again")
	c := subscribe(t, b.TCPAddr().String(), "t", "ch", 1)
	var first nsq.MessageID
	for attempt := uint16(1); attempt <= 3; attempt++ {
		m := c.want(nsq.NoticeDelivered)
		if attempt == 1 {
			first = m.ID
		}
		if m.Attempts != attempt || m.ID != first {
			t.Fatalf("delivery %d: id %s attempts %d, want id %s", attempt, m.ID, m.Attempts, first)
		}
		c.Requeue(m.ID, 0)
		c.push()
	}
}

func TestDisconnectReturnsMessagesAtOnce(t *testing.T) {
	// The lease is a minute: only the disconnect can return the message in time.
	b := startIn(t, t.TempDir())
	b.mustPublish(t, "t", "held")
	holder := subscribe(t, b.TCPAddr().String(), "t", "ch", 1)
	held := holder.want(nsq.NoticeDelivered)
	other := subscribe(t, b.TCPAddr().String(), "t", "ch", 1)
	holder.sock.Close()
	if m := other.want(nsq.NoticeDelivered); m.ID != held.ID || m.Attempts != 2 {
		t.Fatalf("got id %s attempts %d, want id %s attempts 2", m.ID, m.Attempts, held.ID)
	}
}

// handClock is a clock that a test moves.
type handClock struct {
	mu  sync.Mutex
	now core.Time
}

func (c *handClock) Now() core.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Mono += int64(d)
	c.now.Wall += int64(d)
}

// startByHand runs a server on a clock that only pass moves.
func startByHand(t *testing.T) (b *broker, pass func(time.Duration)) {
	clock := &handClock{now: core.Time{Mono: 1, Wall: time.Now().UnixNano()}}
	cfg := testConfig(openDir(t, t.TempDir()))
	cfg.Clock = clock
	b = start(t, cfg)
	return b, func(d time.Duration) {
		clock.advance(d)
		b.mail.put(message{}) // wakes the loop: its timer knows only real time
	}
}

func TestDeferredMessageIsHeldUntilItIsDue(t *testing.T) {
	b, pass := startByHand(t)
	c := subscribe(t, b.TCPAddr().String(), "t", "ch", 10)
	p := dial(t, b.TCPAddr().String(), nsq.ClientConfig{})
	p.DeferredPublish("t", 5000, []byte("later"))
	p.want(nsq.NoticePublished)
	pass(4999 * time.Millisecond)
	p.Publish("t", []byte("now"))
	p.want(nsq.NoticePublished)
	if m := c.want(nsq.NoticeDelivered); string(m.Body) != "now" {
		t.Fatalf("got %q before it was due", m.Body)
	}
	pass(time.Second)
	if m := c.want(nsq.NoticeDelivered); string(m.Body) != "later" {
		t.Fatalf("got %q, want the deferred message", m.Body)
	}
}

func TestSilentClientIsAskedThenDropped(t *testing.T) {
	b, pass := startByHand(t)
	sock := dialRaw(t, b.TCPAddr())
	body := `{"heartbeat_interval":1000}`
	fmt.Fprintf(sock, "  V2IDENTIFY\n%s%s", binary.BigEndian.AppendUint32(nil, uint32(len(body))), body)
	if kind, data := readFrame(t, sock); kind != nsq.FrameResponse || string(data) != "OK" {
		t.Fatalf("IDENTIFY: frame %d %q", kind, data)
	}
	// Half an interval later a second answer is read, and a reply comes over
	// HTTP: now the core must know that the first answer was taken, and has no
	// other reason to drop the client than its silence.
	pass(500 * time.Millisecond)
	fmt.Fprint(sock, "PUB t\n\x00\x00\x00\x01x")
	if _, data := readFrame(t, sock); string(data) != "OK" {
		t.Fatalf("PUB: %q", data)
	}
	b.call(t, "GET", "/ping", "")
	pass(500 * time.Millisecond)
	if kind, data := readFrame(t, sock); kind != nsq.FrameResponse || string(data) != "_heartbeat_" {
		t.Fatalf("after one interval: frame %d %q, want a heartbeat", kind, data)
	}
	pass(2 * time.Second)
	if _, err := io.ReadAll(sock); err != nil {
		t.Fatalf("a client silent for two intervals: %v, want the connection closed", err)
	}
}

func readFrame(t *testing.T, r io.Reader) (nsq.FrameType, []byte) {
	t.Helper()
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, binary.BigEndian.Uint32(head[:4])-4)
	if _, err := io.ReadFull(r, data); err != nil {
		t.Fatal(err)
	}
	return nsq.FrameType(binary.BigEndian.Uint32(head[4:])), data
}

func TestFatalErrorIsReadBeforeTheEnd(t *testing.T) {
	// Closing a socket with input unread resets it; the client would see the
	// reset instead of the error.
	b := startIn(t, t.TempDir())
	sock := dialRaw(t, b.TCPAddr())
	fmt.Fprint(sock, "  V2NONSENSE\n"+strings.Repeat("x", 256<<10))
	kind, data := readFrame(t, sock)
	if kind != nsq.FrameError || !strings.HasPrefix(string(data), "E_INVALID") {
		t.Fatalf("got frame %d %q", kind, data)
	}
	if rest, err := io.ReadAll(sock); err != nil || len(rest) > 0 {
		t.Fatalf("after the error: %d bytes, %v; want the end", len(rest), err)
	}
}

func TestGracefulStopKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	b := startIn(t, dir)
	for _, body := range []string{"finished", "in flight", "waiting"} {
		b.mustPublish(t, "t", body)
	}
	c := subscribe(t, b.TCPAddr().String(), "t", "ch", 1)
	c.Finish(c.want(nsq.NoticeDelivered).ID)
	c.push()
	c.want(nsq.NoticeDelivered) // so the FIN has arrived
	if err := b.end(t); err != nil {
		t.Fatal(err)
	}
	if _, err := c.next(); !errors.Is(err, io.EOF) {
		t.Fatalf("the connection of a stopped broker: %v, want EOF", err)
	}
	again := startIn(t, dir)
	c = subscribe(t, again.TCPAddr().String(), "t", "ch", 10)
	for _, want := range []string{"in flight", "waiting"} {
		if m := c.want(nsq.NoticeDelivered); string(m.Body) != want {
			t.Fatalf("after the restart: got %q, want %q", m.Body, want)
		}
	}
	if err := again.end(t); err != nil {
		t.Fatal(err)
	}
}

func TestOneBrokerADirectory(t *testing.T) {
	dir := t.TempDir()
	b := startIn(t, dir)
	_, err := Open(testConfig(openDir(t, dir)))
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), filepath.Join(dir, lockName)) {
		t.Fatalf("a second broker: %v, want ErrLocked naming the lock", err)
	}
	if err := b.end(t); err != nil {
		t.Fatal(err)
	}
	if err := startIn(t, dir).end(t); err != nil {
		t.Fatalf("after the first one's end: %v", err)
	}
}

func TestStartErrorsNameTheirCause(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	open := func(edit func(*Config)) error {
		cfg := testConfig(openDir(t, t.TempDir()))
		edit(&cfg)
		_, err := Open(cfg)
		return err
	}
	openOnly := func(path string) error { _, err := OpenDir(path); return err }
	for _, test := range []struct {
		name string
		err  error
		want []string
	}{
		{"busy TCP port", open(func(c *Config) { c.TCPAddress = taken.Addr().String() }), []string{"--tcp-address", taken.Addr().String(), "in use"}},
		{"busy HTTP port", open(func(c *Config) { c.HTTPAddress = taken.Addr().String() }), []string{"--http-address", taken.Addr().String(), "in use"}},
		{"no address", open(func(c *Config) { c.TCPAddress = "" }), []string{"--tcp-address", "host:port"}},
		{"no directory", openOnly(file + "-not"), []string{"data directory", file + "-not", "no such file"}},
		{"a file", openOnly(file), []string{"data directory", file, "not a directory"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, want := range test.want {
				if test.err == nil || !strings.Contains(test.err.Error(), want) {
					t.Errorf("error %v does not say %q", test.err, want)
				}
			}
		})
	}
}
