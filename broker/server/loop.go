package server

import (
	"log/slog"
	"slices"
	"time"

	"pestle/broker/core"
	"pestle/broker/server/peer"
)

const (
	// maxUnsynced bounds the input in bytes that the core may gather for the
	// next sync, and the writes queued for the disk. Beyond it readers wait
	// for the disk. It only has to be more than a disk needs to be kept
	// busy (megabytes) and less than memory bears.
	maxUnsynced = 64 << 20

	// fewWrites is how many connections' output the loop writes itself when it
	// has nothing else to do, which takes less than to wake their writers. Else
	// the writers are faster, side by side.
	fewWrites = 4

	// never is a timer that is not wanted.
	never = time.Duration(1<<63 - 1)
)

// message is one thing that happened.
type message struct {
	event   core.Event  // Kind 0: none
	conn    *conn       // whose event it is
	arrived time.Time   // of an EvData: when it was read
	frame   *peer.Frame // of an EvTold
	answer  chan<- core.Reply

	written int   // so many bytes of FxWrite were taken by the kernel
	fault   error // the disk failed in a way the core has no event for
}

// ExitError is the end of a broker that must not go on: a failed sync, say.
// The process must end with it.
type ExitError struct{ Reason string }

func (e *ExitError) Error() string { return e.Reason }

// loop steps the core. All fields belong to the goroutine in run.
type loop struct {
	core  *core.Core
	clock Clock
	log   *slog.Logger
	mail  *queue[message]
	disk  *disk
	peers *peer.Transport
	ready chan struct{} // closed when clients may be served

	segments *segmentTimes
	began    time.Time // of the batch: the core's now, and so when what it counts ends

	fx      core.Effects
	conns   map[core.ConnID]*conn
	touched []*conn   // have output of this batch
	sent    []message // EvSent of what the loop wrote itself; the next batch begins with it
	asked   map[core.RequestID]chan<- core.Reply

	stopping bool // EvStop was seen: no new connections

	syncing  bool     // an FxSync is outstanding
	creating int      // so many FxCreate are
	fed      int      // bytes of input since the last FxSync was issued
	queued   int      // bytes of FxWrite not yet written
	held     []reader // wait for the disk
}

// reader is who waits until the loop is done with input of his: a connection
// with its block, or a peer's frame.
type reader interface{ Release() }

// run returns nil after FxStopped and an *ExitError after FxExit or a failed
// write.
func (l *loop) run() error {
	timer := time.NewTimer(never)
	defer timer.Stop()
	var batch []message
	for {
		now := l.clock.Now()
		l.began = time.Now()
		for i := range batch {
			if err := l.step(now, &batch[i]); err != nil {
				return err
			}
		}
		if due, ok := l.core.NextDeadline(); ok && due <= now.Mono {
			l.core.Step(now, core.Event{Kind: core.EvTimer}, &l.fx)
		}
		if done, err := l.carryOut(); done || err != nil {
			return err
		}
		l.release()
		batch = l.next(timer, batch)
	}
}

// next waits for what happens next, or until the core wants to be stepped.
func (l *loop) next(timer *time.Timer, spare []message) (batch []message) {
	if len(l.sent) > 0 {
		select {
		case <-l.mail.wake:
			batch = l.mail.take(spare)
		default:
			clear(spare)
			batch = spare[:0]
		}
		batch = slices.Insert(batch, 0, l.sent...)
		clear(l.sent)
		l.sent = l.sent[:0]
		return batch
	}
	if wait, wanted := l.untilDeadline(); wanted {
		timer.Reset(wait)
	} else {
		timer.Stop()
	}
	select {
	case <-l.mail.wake:
		return l.mail.take(spare)
	case <-timer.C:
		clear(spare)
		return spare[:0]
	}
}

// untilDeadline is how long the core can be left alone.
func (l *loop) untilDeadline() (time.Duration, bool) {
	due, ok := l.core.NextDeadline()
	if !ok {
		return 0, false
	}
	return max(0, time.Duration(due-l.clock.Now().Mono)), true
}

func (l *loop) step(now core.Time, m *message) error {
	if m.fault != nil {
		return &ExitError{Reason: m.fault.Error()}
	}
	l.queued -= m.written
	switch m.event.Kind {
	case 0:
		return nil
	case core.EvOpened:
		if l.stopping { // accepted just before the port was closed
			m.conn.sock.Close()
			return nil
		}
		l.conns[m.event.Conn] = m.conn
	case core.EvStop:
		l.stopping = true
	case core.EvData:
		defer l.consumed(m.conn)
		l.fed += len(m.event.Data)
	case core.EvTold:
		defer l.consumed(m.frame)
		l.fed += len(m.event.Data)
	case core.EvSynced:
		l.syncing = false
	case core.EvCreated:
		l.creating--
	case core.EvRequest:
		l.asked[m.event.Request.ID] = m.answer
		for _, body := range m.event.Request.Bodies {
			l.fed += len(body)
		}
	}
	if m.conn != nil && !l.concerns(m) {
		return nil
	}
	l.core.Step(now, m.event, &l.fx)
	if m.event.Kind == core.EvData {
		took(l.segments.decode, m.arrived)
	}
	return nil
}

