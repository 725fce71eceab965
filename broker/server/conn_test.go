package server

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"pestle/broker/core"
)

// What the network does not take at once the writer goes on with; all of it is
// told to the core, once.
func TestOutputIsWholeAndInOrderThroughAFullSocket(t *testing.T) {
	sock, far := socketPair(t)
	mail := newQueue[message]()
	c := newConn(1, sock, mail, newSegmentTimes(), life{})
	over := make(chan struct{})
	go func() { defer close(over); c.write() }()
	var all []byte
	told := 0
	for word := uint32(0); len(all) < 16<<20; word++ {
		block := bytes.Repeat(binary.BigEndian.AppendUint32(nil, word), 1000)
		all = append(all, block...)
		c.send(block, time.Now())
		told += c.writeNow()
	}
	if told == 0 || told == len(all) {
		t.Fatalf("%d bytes of %d were written at once: the socket was not filled", told, len(all))
	}
	got := make([]byte, len(all))
	if _, err := io.ReadFull(far, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, all) {
		t.Error("what arrived is not what was sent")
	}
	c.finish()
	<-over
	for _, m := range mail.take(nil) {
		if m.event.Kind == core.EvSent {
			told += m.event.N
		}
	}
	if told != len(all) {
		t.Errorf("%d bytes were told to be sent, want %d", told, len(all))
	}
}

// The loop tells the core of what it wrote itself before anything else, and
// does not wait for the next event to do so.
func TestTheLoopTellsTheCoreWhatItWroteItself(t *testing.T) {
	sock, far := socketPair(t)
	segments := newSegmentTimes()
	c := newConn(1, sock, newQueue[message](), segments, life{})
	l := &loop{
		mail: newQueue[message](), peers: newPeers(t, 1), core: &core.Core{}, ready: make(chan struct{}),
		conns: map[core.ConnID]*conn{1: c}, segments: segments,
	}
	l.fx.List = []core.Effect{{Kind: core.FxSend, Conn: 1, Data: []byte("abc")}}
	if _, err := l.carryOut(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if _, err := io.ReadFull(far, got); err != nil || string(got) != "abc" {
		t.Fatalf("%q arrived, %v", got, err)
	}
	timer := time.NewTimer(never)
	l.mail.put(message{event: core.Event{Kind: core.EvClosed, Conn: 1}, conn: c})
	batch := l.next(timer, nil)
	if len(batch) != 2 || batch[0].event.Kind != core.EvSent || batch[0].event.N != 3 || batch[1].event.Kind != core.EvClosed {
		t.Fatalf("the next batch is %+v, want EvSent of 3 bytes before EvClosed", batch)
	}
	l.mail.put(message{event: core.Event{Kind: core.EvStop}})
	if batch = l.next(timer, batch); len(batch) != 1 || batch[0].event.Kind != core.EvStop {
		t.Errorf("then %+v, want EvStop: nothing is told twice", batch)
	}
}

func TestNothingOvertakesTheWriter(t *testing.T) {
	sock, _ := socketPair(t)
	c := newConn(1, sock, newQueue[message](), newSegmentTimes(), life{})
	c.send([]byte("first"), time.Now())
	if out, _, _ := c.take(nil); string(out) != "first" {
		t.Fatalf("the writer gets %q", out)
	}
	c.send([]byte("second"), time.Now())
	if n := c.writeNow(); n != 0 {
		t.Errorf("%d bytes overtook what the writer has", n)
	}
	c.written()
	if n := c.writeNow(); n != len("second") {
		t.Errorf("%d bytes were written when the writer was done, want all", n)
	}
}

// While something else waits for the loop the writer sends.
func TestABusyLoopWritesNothingItself(t *testing.T) {
	sock, _ := socketPair(t)
	c := newConn(1, sock, newQueue[message](), newSegmentTimes(), life{})
	l := &loop{touched: []*conn{c}}
	c.send([]byte("abc"), time.Now())
	l.flush(false)
	if len(l.sent) > 0 || len(c.wake) != 1 {
		t.Errorf("the loop wrote %d times, the writer was woken %d times; want 0 and 1", len(l.sent), len(c.wake))
	}
}
