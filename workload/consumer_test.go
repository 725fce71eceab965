package workload

import (
	"bytes"
	"strings"
	"testing"

	"pestle/history"
)

func consumerConfig() ConsumerConfig {
	return ConsumerConfig{Name: "consumer-shared-1", Topic: "orders", Channel: "shared", RequeueDelay: 50 * ms, Seed: 1}
}

func TestConsumer(t *testing.T) {
	good, _ := Message{ID: ID{1, 7}, Topic: "orders", Payload: []byte("hello")}.Encode()
	flipped := bytes.Clone(good)
	flipped[len(flipped)-1] ^= 1
	deliveries := map[string]Delivery{
		"first":    {Token: 1, Position: "0000100000000007", Attempts: 1, Body: good},
		"second":   {Token: 2, Position: "0000100000000007", Attempts: 2, Body: good},
		"flipped":  {Token: 3, Position: "0000100000000008", Attempts: 1, Body: flipped},
		"foreign":  {Token: 4, Position: "0000100000000009", Attempts: 1, Body: []byte("{}")},
		"position": {Token: 5, Position: "a, b", Attempts: 1, Body: good},
		"counted":  {Token: 6, Position: "0000100000000007", Attempts: 2, Body: good, Held: 2},
		"placed":   {Token: 8, Target: "broker-2", Position: "0000100000000007", Attempts: 1, Body: good},
		"too-many": {Token: 7, Position: "0000100000000007", Attempts: 2, Body: good, Held: 3, Overrun: true},
	}
	for name, c := range map[string]struct {
		requeue int64
		forget  int64
		alone   bool // RDY is 1
		script  string
	}{
		"state, then history, then the answer": {script: `
1000 start
  history started try 1
1001 connected 127.0.0.1:4150
  history connected 127.0.0.1:4150
1002 deliver first
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 1
  history finish producer-1-7 at 0000100000000007
  finish 1
1003 disconnected 127.0.0.1:4150
  history disconnected 127.0.0.1:4150
1004 deliver second
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 2
  history finish producer-1-7 at 0000100000000007
  finish 2
1203 timer
1204 timer
  history tick
1205 stop
  history stopped
  done
1206 deliver first
`},
		"only first deliveries are given back": {requeue: 1000, script: `
1000 start
  history started try 1
1002 deliver first
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 1
  history requeue producer-1-7 at 0000100000000007 deferred 50
  requeue 1 after 50
1060 deliver second
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 2
  history finish producer-1-7 at 0000100000000007
  finish 2
`},
		"where a delivery came from": {script: `
1000 start
  history started try 1
1001 deliver placed
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 1 broker-2
  history finish producer-1-7 at 0000100000000007 broker-2
  finish 8
`},
		"a first delivery is forgotten, and none while it may be leased": {forget: 1000, script: `
1000 start
  history started try 1
1002 deliver first
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 1
  history forgot producer-1-7 at 0000100000000007
  forget 1
3001 deliver first
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 1
  history finish producer-1-7 at 0000100000000007
  finish 1
3002 deliver second
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 2
  history finish producer-1-7 at 0000100000000007
  finish 2
3002 deliver first
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 1
  history forgot producer-1-7 at 0000100000000007
  forget 1
`},
		"what is given back is not forgotten": {requeue: 1000, forget: 1000, script: `
1002 deliver first
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 1
  history requeue producer-1-7 at 0000100000000007 deferred 50
  requeue 1 after 50
`},
		"with one message in flight none is forgotten": {forget: 1000, alone: true, script: `
1002 deliver first
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 1
  history finish producer-1-7 at 0000100000000007
  finish 1
`},
		"what the client counts is written down, an overrun first": {script: `
1002 deliver counted
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 2 held 2
  history finish producer-1-7 at 0000100000000007
  finish 6
1003 deliver too-many
  history overrun producer-1-7 at 0000100000000007 3 deliveries without an answer
  state producer-1-7, 0000100000000007
  history consume producer-1-7 at 0000100000000007 attempts 2 held 3
  history finish producer-1-7 at 0000100000000007
  finish 7
`},
		"a bad body is noted and confirmed": {script: `
1000 start
  history started try 1
1001 deliver flipped
  history malformed producer-1-7 at 0000100000000008 attempts 1 ` + checksums(t, flipped) + `
  history finish producer-1-7 at 0000100000000008
  finish 3
1002 deliver foreign
  history malformed at 0000100000000009 attempts 1 2 bytes that are no envelope
  history finish at 0000100000000009
  finish 4
1003 deliver position
  history malformed producer-1-7 at a, b attempts 1 the target's position "a, b" cannot be written down
  history finish producer-1-7 at a, b
  finish 5
`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := consumerConfig()
			cfg.RequeuePermille, cfg.ForgetPermille = c.requeue, c.forget
			cfg.InFlight, cfg.MsgTimeout = 5, 1000*ms
			if c.alone {
				cfg.InFlight = 1
			}
			m, err := NewConsumer(cfg, Resume{Incarnation: 1})
			if err != nil {
				t.Fatal(err)
			}
			compare(t, transcript(t, m, c.script, deliveries), c.script)
		})
	}
}

