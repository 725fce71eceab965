package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pestle/broker/core"
	"pestle/broker/nsq"
)

// patience bounds a wait for something that must happen. No test depends on
// how long it takes.
const patience = 20 * time.Second

func testConfig(fs FS) Config {
	limits := nsq.DefaultLimits()
	limits.Version = "1.3.0"
	return Config{
		Core:       core.Config{Limits: limits, FileSize: 8 << 20},
		TCPAddress: "127.0.0.1:0", HTTPAddress: "127.0.0.1:0", BroadcastAddress: "broker.example",
		FS: fs, Clock: SystemClock(), Log: slog.New(slog.DiscardHandler),
	}
}

func openDir(t testing.TB, path string) FS {
	t.Helper()
	fs, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

// broker is a server that runs in this process.
type broker struct {
	*Server
	stop context.CancelFunc
	over chan error
}

// start runs a server and waits until it serves. It is stopped with the test,
// unless the test did.
func start(t testing.TB, cfg Config) *broker {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &broker{Server: s, stop: cancel, over: make(chan error, 1)}
	go func() { b.over <- s.Run(ctx) }()
	t.Cleanup(cancel)
	select {
	case <-s.Ready():
	case err := <-b.over:
		t.Fatalf("the server ended before it was ready: %v", err)
	case <-time.After(patience):
		t.Fatal("the server does not get ready")
	}
	return b
}

func startIn(t testing.TB, dir string) *broker { return start(t, testConfig(openDir(t, dir))) }

// end stops the server in order and returns what Run returned.
func (b *broker) end(t testing.TB) error {
	t.Helper()
	b.stop()
	return b.wait(t)
}

// wait returns what Run returned.
func (b *broker) wait(t testing.TB) error {
	t.Helper()
	select {
	case err := <-b.over:
		return err
	case <-time.After(patience):
		t.Fatal("the server does not end")
		return nil
	}
}

func (b *broker) url(path string) string { return "http://" + b.HTTPAddr().String() + path }

// call makes an HTTP request and returns status and body.
func (b *broker) call(t testing.TB, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, b.url(path), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func (b *broker) mustPublish(t testing.TB, topic, body string) {
	t.Helper()
	if code, answer := b.call(t, "POST", "/pub?topic="+topic, body); code != 200 || answer != "OK" {
		t.Fatalf("POST /pub: %d %s", code, answer)
	}
}

// dialRaw connects a socket whose reads and writes give up in the end.
func dialRaw(t testing.TB, addr net.Addr) net.Conn {
	t.Helper()
	sock, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sock.Close() })
	if err := sock.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return sock
}

// client is an NSQ client session on a socket.
type client struct {
	*nsq.Client
	t    testing.TB
	sock net.Conn
}

func dial(t testing.TB, addr string, cfg nsq.ClientConfig) *client {
	t.Helper()
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{Client: nsq.NewClient(cfg), t: t, sock: dialRaw(t, tcp)}
	c.want(nsq.NoticeIdentified)
	return c
}

// subscribe dials and subscribes with a window of ready messages.
func subscribe(t testing.TB, addr, topic, channel string, ready int64) *client {
	t.Helper()
	c := dial(t, addr, nsq.ClientConfig{ClientID: "test"})
	c.Subscribe(topic, channel)
	c.want(nsq.NoticeSubscribed)
	c.Ready(ready)
	c.push()
	return c
}

// push sends what the session has to send.
func (c *client) push() {
	c.t.Helper()
	out := c.TakeOutput()
	if len(out) == 0 {
		return
	}
	if _, err := c.sock.Write(out); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next notice, or io.EOF and the like when the server hung up.
func (c *client) next() (nsq.Notice, error) {
	c.t.Helper()
	block := make([]byte, 64<<10)
	for {
		if n, ok := c.Next(); ok {
			c.push() // an answer to a heartbeat, perhaps
			return n, nil
		}
		c.push()
		n, err := c.sock.Read(block)
		c.Feed(block[:n])
		if err != nil {
			return nsq.Notice{}, err
		}
	}
}

func (c *client) want(kind nsq.NoticeKind) nsq.Notice {
	c.t.Helper()
	n, err := c.next()
	if err != nil {
		c.t.Fatalf("waiting for notice %d: %v", kind, err)
	}
	if n.Kind != kind {
		c.t.Fatalf("got notice %+v, want kind %d", n, kind)
	}
	return n
}

// faultFS is an FS whose files fail when they are told to.
type faultFS struct {
	FS
	mu   sync.Mutex
	fail map[string]error // by operation: "create", "write", "sync"
}

func (f *faultFS) set(op string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail == nil {
		f.fail = map[string]error{}
	}
	f.fail[op] = err
}

func (f *faultFS) failure(op string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail[op]
}

func (f *faultFS) Create(name string) (File, error) {
	if err := f.failure("create"); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name)
	return &faultFile{file, f}, err
}

func (f *faultFS) Open(name string) (File, error) {
	file, err := f.FS.Open(name)
	return &faultFile{file, f}, err
}

type faultFile struct {
	File
	fs *faultFS
}

func (f *faultFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.fs.failure("write"); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

func (f *faultFile) Sync() error {
	if err := f.fs.failure("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

// Environment of a child broker: see TestMain.
const (
	childDir    = "PESTLE_TEST_CHILD_DIR"
	childMemory = "PESTLE_TEST_CHILD_MEMORY"
	childNode   = "PESTLE_TEST_CHILD_NODE"  // its id in a cluster
	childPeers  = "PESTLE_TEST_CHILD_PEERS" // the addresses of nodes 1, 2, …, comma-separated
)

// TestMain turns the test binary into a broker when the environment names a
// data directory, so that tests can kill a real process.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := runChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runChild(dir string) error {
	fs, err := OpenDir(dir)
	if err != nil {
		return err
	}
	cfg := testConfig(fs)
	if os.Getenv(childMemory) != "" {
		cfg.Core.Durability = core.Memory
	}
	if node := os.Getenv(childNode); node != "" {
		if cfg.Core.Node, err = strconv.ParseUint(node, 10, 64); err != nil {
			return err
		}
		for i, address := range strings.Split(os.Getenv(childPeers), ",") {
			cfg.Core.Cluster = append(cfg.Core.Cluster, core.Member{ID: uint64(i + 1), Address: address})
		}
		cfg.Core.DataGroups = 2
		cfg.PeerAddress = cfg.Core.Cluster[cfg.Core.Node-1].Address
	}
	s, err := Open(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // the parent's end is the child's
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(2)
	}()
	go func() {
		<-s.Ready()
		fmt.Printf("%s %s\n", s.TCPAddr(), s.HTTPAddr())
	}()
	defer cancel()
	return s.Run(ctx)
}

// child is a broker in a process of its own.
type child struct {
	cmd       *exec.Cmd
	tcp, http string
}

func spawn(t *testing.T, dir string, env ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(append(os.Environ(), childDir+"="+dir), env...)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); c.kill() })
	if _, err := fmt.Fscan(out, &c.tcp, &c.http); err != nil {
		t.Fatalf("the child does not get ready: %v", err)
	}
	return c
}

// kill ends the child by SIGKILL and waits for its end. A second call does
// nothing.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func isExit(err error) bool {
	var exit *ExitError
	return errors.As(err, &exit)
}
