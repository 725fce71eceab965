package client

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsqio/go-nsq"

	"pestle/history/stream"
	"pestle/workload"
	"pestle/workload/internal/nsqscript"
)

// patience is how long a test waits for what must come. It never decides
// whether a test that passes takes long.
const patience = 20 * time.Second

// inbox collects what a client reports.
type inbox struct {
	t      *testing.T
	events chan workload.Event
}

func newInbox(t *testing.T) *inbox { return &inbox{t, make(chan workload.Event, 1000)} }

func (b *inbox) put(e workload.Event) { b.events <- e }

// expect waits for the next event, written as text describes them.
func (b *inbox) expect(want string) workload.Event {
	b.t.Helper()
	select {
	case e := <-b.events:
		if got := text(e); !strings.HasPrefix(got, want) {
			b.t.Fatalf("got %q, want %q", got, want)
		}
		return e
	case <-time.After(patience):
		b.t.Fatalf("waited in vain for %q", want)
	}
	return workload.Event{}
}

// expectAll waits for the next events, in any order.
func (b *inbox) expectAll(want ...string) {
	b.t.Helper()
	var got []string
	for range want {
		got = append(got, text(b.expect("")))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		b.t.Fatalf("got  %q\nwant %q", got, want)
	}
}

// nothingMore checks that nothing was reported beyond what was expected.
func (b *inbox) nothingMore() {
	b.t.Helper()
	select {
	case e := <-b.events:
		b.t.Fatalf("got %q beyond what was expected", text(e))
	default:
	}
}

func text(e workload.Event) string {
	switch e.Kind {
	case workload.EvAck:
		return fmt.Sprintf("ack %d try %d", e.ID.Counter, e.Try)
	case workload.EvFail:
		return fmt.Sprintf("fail %d try %d: %s", e.ID.Counter, e.Try, e.Text)
	case workload.EvUnknown:
		return fmt.Sprintf("unknown %d try %d: %s", e.ID.Counter, e.Try, e.Text)
	case workload.EvConnected:
		return "connected"
	case workload.EvDisconnected:
		return "disconnected: " + e.Text
	case workload.EvDelivery:
		return fmt.Sprintf("deliver %s attempts %d: %s", e.Delivery.Position, e.Delivery.Attempts, e.Delivery.Body)
	}
	return fmt.Sprintf("%+v", e)
}

func id(counter uint64) workload.ID { return workload.ID{Producer: 1, Counter: counter} }

// far and near are deadlines: one that no test reaches, and one that the test
// is about.
func far() int64  { return stream.Now() + int64(time.Hour) }
func near() int64 { return stream.Now() + int64(50*time.Millisecond) }

// named calls the addresses broker-1, broker-2 and so on.
func named(addresses ...string) []Broker {
	var list []Broker
	for i, address := range addresses {
		list = append(list, Broker{Name: fmt.Sprintf("broker-%d", i+1), Address: address})
	}
	return list
}

func producer(t *testing.T, addresses ...string) (*NSQProducer, *inbox) {
	box := newInbox(t)
	p := NewNSQProducer(NSQProducerConfig{Name: "producer-1", Brokers: named(addresses...), Topic: "orders"}, box.put)
	t.Cleanup(p.Close)
	return p, box
}

// closedAddress is one where nobody listens.
func closedAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestProducerPublishes(t *testing.T) {
	got := make(chan string, 10)
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		c.Handshake()
		for command, body := c.Command(); command != ""; command, body = c.Command() {
			got <- command + " " + string(body)
			c.Respond("OK")
		}
	})
	p, box := producer(t, server.Address)
	p.Send(id(1), 1, 0, []byte("hello"), far())
	box.expect("connected")
	box.expect("ack 1 try 1")
	p.Send(id(2), 3, 0, []byte("again"), far())
	box.expect("ack 2 try 3")
	p.Send(id(3), 1, 250*time.Millisecond, []byte("later"), far())
	box.expect("ack 3 try 1")
	if a, b, c := <-got, <-got, <-got; a != "PUB orders hello" || b != "PUB orders again" || c != "DPUB orders 250 later" {
		t.Errorf("the server read %q, %q, %q", a, b, c)
	}
}

