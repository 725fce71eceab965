package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
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
	pass(time.Second)
	if kind, data := readFrame(t, sock); kind != nsq.FrameResponse || string(data) != "_heartbeat_" {
		t.Fatalf("after one interval: frame %d %q, want a heartbeat", kind, data)
	}
	fmt.Fprint(sock, "NOP\n")
	// The answer to a command behind NOP proves that NOP was read.
	fmt.Fprint(sock, "PUB t\n\x00\x00\x00\x01x")
	if _, data := readFrame(t, sock); string(data) != "OK" {
		t.Fatalf("PUB: %q", data)
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
	c := subscribe(t, b.TCPAddr().String(), "t", "ch", 2)
	c.Finish(c.want(nsq.NoticeDelivered).ID)
	c.Ready(1)
	c.push()
	c.want(nsq.NoticeDelivered)
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

func TestForeignFilesAreLeftAloneAndUnfinishedOnesRemoved(t *testing.T) {
	dir := t.TempDir()
	foreign := []string{"notes.txt", "journal-1.log", "journal-000000000000000G.log", "other.log.new"}
	unfinished := fileName(9) + newSuffix
	for _, name := range append([]string{unfinished}, foreign...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := startIn(t, dir).end(t); err != nil {
		t.Fatal(err)
	}
	for _, name := range foreign {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != "mine" {
			t.Errorf("%s: %q, %v; want it untouched", name, data, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, unfinished)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", unfinished, err)
	}
}

func TestFailedDiskEndsTheBrokerWithoutAnAck(t *testing.T) {
	for _, op := range []string{"sync", "write"} {
		t.Run(op, func(t *testing.T) {
			fs := &faultFS{FS: openDir(t, t.TempDir())}
			b := start(t, testConfig(fs))
			p := dial(t, b.TCPAddr().String(), nsq.ClientConfig{})
			p.Publish("t", []byte("good"))
			p.want(nsq.NoticePublished)
			fs.set(op, errors.New("the disk is gone"))
			p.Publish("t", []byte("doomed"))
			if n, err := p.next(); err == nil {
				t.Fatalf("an answer though the %s failed: %+v", op, n)
			}
			if err := b.wait(t); !isExit(err) || !strings.Contains(err.Error(), "the disk is gone") {
				t.Fatalf("Run returned %v, want an ExitError with the cause", err)
			}
		})
	}
}

func TestFullDiskAtTheFirstStartIsAStartError(t *testing.T) {
	fs := &faultFS{FS: openDir(t, t.TempDir())}
	fs.set("create", errors.New("no space left on device"))
	s, err := Open(testConfig(fs))
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(t.Context())
	if err == nil || isExit(err) || !strings.Contains(err.Error(), "no space left on device") {
		t.Fatalf("Run returned %v, want the disk's error, and no ExitError", err)
	}
}

func TestCreatedFilesAreWholeOrAbsent(t *testing.T) {
	dir := t.TempDir()
	fs := &faultFS{FS: openDir(t, dir)}
	d := newDisk(fs, newQueue[message]())
	const size = zeroBlock + 12345
	if err := d.create(7, size); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, fileName(7)))
	if err != nil || !bytes.Equal(data, make([]byte, size)) {
		t.Fatalf("%d bytes, %v; want %d zeros", len(data), err, size)
	}
	for _, op := range []string{"write", "sync"} {
		fs.set(op, errors.New("full"))
		if err := d.create(8, size); err == nil {
			t.Fatalf("create succeeded though its %s failed", op)
		}
		fs.set(op, nil)
		names, err := fs.List()
		if want := []string{fileName(7)}; err != nil || !slices.Equal(names, want) {
			t.Fatalf("after a failed %s: %v, %v; want %v", op, names, err, want)
		}
	}
}

func TestReadersWaitForADiskThatIsBehind(t *testing.T) {
	sock, _ := socketPair(t)
	c := newConn(1, sock, newQueue[message](), life{})
	granted := func() bool {
		select {
		case <-c.consumed:
			return true
		default:
			return false
		}
	}
	l := &loop{}
	for _, step := range []struct {
		what                string
		syncing             bool
		creating            int
		fed, queued         int
		consumed, goesOnNow bool
	}{
		{"nothing under way", false, 0, maxUnsynced + 1, 0, true, true},
		{"a sync with little behind it", true, 0, maxUnsynced, 0, true, true},
		{"a sync with too much behind it", true, 0, maxUnsynced + 1, 0, true, false},
		{"still so", true, 0, maxUnsynced + 2, 0, false, false},
		{"the sync is done", false, 0, maxUnsynced + 2, 0, false, true},
		{"too much waits for a file", false, 1, maxUnsynced + 1, 0, true, false},
		{"the file is made", false, 0, maxUnsynced + 1, 0, false, true},
		{"too many writes", false, 0, 0, maxUnsynced + 1, true, false},
		{"written", false, 0, 0, maxUnsynced, false, true},
	} {
		l.syncing, l.creating, l.fed, l.queued = step.syncing, step.creating, step.fed, step.queued
		if step.consumed {
			l.consumed(c)
		}
		l.release()
		if got := granted(); got != step.goesOnNow {
			t.Fatalf("%s: the reader goes on: %v, want %v", step.what, got, step.goesOnNow)
		}
	}
}

func socketPair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far = dialRaw(t, l.Addr())
	near, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	return near, far
}

