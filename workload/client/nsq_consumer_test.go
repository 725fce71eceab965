package client

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"pestle/workload"
	"pestle/workload/internal/nsqscript"
)

func consumer(t *testing.T, addresses ...string) (*NSQConsumer, *inbox) {
	t.Helper()
	box := newInbox(t)
	c, err := NewNSQConsumer(NSQConsumerConfig{Name: "consumer-shared-1", Brokers: named(addresses...), Topic: "orders",
		Channel: "shared", InFlight: 3, MsgTimeout: time.Minute}, box.put)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c, box
}

// record notes what a script read, as long as the test is interested.
func record(read chan<- string, command string) {
	select {
	case read <- command:
	default:
	}
}

// subscribe is the beginning of every script here.
func subscribe(c *nsqscript.Conn, read chan<- string) {
	c.Handshake()
	sub, _ := c.Command()
	c.Respond("OK")
	record(read, sub)
	rdy, _ := c.Command()
	record(read, rdy)
}

// listen reads commands until the client hangs up.
func listen(c *nsqscript.Conn, read chan<- string) {
	for command, _ := c.Command(); command != ""; command, _ = c.Command() {
		record(read, command)
		if command == "CLS" {
			c.Respond("CLOSE_WAIT")
		}
	}
}

func commands(t *testing.T, from <-chan string, want ...string) {
	t.Helper()
	for _, want := range want {
		select {
		case got := <-from:
			if got != want {
				t.Fatalf("the server read %q, want %q", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("the server waited in vain for %q", want)
		}
	}
}

func TestConsumerAnswersDeliveries(t *testing.T) {
	read := make(chan string, 10)
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		subscribe(c, read)
		c.Message("0000100000000001", 1, []byte("a"))
		c.Message("0000100000000002", 7, []byte("b"))
		listen(c, read)
	})
	c, box := consumer(t, server.Address)
	box.expect("connected")
	commands(t, read, "SUB orders shared", "RDY 3")
	a := box.expect("deliver 0000100000000001 attempts 1: a")
	b := box.expect("deliver 0000100000000002 attempts 7: b") // more attempts than go-nsq's own limit
	c.Requeue(b.Delivery.Token, 50*time.Millisecond)
	c.Finish(a.Delivery.Token)
	commands(t, read, "REQ 0000100000000002 50", "FIN 0000100000000001")
	c.Finish(a.Delivery.Token) // once is enough
	box.nothingMore()
}

// Messages that were received before the connection broke are delivered, and
// the connection that follows is told only after all of them were answered.
func TestConsumerLosesTheConnection(t *testing.T) {
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		subscribe(c, nil)
		c.Message("0000100000000001", 1, []byte("a"))
		c.Message("0000100000000002", 1, []byte("b"))
		c.Message("0000100000000003", 1, []byte("c"))
	})
	c, box := consumer(t, server.Address)
	for range 3 {
		box.expect("connected")
		var tokens []uint64
		lost := false
		for len(tokens) < 3 || !lost {
			switch e := box.expect(""); e.Kind {
			case workload.EvDelivery:
				tokens = append(tokens, e.Delivery.Token)
			case workload.EvDisconnected:
				lost = true
			default:
				t.Fatalf("got %q before the deliveries were answered", text(e))
			}
		}
		for _, token := range tokens {
			c.Finish(token)
		}
	}
}

// A delivery that gets no answer holds up neither the others nor, once the
// connection is lost, the next one.
func TestConsumerForgets(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("after the loss: %v", late), func(t *testing.T) {
			read := make(chan string, 10)
			hangUp, ended := make(chan struct{}), make(chan struct{})
			server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
				subscribe(c, read)
				c.Message("0000100000000001", 1, []byte("a"))
				c.Message("0000100000000002", 1, []byte("b"))
				fin, _ := c.Command()
				record(read, fin)
				select {
				case <-hangUp:
				case <-ended:
				}
			})
			c, box := consumer(t, server.Address)
			t.Cleanup(func() { close(ended) })
			for round := range 3 {
				box.expect("connected")
				commands(t, read, "SUB orders shared", "RDY 3")
				a := box.expect("deliver 0000100000000001 attempts 1: a")
				b := box.expect("deliver 0000100000000002 attempts 1: b")
				if !late {
					c.Forget(a.Delivery.Token)
				}
				c.Finish(b.Delivery.Token)
				commands(t, read, "FIN 0000100000000002")
				if round < 2 {
					hangUp <- struct{}{}
					box.expect("disconnected: ")
				}
				if late {
					c.Forget(a.Delivery.Token)
				}
			}
		})
	}
}