func checksums(t *testing.T, body []byte) string {
	t.Helper()
	_, _, err := Decode("orders", "", body)
	if err == nil {
		t.Fatal("the flipped body decodes")
	}
	return err.Error()
}

// The consume line carries the checksum of what was received, so that the
// checker can hold it against the attempt's.
func TestConsumeLineDescribesWhatWasReceived(t *testing.T) {
	body, sum := Message{ID: ID{1, 7}, Topic: "orders", Payload: []byte("hello")}.Encode()
	c, err := NewConsumer(consumerConfig(), Resume{Incarnation: 1})
	if err != nil {
		t.Fatal(err)
	}
	var fx Effects
	c.Step(1000, Event{Kind: EvDelivery, Delivery: Delivery{Token: 1, Position: "01", Attempts: 3, Body: body}}, &fx)
	got := fx.List[1].History
	want := history.Event{T: 1000, Ev: history.Consume, ID: "producer-1-7", Topic: "orders", Channel: "shared",
		Consumer: "consumer-shared-1", Pos: "01", Attempts: 3, Size: 5, Sum: sum.String()}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// The line says what the target was asked for, which is whole milliseconds.
func TestRequeueDelayIsInWholeMilliseconds(t *testing.T) {
	body, _ := Message{ID: ID{1, 7}, Topic: "orders"}.Encode()
	cfg := consumerConfig()
	cfg.RequeuePermille, cfg.RequeueDelay = 1000, 50*ms+ms/2
	c, err := NewConsumer(cfg, Resume{Incarnation: 1})
	if err != nil {
		t.Fatal(err)
	}
	var fx Effects
	c.Step(1000, Event{Kind: EvDelivery, Delivery: Delivery{Token: 1, Position: "01", Attempts: 1, Body: body}}, &fx)
	if line, effect := fx.List[2].History, fx.List[3]; line.Defer != 50*ms || effect.Delay != 50*ms {
		t.Errorf("the line says %d ns and the effect %d ns, want 50 ms", line.Defer, effect.Delay)
	}
}

// The share given back is about what was asked for, and the same each time.
func TestConsumerRequeueShare(t *testing.T) {
	cfg := consumerConfig()
	cfg.RequeuePermille = 100
	share := func() int {
		c, err := NewConsumer(cfg, Resume{Incarnation: 1})
		if err != nil {
			t.Fatal(err)
		}
		requeued := 0
		for counter := uint64(1); counter <= 2000; counter++ {
			body, _ := Message{ID: ID{1, counter}, Topic: "orders"}.Encode()
			var fx Effects
			c.Step(1000, Event{Kind: EvDelivery, Delivery: Delivery{Position: "01", Attempts: 1, Body: body}}, &fx)
			if fx.List[len(fx.List)-1].Kind == FxRequeue {
				requeued++
			}
		}
		return requeued
	}
	if a, b := share(), share(); a != b || a < 150 || a > 250 {
		t.Errorf("of 2000 messages at 100 permille, %d were given back, then %d", a, b)
	}
}

func TestNewConsumerNamesTheField(t *testing.T) {
	for want, change := range map[string]func(*ConsumerConfig){
		"every name must be set":              func(c *ConsumerConfig) { c.Channel = "" },
		"requeue_permille is 1001, want 0 to": func(c *ConsumerConfig) { c.RequeuePermille = 1001 },
		"requeue_delay is -1 ns, want ≥ 0":    func(c *ConsumerConfig) { c.RequeueDelay = -1 },
		"forget_permille is -1, want 0 to":    func(c *ConsumerConfig) { c.ForgetPermille = -1 },
		"in_flight is 0 and msg_timeout 5 ns": func(c *ConsumerConfig) { c.ForgetPermille, c.MsgTimeout = 1, 5 },
		"in_flight is 5 and msg_timeout 0 ns": func(c *ConsumerConfig) { c.ForgetPermille, c.InFlight = 1, 5 },
	} {
		cfg := consumerConfig()
		change(&cfg)
		if _, err := NewConsumer(cfg, Resume{Incarnation: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want … %s …", err, want)
		}
	}
}
