package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"pestle/broker/server/socket"
)

const (
	// The wait after a connection broke or could not be made doubles from
	// minPause to maxPause. After one that lasted for longer it is short again.
	minPause = 20 * time.Millisecond
	maxPause = 500 * time.Millisecond

	// maxWrite bytes must be taken by the network within writeWithin, or the
	// connection is given up: what waits behind them is no news any more.
	maxWrite    = 1 << 20
	writeWithin = 5 * time.Second

	// closeGrace bounds the sending of what is left at a close.
	closeGrace = time.Second

	// maxNow is the most that is written without the writer, in bytes: so much
	// takes the kernel no longer than to wake it.
	maxNow = 64 << 10

	// keepOut is the largest buffer kept for the next frames, in bytes.
	keepOut = 1 << 20
)

// link sends frames to one node, over one connection after another.
type link struct {
	node    uint64
	address string
	self    uint64
	limits  limits
	log     *slog.Logger
	counts  *counters
	ctx     context.Context // over when the link closes
	cancel  context.CancelFunc

	mu      sync.Mutex
	out     []byte        // frames that the writer has not taken
	frames  int           // in out
	begun   int           // so many bytes of out the network has taken already
	pending int           // bytes in out, and those the writer took, that the network has not taken
	resting bool          // between two attempts to connect: everything is dropped
	writing bool          // the writer has frames
	now     socket.Writer // of the connection there is
	wake    chan struct{}
}

// newLink returns a link that does nothing until run. The caller holds t.mu.
func newLink(t *Transport, node uint64, address string) *link {
	ctx, cancel := context.WithCancel(t.ctx)
	return &link{
		node: node, address: address, self: t.cfg.Node, limits: t.limits,
		log: t.cfg.Log.With("peer", node, "address", address), counts: t.count(node),
		ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1),
	}
}

// queue adds a frame to what is sent next, or drops it.
func (l *link) queue(frame []byte) {
	size := headerSize + len(frame)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.resting || l.pending+size > l.limits.queue {
		l.counts.droppedFrames.Add(1)
		return
	}
	l.out = appendFrame(l.out, frame)
	l.frames++
	l.pending += size
}

// flush lets the writer have what is queued.
func (l *link) flush() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run connects when there is something to send, and again when the connection
// is gone, until the link closes.
func (l *link) run() {
	defer l.rest()
	pause, told := minPause, false
	for {
		select {
		case <-l.wake:
		case <-l.ctx.Done():
			return
		}
		sock, err := l.open()
		if err == nil {
			l.log.Info("connected to peer")
			told = false
			l.flush() // of what woke it, and came since
			began := time.Now()
			err = l.carry(sock)
			if time.Since(began) > maxPause {
				pause = minPause
			}
		}
		if l.ctx.Err() != nil {
			return
		}
		if !told { // once, not at every attempt
			l.log.Warn("no connection to peer; frames for it are dropped until there is one", "error", err)
			told = true
		}
		l.rest()
		select {
		case <-time.After(pause):
		case <-l.ctx.Done():
			return
		}
		l.resume()
		pause = min(2*pause, maxPause)
	}
}

// open makes a connection that the peer has welcomed.
func (l *link) open() (net.Conn, error) {
	dialer := net.Dialer{Timeout: l.limits.open}
	sock, err := dialer.DialContext(l.ctx, "tcp", l.address)
	if err != nil {
		return nil, err
	}
	if err := l.introduce(sock); err != nil {
		sock.Close()
		return nil, err
	}
	l.counts.connects.Add(1)
	return sock, nil
}

func (l *link) introduce(sock net.Conn) error {
	defer context.AfterFunc(l.ctx, func() { sock.Close() })()
	if err := sock.SetDeadline(time.Now().Add(l.limits.open)); err != nil {
		return err
	}
	if _, err := sock.Write(hello{from: l.self, to: l.node}.bytes()); err != nil {
		return err
	}
	var answer [1]byte
	if _, err := io.ReadFull(sock, answer[:]); err != nil {
		return fmt.Errorf("it did not welcome this node, its log may say why: %w", err)
	}
	if answer[0] != welcome {
		return fmt.Errorf("it answered %d to the opening, not %d: not a node of a cluster", answer[0], welcome)
	}
	return sock.SetDeadline(time.Time{})
}

// carry sends what is queued until the connection breaks, which it returns,
// or the link closes.
func (l *link) carry(sock net.Conn) error {
	defer context.AfterFunc(l.ctx, func() {
		time.AfterFunc(closeGrace, func() { sock.Close() })
	})()
	var watch sync.WaitGroup
	defer watch.Wait()
	defer sock.Close()
	gone := make(chan struct{})
	watch.Go(func() { // nothing comes back: whatever a read returns is the end
		_, _ = sock.Read(make([]byte, 1))
		sock.Close()
		close(gone)
	})
	l.online(socket.NewWriter(sock))
	defer l.online(socket.Writer{})
	var spare []byte
	for {
		closing := false
		select {
		case <-l.wake:
		case <-gone:
			return errors.New("it closed the connection")
		case <-l.ctx.Done():
			closing = true
		}
		out, begun, frames := l.take(spare)
		if err := l.write(sock, out, begun, frames); err != nil || closing {
			return err
		}
		if spare = out; cap(spare) > keepOut {
			spare = nil
		}
	}
}

// writeNow reports whether nothing is left for the writer. What it leaves
// begins in the middle of a frame, perhaps.
func (l *link) writeNow() (all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writing || l.begun > 0 || len(l.out) > maxNow {
		return false
	}
	n := l.now.Write(l.out)
	l.pending -= n
	if n < len(l.out) {
		l.begun = n
		return false
	}
	l.counts.sentBytes.Add(uint64(n))
	l.counts.sentFrames.Add(uint64(l.frames))
	l.out, l.frames = l.out[:0], 0
	return true
}

// online says over which connection writeNow may write.
func (l *link) online(w socket.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now, l.writing = w, false
}

// take gives the writer the frames, of which the network has taken begun bytes
// already.
func (l *link) take(spare []byte) (out []byte, begun, frames int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out, begun, frames = l.out, l.begun, l.frames
	l.out, l.begun, l.frames = spare[:0], 0, 0
	l.writing = len(out) > 0
	return out, begun, frames
}

// write sends whole frames. Each piece must be taken in time.
func (l *link) write(sock net.Conn, out []byte, begun, frames int) (err error) {
	sent := begun
	for piece := range slices.Chunk(out[begun:], maxWrite) {
		if err = sock.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
			break
		}
		var n int
		n, err = sock.Write(piece)
		sent += n
		l.taken(n)
		if err != nil {
			break
		}
	}
	if err != nil {
		whole := framesIn(out, sent)
		l.counts.droppedFrames.Add(uint64(frames - whole))
		frames = whole
		l.taken(len(out) - sent)
	}
	l.counts.sentBytes.Add(uint64(sent))
	l.counts.sentFrames.Add(uint64(frames))
	if err == nil { // else the connection is broken, perhaps in the middle of a frame
		l.mu.Lock()
		l.writing = false
		l.mu.Unlock()
	}
	return err
}

// taken makes room in the queue.
func (l *link) taken(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending -= n
}

// rest drops what is queued, and what will be until resume.
func (l *link) rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.droppedFrames.Add(uint64(l.frames))
	l.pending -= len(l.out) - l.begun
	l.out, l.begun, l.frames, l.resting = nil, 0, 0, true
}

func (l *link) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resting = false
}