// An orderly stop gives back what was forgotten: the server would not be left
// otherwise.
func TestConsumerStopsWithSomethingForgotten(t *testing.T) {
	read := make(chan string, 10)
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		subscribe(c, read)
		c.Message("0000100000000001", 1, []byte("a"))
		listen(c, read)
	})
	c, box := consumer(t, server.Address)
	box.expect("connected")
	commands(t, read, "SUB orders shared", "RDY 3")
	c.Forget(box.expect("deliver 0000100000000001").Delivery.Token)
	c.Stop()
	got := []string{<-read, <-read}
	slices.Sort(got)
	if want := []string{"CLS", "REQ 0000100000000001 0"}; !slices.Equal(got, want) {
		t.Errorf("the server read %q, want %q", got, want)
	}
}

func TestConsumerWaitsForTheServer(t *testing.T) {
	address := closedAddress(t)
	_, box := consumer(t, address)
	script := func(c *nsqscript.Conn) {
		subscribe(c, nil)
		listen(c, nil)
	}
	server := nsqscript.Listen(t, address, script)
	box.expect("connected")
	server.Close()
	box.expect("disconnected: ")
	nsqscript.Listen(t, address, script)
	box.expect("connected")
}

// A server that is shutting down accepts and hangs up, or refuses: no
// connection was there, so none is told as lost.
func TestConsumerIsNotConnectedBeforeItSubscribed(t *testing.T) {
	tries := make(chan int, 1000)
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		select {
		case tries <- 1:
		default:
		}
		c.Magic()
		c.Command()
		c.Error("E_BAD_BODY IDENTIFY no")
	})
	_, box := consumer(t, server.Address)
	for range 3 {
		<-tries
	}
	box.nothingMore()
}

// Each broker has a connection of its own with the whole RDY; deliveries,
// answers and losses stay with theirs.
func TestConsumerWithTwoBrokers(t *testing.T) {
	hangUp := make(chan struct{})
	var read [2]chan string
	script := func(i int, after func(c *nsqscript.Conn)) string {
		read[i] = make(chan string, 10)
		return nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
			subscribe(c, read[i])
			c.Message("0000100000000001", 1, []byte{'a' + byte(i)})
			after(c)
		}).Address
	}
	staying := script(0, func(c *nsqscript.Conn) { listen(c, read[0]) })
	leaving := script(1, func(c *nsqscript.Conn) {
		fin, _ := c.Command()
		record(read[1], fin)
		<-hangUp
	})
	c, box := consumer(t, staying, leaving)
	var tokens [2]uint64
	seen := map[string]int{}
	for range 4 {
		e := box.expect("")
		if e.Kind == workload.EvDelivery {
			if want := map[string]string{"broker-1": "a", "broker-2": "b"}[e.Delivery.Target]; string(e.Delivery.Body) != want {
				t.Fatalf("%q came from %q", e.Delivery.Body, e.Delivery.Target)
			}
			tokens[e.Delivery.Body[0]-'a'] = e.Delivery.Token
			continue
		}
		seen[text(e)+" "+e.Target]++
	}
	if seen["connected broker-1"] != 1 || seen["connected broker-2"] != 1 {
		t.Fatalf("got %v", seen)
	}
	for i := range read {
		commands(t, read[i], "SUB orders shared", "RDY 3")
	}
	c.Finish(tokens[1])
	commands(t, read[1], "FIN 0000100000000001")
	c.Requeue(tokens[0], 0)
	commands(t, read[0], "REQ 0000100000000001 0")
	close(hangUp)
	for _, want := range []string{"disconnected: ", "connected", "deliver 0000100000000001"} {
		if e := box.expect(want); e.Target != "broker-2" && e.Delivery.Target != "broker-2" {
			t.Fatalf("%q is told of %s, which stays", text(e), e.Target)
		}
	}
}