// What an answer from the server means.
func TestProducerClassifiesAnswers(t *testing.T) {
	for frame, want := range map[string]string{
		"E_PUB_FAILED QUORUM_LOST no majority in time":  "unknown",
		"E_PUB_FAILED PUB failed exiting":               "unknown",
		"E_PUB_FAILED":                                  "unknown",
		"E_SOMETHING_NEW":                               "unknown",
		"E_PUB_FAILED READ_ONLY_DEGRADED no quorum":     "fail",
		"E_INVALID PUB insufficient number of params":   "fail",
		"E_BAD_TOPIC PUB topic name is not valid":       "fail",
		"E_BAD_MESSAGE PUB message too big 2 > 1":       "fail",
		"E_BAD_BODY PUB failed to read body size":       "fail",
		"E_UNAUTHORIZED AUTH failed for PUB on orders":  "fail",
		"E_AUTH_FIRST AUTH required before PUB":         "fail",
		"E_AUTH_FAILED AUTH failed for PUB on \"orders": "fail",
	} {
		server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
			c.Handshake()
			c.Command()
			c.Error(frame) // such errors are fatal: the server hangs up
		})
		p, box := producer(t, server.Address)
		p.Send(id(1), 1, 0, []byte("hello"), far())
		box.expect("connected")
		box.expectAll(want+" 1 try 1: "+frame, "disconnected: EOF")
	}
}

func TestClassifyGoNSQErrors(t *testing.T) {
	for _, err := range []error{nsq.ErrNotConnected, nsq.ErrStopped, errors.New("write: broken pipe")} {
		if got := classify(err); got != workload.EvUnknown {
			t.Errorf("%v: got %d, want unknown: it may have been written", err, got)
		}
	}
}

func TestProducerWithNobodyListening(t *testing.T) {
	p, box := producer(t, closedAddress(t))
	p.Send(id(1), 1, 0, []byte("hello"), far())
	box.expect("fail 1 try 1: not sent: connect to 127.0.0.1:")
	p.Send(id(1), 2, 0, []byte("hello"), far()) // at once, or after another attempt to connect
	box.expect("fail 1 try 2: not sent: connect to 127.0.0.1:")
}

// The connection breaks after the publishes were read and before any answer:
// nobody knows. The next send has a connection of its own.
func TestProducerLosesTheConnection(t *testing.T) {
	var connections atomic.Int64
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		c.Handshake()
		c.Command()
		c.Command()
		if connections.Add(1) == 1 {
			return
		}
		c.Respond("OK")
		c.Respond("OK")
		c.Command()
	})
	p, box := producer(t, server.Address)
	p.Send(id(1), 1, 0, []byte("a"), far())
	p.Send(id(2), 1, 0, []byte("b"), far())
	box.expect("connected")
	box.expectAll("unknown 1 try 1: not connected", "unknown 2 try 1: not connected", "disconnected: EOF")
	p.Send(id(3), 1, 0, []byte("c"), far())
	p.Send(id(4), 1, 0, []byte("d"), far())
	box.expect("connected")
	box.expect("ack 3 try 1")
	box.expect("ack 4 try 1")
}

// An answer that comes after the deadline is not reported, and is not taken
// for the next send's.
func TestProducerDeadline(t *testing.T) {
	proceed := make(chan struct{})
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		c.Handshake()
		c.Command()
		<-proceed
		c.Respond("OK")
		c.Command()
		c.Error("E_PUB_FAILED READ_ONLY_DEGRADED")
		c.Command()
	})
	p, box := producer(t, server.Address)
	p.Send(id(1), 1, 0, []byte("a"), near())
	box.expect("connected")
	box.expect("unknown 1 try 1: no answer in time")
	close(proceed)
	p.Send(id(1), 2, 0, []byte("a"), far())
	box.expect("fail 1 try 2: E_PUB_FAILED READ_ONLY_DEGRADED")
	box.nothingMore()
}

// A server that accepts and says nothing, like a paused one: nothing was sent.
func TestProducerWaitsForAConnection(t *testing.T) {
	proceed := make(chan struct{})
	published := make(chan string, 1)
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		c.Magic()
		c.Command()
		<-proceed
		c.Respond("OK")
		_, body := c.Command()
		published <- string(body)
		c.Respond("OK")
		c.Command()
	})
	p, box := producer(t, server.Address)
	p.Send(id(1), 1, 0, []byte("expired"), near())
	box.expect("fail 1 try 1: not sent: no connection in time")
	p.Send(id(2), 1, 0, []byte("in time"), far())
	close(proceed)
	box.expect("connected")
	box.expect("ack 2 try 1")
	if got := <-published; got != "in time" {
		t.Errorf("the server read %q: a send that was reported as not sent was sent", got)
	}
}

func TestProducerRefusedAtIdentify(t *testing.T) {
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		c.Magic()
		c.Command()
		c.Error("E_BAD_BODY IDENTIFY msg timeout")
	})
	p, box := producer(t, server.Address)
	p.Send(id(1), 1, 0, []byte("a"), far())
	box.expect("fail 1 try 1: not sent: connect to " + server.Address + ": failed to IDENTIFY - E_BAD_BODY")
}

