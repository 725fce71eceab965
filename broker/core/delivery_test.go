package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pestle/broker/nsq"
)

const second = 1000 * millisecond

// finishAll finishes what came and returns the bodies.
func finishAll(c *client) []string {
	var bodies []string
	for _, n := range c.deliveries() {
		bodies = append(bodies, string(n.Body))
		c.Finish(n.ID)
	}
	c.r.settle()
	return bodies
}

func wantBodies(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The transcripts of delivery: what clients do, and what comes of it.
func TestDelivery(t *testing.T) {
	for name, transcript := range map[string]func(t *testing.T, r *rig){
		"the first channel of a topic gets what was stored before it": func(t *testing.T, r *rig) {
			r.dial().publish("t", "a", "b")
			r.consumer("t", "ch", 10).want("a/1", "b/1")
		},
		"later channels get what comes after them": func(t *testing.T, r *rig) {
			p := r.dial()
			one := r.consumer("t", "one", 10)
			p.publish("t", "a")
			two := r.consumer("t", "two", 10)
			p.publish("t", "b")
			one.want("a/1", "b/1")
			two.want("b/1")
		},
		"every channel gets each message": func(t *testing.T, r *rig) {
			one, two := r.consumer("t", "one", 1), r.consumer("t", "two", 1)
			r.dial().publish("t", "a")
			one.want("a/1")
			two.want("a/1")
		},
		"a message has one id and one timestamp in all channels and deliveries": func(t *testing.T, r *rig) {
			one, two := r.consumer("t", "one", 1), r.consumer("t", "two", 1)
			r.dial().publish("t", "a")
			a, b := one.deliveries()[0], two.deliveries()[0]
			one.Requeue(a.ID, 0)
			again := one.deliveries()[0]
			if a.ID != b.ID || a.ID != again.ID || a.Timestamp != b.Timestamp || a.Timestamp != again.Timestamp {
				t.Errorf("got %v, %v and %v", a, b, again)
			}
			if a.ID.String() != "0000100000000000" || a.Timestamp != r.now.Wall {
				t.Errorf("id %s at %d, want partition 1, offset 0 at %d", a.ID, a.Timestamp, r.now.Wall)
			}
		},
		"RDY is a window": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 2)
			r.dial().publish("t", "a", "b", "c", "d")
			first := c.deliveries()
			if len(first) != 2 {
				t.Fatalf("%d messages in flight, want 2", len(first))
			}
			c.Finish(first[0].ID)
			c.want("c/1")
			c.Ready(0)
			c.Finish(first[1].ID)
			c.want()
			c.Ready(5)
			c.want("d/1")
		},
		"RDY below what is in flight stops delivery and takes nothing back": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 3)
			r.dial().publish("t", "a", "b", "c", "d")
			list := c.deliveries()
			c.Ready(1)
			c.Finish(list[0].ID)
			c.want()
			c.Finish(list[1].ID)
			c.want()
			c.Finish(list[2].ID)
			c.want("d/1")
		},
		"consumers with credit are served in turn": func(t *testing.T, r *rig) {
			a, b, idle := r.consumer("t", "ch", 10), r.consumer("t", "ch", 10), r.consumer("t", "ch", 0)
			r.dial().publish("t", "1", "2", "3", "4")
			a.want("1/1", "3/1")
			b.want("2/1", "4/1")
			idle.want()
		},
		"REQ 0 puts a message behind what waits": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a", "b")
			r.pass(millisecond)
			c.Requeue(c.deliveries()[0].ID, 0)
			wantBodies(t, finishAll(c), "b")
			c.want("a/2")
		},
		"REQ n brings it back n ms later": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			c.Requeue(c.deliveries()[0].ID, 1500)
			r.pass(1500*millisecond - 1)
			c.want()
			r.pass(1)
			c.want("a/2")
		},
		"a deferred message comes when it is due and not before": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			c.DeferredPublish("t", 700, []byte("late"))
			c.want("OK")
			r.dial().publish("t", "now")
			wantBodies(t, finishAll(c), "now")
			r.pass(700*millisecond - 1)
			c.want()
			r.pass(1)
			c.want("late/1")
		},
		"DPUB 0 is a publish": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			c.DeferredPublish("t", 0, []byte("a"))
			c.want("OK", "a/1")
		},
		"deferred messages are ordered by when they are due": func(t *testing.T, r *rig) {
			p := r.dial()
			p.DeferredPublish("t", 300, []byte("c"))
			p.DeferredPublish("t", 100, []byte("a"))
			p.DeferredPublish("t", 200, []byte("b"))
			r.settle()
			r.pass(second)
			r.consumer("t", "ch", 10).want("a/1", "b/1", "c/1")
		},
		"a lease that runs out returns the message": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			c.want("a/1")
			r.pass(60*second - 1)
			c.want()
			r.pass(1)
			c.want("a/2")
			if s := r.stats("t", "ch"); s.TimeoutCount != 1 {
				t.Errorf("%d timeouts are counted, want 1", s.TimeoutCount)
			}
		},
		"a client has the lease it asked for": func(t *testing.T, r *rig) {
			c := r.dialAs(nsq.ClientConfig{MsgTimeoutMS: 2000})
			c.Subscribe("t", "ch")
			c.Ready(1)
			r.dial().publish("t", "a")
			c.want("a/1")
			r.pass(2 * second)
			c.want("a/2")
		},
		"TOUCH gives time again": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			id := c.deliveries()[0].ID
			r.pass(50 * second)
			c.Touch(id)
			r.pass(59 * second)
			c.want()
			r.pass(second)
			c.want("a/2")
		},
		"TOUCH gives no more than the longest lease": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			id := c.deliveries()[0].ID
			for range 30 {
				c.Touch(id)
				r.pass(30*second - 1)
			}
			c.want()
			c.Touch(id)
			r.pass(30)
			c.want("a/2")
		},
		"FIN after the lease is accepted while nobody else has the message": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			id := c.deliveries()[0].ID
			c.Ready(0)
			r.pass(61 * second)
			c.Finish(id)
			c.want()
			c.Ready(1)
			c.want()
			if s := r.stats("t", "ch"); s.Depth != 0 || s.InFlight != 0 {
				t.Errorf("the message still counts: %+v", s)
			}
		},
		"FIN after the lease fails when somebody else has it": func(t *testing.T, r *rig) {
			slow := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			id := slow.deliveries()[0].ID
			slow.Ready(0)
			other := r.consumer("t", "ch", 1)
			r.pass(60 * second)
			other.want("a/2")
			slow.Finish(id)
			slow.want("E_FIN_FAILED FIN " + id.String() + " failed ID not in flight")
		},
		"FIN, REQ and TOUCH need the message in flight to the same client": func(t *testing.T, r *rig) {
			c, other := r.consumer("t", "ch", 1), r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			id := c.deliveries()[0].ID
			other.Finish(id)
			other.Requeue(id, 0)
			other.Touch(id)
			other.Finish(nsq.ID(99))
			other.Finish(nsq.MessageID([]byte("no-such-id-at-al")))
			other.want(
				"E_FIN_FAILED FIN "+id.String()+" failed ID not in flight",
				"E_REQ_FAILED REQ "+id.String()+" failed ID not in flight",
				"E_TOUCH_FAILED TOUCH "+id.String()+" failed ID not in flight",
				"E_FIN_FAILED FIN 0000000000000063 failed ID not in flight",
				"E_FIN_FAILED FIN no-such-id-at-al failed ID not in flight",
			)
			c.Finish(id)
			c.Finish(id)
			c.want("E_FIN_FAILED FIN " + id.String() + " failed ID not in flight")
		},
		"a message given back is not the client's to finish": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			id := c.deliveries()[0].ID
			c.Requeue(id, 5000)
			c.Finish(id)
			c.want("E_FIN_FAILED FIN " + id.String() + " failed ID not in flight")
		},
		"a disconnect returns messages at once, in order and in front": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 2)
			r.dial().publish("t", "a", "b", "c")
			c.want("a/1", "b/1")
			c.hangUp()
			r.consumer("t", "ch", 10).want("a/2", "b/2", "c/1")
		},
		"a disconnect keeps deferrals": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			c.Requeue(c.deliveries()[0].ID, 2000)
			r.settle()
			c.hangUp()
			c = r.consumer("t", "ch", 1)
			c.want()
			r.pass(2 * second)
			c.want("a/2")
		},
		"CLS ends delivery, not FIN, REQ and TOUCH": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 3)
			r.dial().publish("t", "a", "b", "c")
			list := c.deliveries()
			c.StartClose()
			c.want("CLOSE_WAIT")
			r.dial().publish("t", "d")
			c.Touch(list[0].ID)
			c.Finish(list[0].ID)
			c.Requeue(list[1].ID, 0)
			c.want()
			if s := r.stats("t", "ch"); s.InFlight != 1 || s.Depth != 2 {
				t.Errorf("got %+v, want 1 in flight and 2 waiting", s)
			}
		},
		"MPUB keeps its order and may be deferred over HTTP": func(t *testing.T, r *rig) {
			p := r.dial()
			p.MultiPublish("t", [][]byte{[]byte("a"), []byte("b")})
			p.want("OK")
			r.request(Request{Kind: ReqPublish, Topic: "t", Bodies: [][]byte{[]byte("c"), []byte("d")}, DeferMS: 100})
			c := r.consumer("t", "ch", 10)
			c.want("a/1", "b/1")
			r.pass(100 * millisecond)
			c.want("c/1", "d/1")
		},
		"publishing works on a connection that has subscribed": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			c.Publish("t", []byte("a"))
			c.want("OK", "a/1")
		},
		"commands behind a SUB are acted on when it is answered": func(t *testing.T, r *rig) {
			c := r.dial()
			c.Subscribe("t", "ch")
			c.Ready(1)
			c.Publish("t", []byte("a"))
			c.Publish("t", []byte("b"))
			c.want("OK")
			c.want("OK")
			c.want("a/1")
		},
		"pipelined publishes to a new topic keep their order": func(t *testing.T, r *rig) {
			p := r.dial()
			for i := range 20 {
				p.Publish("t", []byte(fmt.Sprint(i)))
			}
			r.settle()
			c := r.consumer("t", "ch", 100)
			for i, n := range c.deliveries() {
				if string(n.Body) != fmt.Sprint(i) {
					t.Fatalf("message %d is %s", i, n.Body)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) { transcript(t, newRig(t, Config{})) })
	}
}