// One broker that is down keeps the end at the others from being orderly no
// more.
func TestConsumerStopsWhereItCan(t *testing.T) {
	read := make(chan string, 10)
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		subscribe(c, read)
		listen(c, read)
	})
	c, box := consumer(t, closedAddress(t), server.Address)
	if e := box.expect("connected"); e.Target != "broker-2" {
		t.Fatalf("connected to %s", e.Target)
	}
	commands(t, read, "SUB orders shared", "RDY 3")
	c.Stop()
	commands(t, read, "CLS")
}

// What go-nsq's log lines mean. That it does write them the other tests show.
func TestWatch(t *testing.T) {
	for name, c := range map[string]struct{ lines, want []string }{
		"connect and lose": {
			[]string{"(a:1) connecting to nsqd", "(a:1) sending RDY 3", "(a:1) IO error - EOF"},
			[]string{"connected", "disconnected: EOF"}},
		"a loss is told once": {
			[]string{"(a:1) connecting to nsqd", "(a:1) sending RDY 3", "(a:1) IO error - write: broken pipe", "(a:1) IO error - EOF"},
			[]string{"connected", "disconnected: write: broken pipe"}},
		"a connect that fails": {
			[]string{"(a:1) connecting to nsqd", "(a:1) IO error - EOF", "(a:1) error connecting to nsqd - EOF"}, nil},
		"a late RDY does not revive a lost one": {
			[]string{"(a:1) connecting to nsqd", "(a:1) sending RDY 3", "(a:1) IO error - EOF", "(a:1) sending RDY 1"},
			[]string{"connected", "disconnected: EOF"}},
		"nor is it a second connect": {
			[]string{"(a:1) connecting to nsqd", "(a:1) sending RDY 3", "(a:1) sending RDY 1"}, []string{"connected"}},
		"lines about something else": {
			[]string{"stopping...", "there are 0 connections left alive", "(a:1) beginning close"}, nil},
	} {
		box := newInbox(t)
		s := &subscription{broker: Broker{Name: "broker-1", Address: "a:1"}, report: box.put}
		for _, line := range c.lines {
			s.watch("INF    1 [orders/shared] " + line)
		}
		for _, want := range c.want {
			if e := box.expect(want); e.Target != "broker-1" {
				t.Errorf("%s: %q is told of %q", name, text(e), e.Target)
			}
		}
		box.nothingMore()
	}
}

func TestConsumerStop(t *testing.T) {
	read := make(chan string, 10)
	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		subscribe(c, read)
		c.Message("0000100000000001", 1, []byte("a"))
		listen(c, read)
	})
	c, box := consumer(t, server.Address)
	box.expect("connected")
	commands(t, read, "SUB orders shared", "RDY 3")
	e := box.expect("deliver 0000100000000001")
	stopped := make(chan struct{})
	go func() {
		c.Stop()
		close(stopped)
	}()
	commands(t, read, "CLS")
	c.Finish(e.Delivery.Token) // what was delivered can still be answered
	commands(t, read, "FIN 0000100000000001")
	<-stopped
}

// Whether nobody listens or the server never answers, as a paused one, there
// is nothing to wait for.
func TestConsumerStopsWithoutAConnection(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, address := range []string{closedAddress(t), silent.Addr().String()} {
		c, box := consumer(t, address)
		c.Stop()
		box.nothingMore()
	}
}

func TestNewNSQConsumerRefuses(t *testing.T) {
	_, err := NewNSQConsumer(NSQConsumerConfig{Name: "c", Brokers: named("127.0.0.1:1"), Topic: "or ders", Channel: "shared", InFlight: 1}, nil)
	if err == nil || !strings.Contains(err.Error(), "set up consumer c: invalid topic name") {
		t.Errorf("got %v", err)
	}
}
