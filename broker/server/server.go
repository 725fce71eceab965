package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"pestle/broker/core"
	"pestle/broker/nsq"
	"pestle/broker/server/peer"
)

// Config is what a Server needs. All fields must be set but those that say
// otherwise.
type Config struct {
	Core core.Config

	TCPAddress       string // host:port; port 0 takes a free one
	HTTPAddress      string // host:port; port 0 takes a free one
	PeerAddress      string // host:port where other nodes of a cluster connect; empty: none can
	BroadcastAddress string // name of this machine in /info; empty: the host name

	FS    FS
	Clock Clock
	Log   *slog.Logger
}

// stopWithin bounds a graceful stop.
const stopWithin = 10 * time.Second

// acceptPause is the wait after a failed accept: out of descriptors, mostly.
const acceptPause = 100 * time.Millisecond

// Server is a broker on its sockets and its data directory.
type Server struct {
	cfg    Config
	limits nsq.Limits
	lock   io.Closer
	tcp    net.Listener
	web    net.Listener
	nodes  net.Listener // nil: no other node can connect
	http   *http.Server
	peers  *peer.Transport

	mail     *queue[message]
	disk     *disk
	segments *segmentTimes
	ready    chan struct{}
	ended    chan struct{}  // see life
	aborted  chan struct{}  // see life
	conns    sync.WaitGroup // the accept loop and the goroutines of connections
	works    sync.WaitGroup // the disk's goroutines

	started  time.Time
	clients  atomic.Int64  // connections open
	bodies   chan struct{} // a token for each request body held in memory
	requests atomic.Uint64 // last RequestID given
}

// Open claims the data directory and the ports. Run does the rest; a Server
// that will not run is not of any use, and holds both until the process ends.
func Open(cfg Config) (*Server, error) {
	lock, err := cfg.FS.Lock()
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	mail := newQueue[message]()
	s := &Server{
		cfg: cfg, limits: cfg.Core.Limits, lock: lock,
		mail: mail, disk: newDisk(cfg.FS, mail, cfg.Core.Plant), segments: newSegmentTimes(),
		ready: make(chan struct{}), ended: make(chan struct{}), aborted: make(chan struct{}),
		started: time.Now(), bodies: make(chan struct{}, maxBodies),
	}
	if s.limits == (nsq.Limits{}) {
		s.limits = nsq.DefaultLimits()
	}
	if err := s.listenAll(); err != nil {
		return nil, errors.Join(err, s.closeListeners(), lock.Close())
	}
	s.peers = peer.New(peer.Config{Node: cfg.Core.Node, Listener: s.nodes, Deliver: s.told, Log: cfg.Log})
	s.http = s.newHTTP()
	return s, nil
}

func (s *Server) listenAll() (err error) {
	if s.tcp, err = listen("--tcp-address", s.cfg.TCPAddress); err != nil {
		return err
	}
	if s.web, err = listen("--http-address", s.cfg.HTTPAddress); err != nil {
		return err
	}
	if s.cfg.PeerAddress != "" {
		s.nodes, err = listen("--peer-address", s.cfg.PeerAddress)
	}
	return err
}

func (s *Server) closeListeners() (failed error) {
	for _, l := range []net.Listener{s.tcp, s.web, s.nodes} {
		if l != nil {
			failed = errors.Join(failed, l.Close())
		}
	}
	return failed
}