// The server hangs up while nothing is open: the next send has a new
// connection.
func TestProducerReconnectsWhenIdle(t *testing.T) {
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		c.Handshake()
		c.Command()
		c.Respond("OK")
	})
	p, box := producer(t, server.Address)
	for counter := uint64(1); counter <= 5; counter++ {
		p.Send(id(counter), 1, 0, []byte("a"), far())
		box.expect("connected")
		box.expectAll(fmt.Sprintf("ack %d try 1", counter), "disconnected: EOF")
	}
}

func TestProducerClose(t *testing.T) {
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		c.Handshake()
		c.Command()
		c.Command()
	})
	p, box := producer(t, server.Address)
	p.Send(id(1), 1, 0, []byte("a"), far())
	box.expect("connected")
	p.Close()
	box.expect("unknown 1 try 1: not connected")
	p.Send(id(2), 1, 0, []byte("a"), far())
	box.expect("fail 2 try 1: not sent: the producer is closed")
	p.Close()
}

// answering is a server that gives each publish the same answer: OK, an error
// frame, or none.
func answering(t *testing.T, frame string) string {
	return nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		c.Handshake()
		for command, _ := c.Command(); command != ""; command, _ = c.Command() {
			switch frame {
			case "OK":
				c.Respond("OK")
			case "":
			default:
				c.Error(frame)
			}
		}
	}).Address
}

// silent is where connections are made and nothing is ever said, as with a
// paused process.
func silent(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// With several brokers, one that fails is left for the next.
func TestProducerGoesToTheNextBroker(t *testing.T) {
	const readOnly, quorumLost = "E_PUB_FAILED READ_ONLY_DEGRADED no majority", "E_PUB_FAILED QUORUM_LOST no majority in time"
	mute := silent(t)
	for name, test := range map[string]struct {
		first    string // address
		deadline func() int64
		want     []string // of the first send, in any order
	}{
		"nobody listens":         {closedAddress(t), far, []string{"fail 1 try 1"}},
		"it says nothing at all": {mute, far, []string{"fail 1 try 1: not sent: connect to " + mute + ": no answer in time"}},
		"it does not answer":     {answering(t, ""), near, []string{"connected", "disconnected: publish: no answer in time", "unknown 1 try 1: no answer in time"}},
		"it is read-only":        {answering(t, readOnly), far, []string{"connected", "disconnected: " + readOnly, "fail 1 try 1: " + readOnly}},
		"it lost its quorum":     {answering(t, quorumLost), far, []string{"connected", "disconnected: " + quorumLost, "unknown 1 try 1: " + quorumLost}},
	} {
		t.Run(name, func(t *testing.T) {
			p, box := producer(t, test.first, answering(t, "OK"))
			p.Send(id(1), 1, 0, []byte("a"), test.deadline())
			for range test.want {
				got := box.expect("")
				if !slices.ContainsFunc(test.want, func(want string) bool { return strings.HasPrefix(text(got), want) }) {
					t.Fatalf("got %q, want one of %q", text(got), test.want)
				}
				if got.Target != "" && got.Target != "broker-1" {
					t.Errorf("%q is told of %s", text(got), got.Target)
				}
			}
			var e workload.Event
			for try := 2; e.Kind != workload.EvConnected; try++ { // it waits a little before the next attempt
				p.Send(id(1), try, 0, []byte("a"), far())
				if e = box.expect(""); e.Kind == workload.EvFail {
					time.Sleep(time.Millisecond)
				}
			}
			if e.Target != "broker-2" {
				t.Errorf("connected to %s", e.Target)
			}
			box.expect("ack 1 try ")
			box.nothingMore()
		})
	}
}

// After the last broker comes the first one again; an error that says nothing
// of the broker moves nobody, nor do publishes that fail with only one broker.
func TestProducerStaysOrComesRound(t *testing.T) {
	for name, test := range map[string]struct {
		addresses []string
		want      string
	}{
		"round":       {[]string{answering(t, "E_PUB_FAILED READ_ONLY_DEGRADED"), answering(t, "E_PUB_FAILED READ_ONLY_DEGRADED")}, "broker-1 broker-2 broker-1"},
		"an error":    {[]string{answering(t, "E_BAD_TOPIC no"), answering(t, "OK")}, "broker-1"},
		"no other":    {[]string{answering(t, "E_PUB_FAILED READ_ONLY_DEGRADED")}, "broker-1"},
		"no other, 2": {[]string{answering(t, "")}, "broker-1"},
	} {
		p, box := producer(t, test.addresses...)
		var connected []string
		for try := 1; try <= 3; try++ {
			p.Send(id(1), try, 0, []byte("a"), near())
			for e := box.expect(""); e.Kind != workload.EvFail && e.Kind != workload.EvUnknown; e = box.expect("") {
				if e.Kind == workload.EvConnected {
					connected = append(connected, e.Target)
				}
			}
		}
		if got := strings.Join(connected, " "); got != test.want {
			t.Errorf("%s: connected to %s, want %s", name, got, test.want)
		}
	}
}