func TestAttemptsStopAtTheLargestNumber(t *testing.T) {
	r := newRig(t, Config{})
	c := r.consumer("t", "ch", 1)
	r.dial().publish("t", "a")
	id := c.deliveries()[0].ID
	r.core.channels[1].items[0].attempts = maxAttempts - 2 // rather than deliver it so often
	for _, want := range []uint16{maxAttempts - 1, maxAttempts, maxAttempts} {
		c.Requeue(id, 0)
		if n := c.deliveries()[0]; n.Attempts != want {
			t.Errorf("attempts are %d, want %d", n.Attempts, want)
		}
		ledgerIsDurable(r)
	}
}

// A client that takes nothing holds what fits its window; the others get the
// rest, and it is closed after one heartbeat interval.
func TestStuckClient(t *testing.T) {
	r := newRig(t, Config{})
	stuck := r.consumer("t", "ch", 2500)
	stuck.stuck = true
	p := r.dial()
	body := strings.Repeat("x", 10_000)
	for range 100 {
		p.Publish("t", []byte(body))
	}
	r.settle()
	if s := r.stats("t", "ch"); s.InFlight*10_000 > outputWindow+10_000 {
		t.Errorf("%d messages of 10 kB are on their way to a client that takes none", s.InFlight)
	}
	other := r.consumer("t", "ch", 2500)
	held := r.stats("t", "ch").Clients[0].InFlight
	if n := len(other.deliveries()); int64(n) != 100-held {
		t.Errorf("the other client got %d, want what the stuck one does not hold, %d", n, 100-held)
	}
	r.pass(31 * second)
	if !stuck.gone || !r.logged("took no output") {
		t.Errorf("the stuck client is not closed: %q", r.logs)
	}
	if n := len(other.deliveries()); int64(n) != held {
		t.Errorf("the other client got %d more, want %d", n, held)
	}
}

