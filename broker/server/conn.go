package server

import (
	"net"
	"slices"
	"sync"
	"time"

	"pestle/broker/core"
	"pestle/broker/server/socket"
)

const (
	// A connection reads into minRead bytes and grows to maxRead while blocks
	// arrive full: an idle one stays small, a busy one makes few system calls.
	minRead = 4 << 10
	maxRead = 64 << 10

	// maxWrite is the most one write takes, so that the core sees progress on
	// a slow link well within a heartbeat interval.
	maxWrite = 64 << 10

	// keepOut is the largest output buffer kept for the next batch.
	keepOut = 64 << 10

	// hangUpGrace bounds how long the last bytes of a connection that is
	// being closed may take, and after it how long the client may go on
	// sending. Closing with input unread would reset the connection, and the
	// client might never see the error that explains it.
	hangUpGrace = time.Second
)

// conn is one client connection: a reader and a writer goroutine.
type conn struct {
	id   core.ConnID
	sock net.Conn
	mail *queue[message]

	segments *segmentTimes

	consumed chan struct{} // a token for each EvData that the loop is done with
	gone     chan struct{} // closed when the reader is gone and the socket shut
	life     life

	closing bool // FxClose was seen; the loop's own

	now  socket.Writer // for what writeNow writes
	wake chan struct{}

	mu      sync.Mutex
	out     []byte    // not yet taken by the writer
	since   time.Time // when the core gave the first of out
	writing bool      // the writer has some
	last    bool      // hang up after out
}

// life tells the goroutines around the loop how it stands.
type life struct {
	ended   <-chan struct{} // closed when the loop takes no more messages
	aborted <-chan struct{} // closed when nothing more may be sent either
}

func newConn(id core.ConnID, sock net.Conn, mail *queue[message], segments *segmentTimes, life life) *conn {
	return &conn{
		id: id, sock: sock, mail: mail, segments: segments, life: life,
		now: socket.NewWriter(sock), consumed: make(chan struct{}, 1), gone: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

func (c *conn) post(ev core.Event) {
	ev.Conn = c.id
	c.mail.put(message{event: ev, conn: c})
}

// read hands one block at a time to the loop and waits until it is consumed:
// a client that sends faster than it is served is slowed by its own socket.
func (c *conn) read() {
	defer close(c.gone)
	defer c.sock.Close()
	block := make([]byte, minRead)
	for {
		n, err := c.sock.Read(block)
		if n > 0 {
			c.handOver(block[:n])
		}
		if err != nil {
			c.post(core.Event{Kind: core.EvClosed})
			return
		}
		if n == len(block) && n < maxRead {
			block = make([]byte, 4*n)
		}
	}
}

// handOver waits until the loop is done with data. When it takes no more, data
// is dropped, and the reader goes on only to see the connection's end.
func (c *conn) handOver(data []byte) {
	select {
	case <-c.life.ended:
		return
	default:
	}
	c.mail.put(message{event: core.Event{Kind: core.EvData, Conn: c.id, Data: data}, conn: c, arrived: time.Now()})
	select {
	case <-c.consumed:
	case <-c.life.ended:
	}
}

// Release tells the reader that the loop is done with its block.
func (c *conn) Release() { c.consumed <- struct{}{} }

// write sends what has gathered since the last write, in one piece if it is
// not large, and reports how far the network took it.
func (c *conn) write() {
	var spare []byte
	for {
		select {
		case <-c.wake:
		case <-c.gone:
			return
		case <-c.life.aborted:
			c.sock.Close()
			return
		}
		out, since, last := c.take(spare)
		for piece := range slices.Chunk(out, maxWrite) {
			n, err := c.sock.Write(piece)
			if n > 0 {
				c.post(core.Event{Kind: core.EvSent, N: n})
			}
			if err != nil {
				c.sock.Close() // the reader reports it
				return
			}
			took(c.segments.reply, since)
		}
		c.written()
		if last {
			c.hangUp()
			return
		}
		if spare = out; cap(spare) > keepOut {
			spare = nil
		}
	}
}

// hangUp ends a connection whose last bytes were sent. For the core it is
// gone now; the reader lingers for the client's end, or for hangUpGrace.
func (c *conn) hangUp() {
	c.post(core.Event{Kind: core.EvClosed})
	half, ok := c.sock.(interface{ CloseWrite() error }) // TCP has it
	if !ok || half.CloseWrite() != nil || c.sock.SetReadDeadline(time.Now().Add(hangUpGrace)) != nil {
		c.sock.Close()
	}
}

func (c *conn) take(spare []byte) (out []byte, since time.Time, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, c.out = c.out, spare[:0]
	c.writing = len(out) > 0
	return out, c.since, c.last
}

// written says that the writer has nothing.
func (c *conn) written() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = false
}

// send queues data, which the core gave at a time; flush or writeNow let it
// leave.
func (c *conn) send(data []byte, given time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.out) == 0 {
		c.since = given
	}
	c.out = append(c.out, data...)
}

// writeNow writes what is queued as far as the network takes it, and returns
// how much that is. The writer is woken for what is left only.
func (c *conn) writeNow() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.writing && !c.last && len(c.out) <= maxWrite {
		if n = c.now.Write(c.out); n > 0 {
			took(c.segments.reply, c.since)
		}
		c.out = c.out[:copy(c.out, c.out[n:])]
	}
	if len(c.out) > 0 || c.last {
		c.flush()
	}
	return n
}

// flush lets the writer have what is queued.
func (c *conn) flush() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// finish queues the end of the connection behind what is queued. A client
// that takes no more bytes is not waited for longer than hangUpGrace.
func (c *conn) finish() {
	c.mu.Lock()
	c.last = true
	c.mu.Unlock()
	if c.sock.SetWriteDeadline(time.Now().Add(hangUpGrace)) != nil {
		c.sock.Close()
	}
	c.flush()
}
