package peer

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Config is what a Transport needs. All fields must be set but those that say
// otherwise.
type Config struct {
	Node     uint64       // this node's id
	Listener net.Listener // where others reach this node; nil: nowhere
	// Deliver takes a frame that arrived. It must not wait; it is called by
	// several goroutines, in order for each sender's connection.
	Deliver func(*Frame)
	Log     *slog.Logger
}

// limits of a transport; tests have others.
type limits struct {
	frame  int           // longest frame in bytes
	queue  int           // bytes for one peer that the network has not taken; no longer frame fits
	window int           // bytes of one connection that were delivered and not released
	open   time.Duration // for a connection to be made, and for the answer to its opening
}

func defaultLimits() limits {
	return limits{frame: MaxFrame, queue: MaxFrame + headerSize, window: 16 << 20, open: 500 * time.Millisecond}
}

// Transport is one node's end of all its connections with other nodes.
type Transport struct {
	cfg    Config
	limits limits
	ctx    context.Context // over when the transport closes
	cancel context.CancelFunc
	works  sync.WaitGroup

	touched []*link // were told something since the last Flush; its caller's own

	mu     sync.Mutex
	links  map[uint64]*link    // to each node, by its id
	inputs map[uint64]net.Conn // the newest connection from each node
	counts map[uint64]*counters
}

// New returns a Transport that accepts nothing until Serve is called.
func New(cfg Config) *Transport {
	ctx, cancel := context.WithCancel(context.Background())
	return &Transport{
		cfg: cfg, limits: defaultLimits(), ctx: ctx, cancel: cancel,
		links: map[uint64]*link{}, inputs: map[uint64]net.Conn{}, counts: map[uint64]*counters{},
	}
}

// Tell queues a frame for a node, which is reached at address. It never waits;
// the frame may be dropped. It copies data. Tell and Flush are for one
// goroutine.
func (t *Transport) Tell(node uint64, address string, data []byte) {
	l := t.link(node, address)
	l.queue(data)
	if n := len(t.touched); n == 0 || t.touched[n-1] != l {
		t.touched = append(t.touched, l)
	}
}

// Flush lets the frames of earlier Tells leave, those for one node together.
// Now says that the caller has nothing else to do: little is written before
// Flush returns then, if the network takes it, for another goroutine would have
// to be woken.
func (t *Transport) Flush(now bool) {
	for _, l := range t.touched {
		if !now || !l.writeNow() {
			l.flush()
		}
	}
	clear(t.touched)
	t.touched = t.touched[:0]
}

// link returns the link to a node. One to another address than before takes
// the old one's place.
func (t *Transport) link(node uint64, address string) *link {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.links[node]
	if l != nil && l.address == address {
		return l
	}
	if l != nil {
		l.cancel()
	}
	l = newLink(t, node, address)
	t.links[node] = l
	t.works.Go(l.run)
	return l
}

// Close sends what is queued for peers that take it within a second, and ends
// everything. Nothing is delivered after it. Tell must not be called after it.
func (t *Transport) Close() {
	t.cancel()
	if t.cfg.Listener != nil {
		t.cfg.Listener.Close()
	}
	t.works.Wait()
}