func TestConcurrentPublishersShareSyncs(t *testing.T) {
	fs := &countingFS{FS: openDir(t, t.TempDir())}
	b := start(t, testConfig(fs))
	before := fs.syncs()
	const clients, each = 16, 50
	var publishers []*client
	for range clients {
		publishers = append(publishers, dial(t, b.TCPAddr().String(), nsq.ClientConfig{}))
	}
	for range each {
		for _, p := range publishers {
			p.Publish("t", []byte("x"))
			p.push()
		}
		for _, p := range publishers {
			p.want(nsq.NoticePublished)
		}
	}
	if syncs := fs.syncs() - before; syncs > clients*each/2 {
		t.Errorf("%d publishes took %d syncs; want them shared", clients*each, syncs)
	}
}

// countingFS counts syncs of files.
type countingFS struct {
	FS
	mu    sync.Mutex
	count int
}

func (f *countingFS) syncs() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

func (f *countingFS) Create(name string) (File, error) {
	file, err := f.FS.Create(name)
	return countingFile{file, f}, err
}

type countingFile struct {
	File
	fs *countingFS
}

func (f countingFile) Sync() error {
	f.fs.mu.Lock()
	f.fs.count++
	f.fs.mu.Unlock()
	return f.File.Sync()
}

func TestNothingIsDoneAfterFxExit(t *testing.T) {
	sock, _ := socketPair(t)
	c := newConn(1, sock, newQueue[message](), life{})
	l := &loop{conns: map[core.ConnID]*conn{1: c}, disk: newDisk(nil, nil)}
	l.fx.List = []core.Effect{
		{Kind: core.FxSend, Conn: 1, Data: []byte("before")},
		{Kind: core.FxExit, Text: "reason"},
		{Kind: core.FxSend, Conn: 1, Data: []byte("after")},
		{Kind: core.FxWrite, Data: []byte("after")},
	}
	done, err := l.carryOut()
	if done || !isExit(err) || err.Error() != "reason" {
		t.Fatalf("got %v, %v; want an ExitError with the reason", done, err)
	}
	if out, _ := c.take(nil); string(out) != "before" {
		t.Errorf("queued for the connection: %q, want what came before", out)
	}
	if writes := l.disk.changes.take(nil); len(writes) > 0 {
		t.Errorf("queued for the disk: %+v, want nothing", writes)
	}
}

func TestLogLinesHaveTheirLevel(t *testing.T) {
	var b bytes.Buffer
	l := &loop{log: slog.New(slog.NewTextHandler(&b, nil))}
	l.tell(core.Info, "one")
	l.tell(core.Warn, "two")
	l.tell(core.Error, "three")
	for _, want := range []string{"level=INFO msg=one", "level=WARN msg=two", "level=ERROR msg=three"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("log lacks %q:\n%s", want, b.String())
		}
	}
}