// concerns reports whether the core should hear of a connection's event: none
// follow an EvClosed, and no input follows an FxClose.
func (l *loop) concerns(m *message) bool {
	c := l.conns[m.conn.id]
	if m.event.Kind == core.EvClosed {
		delete(l.conns, m.conn.id)
	}
	return c != nil && (!c.closing || m.event.Kind != core.EvData)
}

// consumed lets a reader go on, unless the disk is behind.
func (l *loop) consumed(r reader) {
	if l.behind() {
		l.held = append(l.held, r)
		return
	}
	r.Release()
}

// behind reports whether the disk has more than enough to do. Input waits in
// the core for the next sync while one runs, or while the file it is for is
// made.
func (l *loop) behind() bool {
	return (l.syncing || l.creating > 0) && l.fed > maxUnsynced || l.queued > maxUnsynced
}

// release lets the held readers go on when the disk has caught up.
func (l *loop) release() {
	if len(l.held) == 0 || l.behind() {
		return
	}
	for _, r := range l.held {
		r.Release()
	}
	clear(l.held)
	l.held = l.held[:0]
}

// carryOut does what the core asked for; done reports a complete stop.
func (l *loop) carryOut() (done bool, err error) {
	for i := range l.fx.List {
		e := &l.fx.List[i]
		switch e.Kind {
		case core.FxSend:
			l.send(e.Conn, e.Data)
		case core.FxClose:
			l.close(e.Conn)
		case core.FxSync:
			l.syncing, l.fed = true, 0
			l.disk.changes.put(*e)
		case core.FxWrite:
			l.queued += len(e.Data)
			l.disk.changes.put(*e)
		case core.FxCreate, core.FxRecycle:
			l.creating++
			l.disk.changes.put(*e)
		case core.FxRemove:
			l.disk.changes.put(*e)
		case core.FxRead:
			l.disk.reads.put(*e)
		case core.FxTell:
			l.peers.Tell(e.Node, e.Text, e.Data)
		case core.FxReply:
			l.reply(e.Request, *e.Reply)
		case core.FxLog:
			l.tell(e.Level, e.Text)
		case core.FxExit:
			return false, &ExitError{Reason: e.Text}
		case core.FxStopped:
			done = true
		}
	}
	l.segments.spans(l.fx.Spans) // before who is answered may ask for them
	idle := l.mail.empty()
	l.flush(idle) // clients first: what is committed is no news that other nodes wait for
	l.peers.Flush(idle)
	clear(l.touched)
	l.touched = l.touched[:0]
	clear(l.fx.List) // do not keep the bodies alive
	l.fx.Reset()
	l.noteReady()
	return done, nil
}

// flush lets the output of this batch leave. Idle says that the loop has
// nothing else to do.
func (l *loop) flush(idle bool) {
	for _, c := range l.touched {
		if !idle || len(l.touched) > fewWrites {
			c.flush()
		} else if n := c.writeNow(); n > 0 {
			l.sent = append(l.sent, message{event: core.Event{Kind: core.EvSent, Conn: c.id, N: n}, conn: c})
		}
	}
}

func (l *loop) send(id core.ConnID, data []byte) {
	if c := l.conns[id]; c != nil {
		c.send(data, l.began)
		if n := len(l.touched); n == 0 || l.touched[n-1] != c {
			l.touched = append(l.touched, c)
		}
	}
}

func (l *loop) close(id core.ConnID) {
	if c := l.conns[id]; c != nil && !c.closing {
		c.closing = true
		c.finish()
	}
}

func (l *loop) reply(id core.RequestID, r core.Reply) {
	if answer := l.asked[id]; answer != nil {
		answer <- r // has room for the one reply
		delete(l.asked, id)
	}
}

func (l *loop) noteReady() {
	select {
	case <-l.ready:
	default:
		if l.core.Ready() {
			close(l.ready)
		}
	}
}

func (l *loop) tell(level core.Level, text string) {
	switch level {
	case core.Warn:
		l.log.Warn(text)
	case core.Error:
		l.log.Error(text)
	default:
		l.log.Info(text)
	}
}