func listen(flag, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("%s %q: %w; give host:port", flag, address, err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return l, nil
}

// TCPAddr is where NSQ clients connect.
func (s *Server) TCPAddr() net.Addr { return s.tcp.Addr() }

// HTTPAddr is where HTTP is served.
func (s *Server) HTTPAddr() net.Addr { return s.web.Addr() }

// PeerAddr is where other nodes connect; nil without Config.PeerAddress.
func (s *Server) PeerAddr() net.Addr {
	if s.nodes == nil {
		return nil
	}
	return s.nodes.Addr()
}

// Ready is closed once recovery is complete and clients are served.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Run recovers what the data directory holds and serves until ctx is
// cancelled; then it stops in order and returns nil. An *ExitError says that
// the process must end now: the sockets are shut, the directory stays
// claimed. Any other error is a failure to start.
func (s *Server) Run(ctx context.Context) error {
	go s.serveHTTP()
	l, err := s.recover()
	if err != nil {
		s.peers.Close()
		return errors.Join(err, s.http.Close(), s.tcp.Close(), s.disk.close(), s.lock.Close())
	}
	s.works.Go(func() { s.disk.change(s.ended) })
	s.works.Go(func() { s.disk.read(s.ended) })
	over := make(chan error, 1)
	go func() { over <- l.run() }()
	s.conns.Go(func() { s.accept(ctx) })
	s.peers.Serve()

	select {
	case err = <-over:
	case <-ctx.Done():
		err = s.stop(over)
	}
	s.tcp.Close()
	s.peers.Close()
	if err != nil {
		_ = s.http.Close() // before ended: a request under way is not refused, its fate is open
		close(s.aborted)
		close(s.ended)
		return s.asStartError(err)
	}
	close(s.ended)
	return s.close(l)
}

// asStartError makes the end of a core that never served a failure to start:
// nothing was promised yet.
func (s *Server) asStartError(err error) error {
	var exit *ExitError
	select {
	case <-s.ready:
	default:
		if errors.As(err, &exit) {
			return errors.New(exit.Reason)
		}
	}
	return err
}

// recover reads the journal and returns the loop of the core that came of it.
func (s *Server) recover() (*loop, error) {
	cfg := s.cfg.Core
	var salt [8]byte
	_, _ = rand.Read(salt[:]) // never fails
	cfg.Salt = binary.LittleEndian.Uint64(salt[:])
	r := core.NewRecovery(cfg)
	if err := s.disk.load(r); err != nil {
		return nil, err
	}
	l := &loop{
		clock: s.cfg.Clock, log: s.cfg.Log, mail: s.mail, disk: s.disk, peers: s.peers, ready: s.ready, segments: s.segments,
		conns: map[core.ConnID]*conn{}, asked: map[core.RequestID]chan<- core.Reply{},
	}
	var err error
	l.core, err = r.Finish(s.cfg.Clock.Now(), &l.fx)
	return l, err
}

// told passes on what another node sent.
func (s *Server) told(f *peer.Frame) {
	s.mail.put(message{event: core.Event{Kind: core.EvTold, Data: f.Data}, frame: f})
}

func (s *Server) serveHTTP() {
	if err := s.http.Serve(s.web); !errors.Is(err, http.ErrServerClosed) {
		s.cfg.Log.Error("HTTP is no longer served", "error", err)
	}
}

// accept takes connections once they can be served; until then they wait in
// the kernel's queue.
func (s *Server) accept(ctx context.Context) {
	select {
	case <-s.ready:
	case <-s.ended:
		return
	}
	for id := core.ConnID(1); ; id++ {
		sock, err := s.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.cfg.Log.Error("accept a connection", "error", err)
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
				return
			}
			continue
		}
		c := newConn(id, sock, s.mail, s.segments, life{s.ended, s.aborted})
		c.post(core.Event{Kind: core.EvOpened, Text: sock.RemoteAddr().String()})
		s.clients.Add(1)
		s.conns.Go(func() {
			c.read()
			s.clients.Add(-1)
		})
		s.conns.Go(c.write)
	}
}

// stop asks the core for a graceful stop and waits for it.
func (s *Server) stop(over <-chan error) error {
	s.tcp.Close()
	s.mail.put(message{event: core.Event{Kind: core.EvStop}})
	limit := time.NewTimer(stopWithin)
	defer limit.Stop()
	select {
	case err := <-over:
		return err
	case <-limit.C:
		return &ExitError{Reason: fmt.Sprintf("graceful stop not complete after %v: the disk does not answer", stopWithin)}
	}
}

// close ends a server whose loop has stopped in order.
func (s *Server) close(l *loop) error {
	for _, c := range l.conns {
		c.finish()
	}
	s.conns.Wait()
	s.works.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), hangUpGrace)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // of requests that outlast the grace
	}
	return errors.Join(s.disk.close(), s.lock.Close())
}
