package bench

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"pestle/broker/nsq"
)

// answersWithin is how long answers are waited for after the last send.
const answersWithin = 5 * time.Second

// Load is what is sent, at an even pace whatever becomes of it.
type Load struct {
	Rate        int           `json:"rate"`        // messages per second
	Size        int           `json:"size"`        // bytes of each
	For         time.Duration `json:"for"`         // ns
	Connections int           `json:"connections"` // taken in turn
}

// outcome is what became of a load. Times count from the moment a message
// should have been sent: what waits for a slow answer, or for this process, is
// not left out.
type outcome struct {
	answers *hdrhistogram.Histogram // until the ack
	late    *hdrhistogram.Histogram // until the message was handed to the socket
	failed  int64                   // refused, or without an answer
	why     string                  // the first one failed
}

// send publishes a load to a topic at a broker's address.
func send(ctx context.Context, address, topic string, load Load) (outcome, error) {
	var lines []*line
	defer func() {
		for _, l := range lines {
			l.sock.Close()
		}
	}()
	for range load.Connections {
		l, err := openLine(address)
		if err != nil {
			return outcome{}, err
		}
		lines = append(lines, l)
	}
	out := outcome{answers: newHistogram(), late: newHistogram()}
	pace(ctx, lines, topic, load, out.late)
	for _, l := range lines {
		l.collect(&out)
	}
	return out, ctx.Err()
}

// pace sends one message after another when it is due. It sleeps in the kernel
// on a thread of its own: Go's timers are late by up to a millisecond in a
// process that has nothing else to do.
func pace(ctx context.Context, lines []*line, topic string, load Load, late *hdrhistogram.Histogram) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // ns; without it sends are later by 50 µs, which is told
	body, step := make([]byte, load.Size), time.Second/time.Duration(load.Rate)
	begin := time.Now().Add(step)
	for i := range int(load.For / step) {
		due := begin.Add(time.Duration(i) * step)
		for wait := time.Until(due); wait > 0; wait = time.Until(due) {
			t := unix.NsecToTimespec(int64(wait))
			_ = unix.Nanosleep(&t, nil) // a signal ends it early: it is looked again
		}
		if ctx.Err() != nil {
			return
		}
		lines[i%len(lines)].publish(topic, body, due)
		record(late, time.Since(due))
	}
}

// line is one connection. The pacer sends on it, a goroutine reads.
type line struct {
	sock net.Conn
	over chan struct{} // closed when nothing more is read

	mu       sync.Mutex
	session  *nsq.Client
	due      map[uint64]time.Time // of publishes without an answer, by ticket
	took     []time.Duration
	failed   int64
	why      string
	finished bool // nothing more is published
	broken   bool // nothing more is answered
}

// openLine connects and introduces itself.
func openLine(address string) (*line, error) {
	sock, err := net.DialTimeout("tcp", address, answersWithin)
	if err != nil {
		return nil, fmt.Errorf("connect to the broker: %w", err)
	}
	l := &line{
		sock: sock, over: make(chan struct{}), due: map[uint64]time.Time{},
		session: nsq.NewClient(nsq.ClientConfig{ClientID: "bench", HeartbeatMS: 30_000}),
	}
	if _, err := sock.Write(l.session.TakeOutput()); err != nil {
		sock.Close()
		return nil, fmt.Errorf("introduce a connection to %s: %w", address, err)
	}
	go l.read()
	return l, nil
}

func (l *line) publish(topic string, body []byte, due time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due[l.session.Publish(topic, body)] = due
	l.flush()
}

// flush writes what the session has to say.
func (l *line) flush() {
	if out := l.session.TakeOutput(); len(out) > 0 {
		_, _ = l.sock.Write(out) // the reader learns of a broken connection
	}
}

// read takes answers until all are there or the connection ends.
func (l *line) read() {
	defer close(l.over)
	block := make([]byte, 64<<10)
	for {
		n, err := l.sock.Read(block)
		if done := l.take(time.Now(), block[:n], err); done {
			return
		}
	}
}

// take counts the answers in what was read at a time.
func (l *line) take(now time.Time, block []byte, err error) (done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session.Feed(block)
	for {
		notice, more := l.session.Next()
		if !more {
			break
		}
		l.note(now, notice)
	}
	l.flush() // an answer to a heartbeat, perhaps
	if err != nil {
		l.blame(err.Error())
	}
	return err != nil || l.broken || l.finished && len(l.due) == 0
}

func (l *line) note(now time.Time, notice nsq.Notice) {
	switch notice.Kind {
	case nsq.NoticePublished:
		l.took = append(l.took, now.Sub(l.due[notice.Ticket]))
		delete(l.due, notice.Ticket)
	case nsq.NoticeRefused:
		if _, waited := l.due[notice.Ticket]; waited {
			delete(l.due, notice.Ticket)
			l.failed++
		}
		l.blame(notice.Text)
	case nsq.NoticeBroken:
		l.broken = true
		l.blame(notice.Text)
	}
}

// blame remembers why the first one failed.
func (l *line) blame(why string) {
	if l.why == "" {
		l.why = why
	}
}

// collect waits for the last answers and adds what became of this line's
// messages.
func (l *line) collect(out *outcome) {
	l.mu.Lock()
	l.finished = true
	open := len(l.due)
	l.mu.Unlock()
	if open > 0 {
		_ = l.sock.SetReadDeadline(time.Now().Add(answersWithin)) // a socket that is closed fails its reads, too
	} else {
		l.sock.Close()
	}
	<-l.over
	for _, took := range l.took {
		record(out.answers, took)
	}
	if failed := l.failed + int64(len(l.due)); failed > 0 {
		out.failed += failed
		if out.why == "" {
			out.why = l.why
		}
	}
}