// A client that only talks is not listened to for ever.
func TestClientThatReadsNothing(t *testing.T) {
	r := newRig(t, Config{FileSize: 64 << 20})
	p := r.dial()
	p.publish("t", "a")
	p.stuck = true
	for range 10 {
		for range 20_000 {
			p.Publish("t", []byte("x"))
		}
		r.settle()
	}
	unread := r.core.conns[p.id].unsent
	if unread > 2*maxUnread || p.gone {
		t.Errorf("%d bytes wait for a client that reads nothing; closed %v", unread, p.gone)
	}
	p.Publish("t", make([]byte, 1<<20))
	for range 6 {
		p.Publish("t", make([]byte, 1<<20))
	}
	r.settle()
	if !p.gone || !r.logged("it sends on and on") {
		t.Errorf("it is not closed: %q", r.logs)
	}
}

func TestHeartbeats(t *testing.T) {
	r := newRig(t, Config{})
	alive, dead := r.consumer("t", "ch", 1), r.consumer("t", "ch", 1)
	none := r.dialAs(nsq.ClientConfig{HeartbeatMS: -1})
	r.settle()
	dead.silent = true
	r.pass(60*second - 1)
	if dead.gone {
		t.Error("a client is closed before two intervals passed")
	}
	r.pass(1)
	if !dead.gone || alive.gone {
		t.Errorf("after two intervals: closed %v (want true), and one that answers %v (want false)", dead.gone, alive.gone)
	}
	r.pass(1000 * second)
	if alive.gone || none.gone {
		t.Errorf("closed: %v, %v, want neither the one that answers nor the one without heartbeats", alive.gone, none.gone)
	}
}

