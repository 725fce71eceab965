package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

const (
	// acceptPause is the wait after a failed accept: out of descriptors, mostly.
	acceptPause = 100 * time.Millisecond

	// helloWithin is the time a connection has for its opening.
	helloWithin = 5 * time.Second

	// readSize is read from a connection at once, in bytes.
	readSize = 64 << 10
)

// Frame is one frame that arrived.
type Frame struct {
	From   uint64 // who its sender says it is
	Data   []byte // its taker's
	window *window
}

// Release tells that its taker is done with the frame, so that others may
// come. It must be called once.
func (f *Frame) Release() { f.window.give(len(f.Data)) }

// Serve begins to accept connections and to deliver what comes over them,
// until Close.
func (t *Transport) Serve() {
	if t.cfg.Listener != nil {
		t.works.Go(t.accept)
	}
}

func (t *Transport) accept() {
	for {
		sock, err := t.cfg.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.cfg.Log.Error("accept a connection of a peer", "error", err)
			select {
			case <-time.After(acceptPause):
				continue
			case <-t.ctx.Done():
				return
			}
		}
		t.works.Go(func() { t.receive(sock) })
	}
}

// receive is the life of one connection that another node made.
func (t *Transport) receive(sock net.Conn) {
	defer context.AfterFunc(t.ctx, func() { sock.Close() })()
	defer sock.Close()
	log := t.cfg.Log.With("from", sock.RemoteAddr().String())
	from, err := t.greet(sock)
	if err != nil {
		if t.ctx.Err() == nil {
			log.Warn("a connection to the peer address was refused", "reason", err)
		}
		return
	}
	log.Info("peer connected", "peer", from)
	defer t.supersede(from, sock)() // before the welcome: the node may only then make another
	if err = admit(sock); err == nil {
		err = t.deliver(from, sock)
	}
	if t.ctx.Err() == nil {
		log.Info("peer disconnected", "peer", from, "reason", err)
	}
}

// greet reads the opening and returns the node that it names.
func (t *Transport) greet(sock net.Conn) (from uint64, err error) {
	if err := sock.SetDeadline(time.Now().Add(helloWithin)); err != nil {
		return 0, err
	}
	h, err := readHello(sock)
	if err != nil {
		return 0, err
	}
	if h.to != t.cfg.Node {
		return 0, fmt.Errorf("node %d looks for node %d here, and this is node %d: compare the addresses of the nodes", h.from, h.to, t.cfg.Node)
	}
	return h.from, nil
}

// admit answers an opening.
func admit(sock net.Conn) error {
	if _, err := sock.Write([]byte{welcome}); err != nil {
		return err
	}
	return sock.SetDeadline(time.Time{})
}

// supersede closes the connection that a node had before this one: it knows
// of its end, though perhaps this machine does not.
func (t *Transport) supersede(from uint64, sock net.Conn) (forget func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.inputs[from]; old != nil {
		old.Close()
	}
	t.inputs[from] = sock
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.inputs[from] == sock {
			delete(t.inputs, from)
		}
	}
}

// deliver hands over frame after frame and returns why there are no more.
func (t *Transport) deliver(from uint64, sock io.Reader) error {
	t.mu.Lock()
	counts := t.count(from)
	t.mu.Unlock()
	w := newWindow(t.limits.window)
	r := bufio.NewReaderSize(sock, readSize)
	for {
		data, err := readFrame(r, t.limits.frame)
		if err != nil {
			return err
		}
		counts.receivedFrames.Add(1)
		counts.receivedBytes.Add(uint64(headerSize + len(data)))
		if !w.take(len(data), t.ctx.Done()) {
			return context.Cause(t.ctx)
		}
		t.cfg.Deliver(&Frame{From: from, Data: data, window: w})
	}
}