// Nothing wakes a node that has nothing to do but heartbeats.
func TestIdleNodeIsSilent(t *testing.T) {
	r := newRig(t, Config{})
	c := r.consumer("t", "ch", 10)
	r.dial().publish("t", "a", "b")
	finishAll(c)
	r.pass(second)
	before := r.effects
	r.pass(20 * second)
	if n := r.effects - before; n != 0 {
		t.Errorf("%d effects of a node that is idle", n)
	}
}

func TestEphemeralChannel(t *testing.T) {
	r := newRig(t, Config{})
	p := r.dial()
	c := r.consumer("t", "ch#ephemeral", 1)
	p.publish("t", "a")
	c.want("a/1")
	c.hangUp()
	r.settle()
	if s := r.request(Request{Kind: ReqStats}).Stats; len(s.Topics) != 1 || len(s.Topics[0].Channels) != 0 {
		t.Errorf("the channel stays behind: %+v", s)
	}
	p.publish("t", "b")
	again := r.consumer("t", "ch#ephemeral", 1)
	again.want("b/1")
	other := r.dial()
	other.Subscribe("t", "ch#ephemeral")
	other.Ready(1)
	r.settle()
	again.hangUp() // not the last one
	other.want("b/2")
	r.restart()
	if s := r.request(Request{Kind: ReqStats}).Stats; len(s.Topics[0].Channels) != 0 {
		t.Errorf("the channel survives a restart without clients: %+v", s)
	}
}

// A client that comes while the channel is going gets a new one.
func TestEphemeralChannelComesBack(t *testing.T) {
	r := newRig(t, Config{})
	first := r.consumer("t", "ch#ephemeral", 1)
	first.hangUp()
	c := r.consumer("t", "ch#ephemeral", 1)
	r.dial().publish("t", "a")
	c.want("a/1")
}

func TestRequests(t *testing.T) {
	ok := [][]byte{[]byte("a")}
	for _, test := range []struct {
		q    Request
		code string
	}{
		{Request{Kind: ReqPublish, Topic: "t", Bodies: ok}, ""},
		{Request{Kind: ReqPublish, Topic: "t", Bodies: ok, DeferMS: 3_600_000}, ""},
		{Request{Kind: ReqPublish, Topic: "t", Bodies: ok, DeferMS: 3_600_001}, "INVALID_DEFER"},
		{Request{Kind: ReqPublish, Topic: "t", Bodies: ok, DeferMS: -1}, "INVALID_DEFER"},
		{Request{Kind: ReqPublish, Topic: "t !", Bodies: ok}, "INVALID_TOPIC"},
		{Request{Kind: ReqPublish, Topic: "t"}, "MSG_EMPTY"},
		{Request{Kind: ReqPublish, Topic: "t", Bodies: [][]byte{{}}}, "MSG_EMPTY"},
		{Request{Kind: ReqPublish, Topic: "t", Bodies: [][]byte{make([]byte, 1<<20+1)}}, "MSG_TOO_BIG"},
		{Request{Kind: ReqCreateTopic, Topic: "new"}, ""},
		{Request{Kind: ReqCreateTopic, Topic: "new"}, ""},
		{Request{Kind: ReqCreateTopic, Topic: ""}, "INVALID_TOPIC"},
		{Request{Kind: ReqCreateChannel, Topic: "new", Channel: "ch"}, ""},
		{Request{Kind: ReqCreateChannel, Topic: "new", Channel: "ch"}, ""},
		{Request{Kind: ReqCreateChannel, Topic: "none", Channel: "ch"}, "TOPIC_NOT_FOUND"},
		{Request{Kind: ReqCreateChannel, Topic: "new", Channel: "c h"}, "INVALID_ARG_CHANNEL"},
	} {
		r := newRig(t, Config{})
		r.request(Request{Kind: ReqCreateTopic, Topic: "new"})
		reply := r.request(test.q)
		if reply == nil || reply.Code != test.code {
			t.Errorf("%+v: got %+v, want code %q", test.q, reply, test.code)
		}
	}
}

func TestStatsAreOneSnapshot(t *testing.T) {
	r := newRig(t, Config{})
	p := r.dial()
	p.publish("t", "a", "b", "c", "d", "e")
	if s := r.request(Request{Kind: ReqStats}).Stats; s.Topics[0].Depth != 5 || len(s.Producers) != 1 || s.Producers[0].MessageCount != 5 {
		t.Errorf("a topic without channels and one producer: %+v", s)
	}
	c := r.consumer("t", "ch", 3)
	list := c.deliveries()
	c.Finish(list[0].ID)
	c.Requeue(list[1].ID, 9000)
	c.Ready(2)
	r.pass(second)
	s := r.stats("t", "ch")
	s.Clients = nil
	// a is finished, b deferred, c and d in flight, e waits.
	want := ChannelStats{Name: "ch", Depth: 1, InFlight: 2, Deferred: 1, MessageCount: 5, RequeueCount: 1, FinishedBelow: 1}
	if fmt.Sprint(s) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	topic := r.request(Request{Kind: ReqStats, Topic: "t"}).Stats.Topics[0]
	if topic.Depth != 0 || topic.MessageCount != 5 || topic.MessageBytes != 5 {
		t.Errorf("topic: %+v", topic)
	}
	if got := r.request(Request{Kind: ReqStats, Topic: "none"}).Stats.Topics; len(got) != 0 {
		t.Errorf("a topic that is not there: %+v", got)
	}
}
