package workload

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"pestle/sim/random"
)

func producerConfig() ProducerConfig {
	return ProducerConfig{Name: "producer-1", Topic: "orders", Tries: 3, Backoff: 50 * ms, Timeout: 400 * ms,
		Interval: 100 * ms, Pending: 2, MinSize: 10, MaxSize: 20, Seed: 1}
}

func TestProducer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ProducerConfig)
		resume Resume
		script string
	}{
		"state, then history, then the wire; one message an interval": {script: `
1000 start
  history started try 1
  state producer-1-1, attempt
  history attempt producer-1-1 try 1
  send producer-1-1 try 1 by 1400
1001 connected 127.0.0.1:4150
  history connected 127.0.0.1:4150
1002 ack 1 try 1
  state producer-1-1, ack
  history ack producer-1-1 try 1
1099 timer
1100 timer
  state producer-1-2, attempt
  history attempt producer-1-2 try 1
  send producer-1-2 try 1 by 1500
1101 disconnected 127.0.0.1:4150
  history disconnected 127.0.0.1:4150
`},
		"a deferral is the same at every try, and the sentinel has none": {change: func(c *ProducerConfig) {
			c.DeferPermille, c.DeferMin, c.DeferMax, c.Pending = 1000, 200*ms, 200*ms, 1
		}, script: `
1000 start
  history started try 1
  state producer-1-1, attempt
  history attempt producer-1-1 try 1 deferred 200
  send producer-1-1 try 1 by 1400 deferred 200
1010 fail 1 try 1
  history fail producer-1-1 try 1 why
1060 timer
  state producer-1-1, attempt
  history attempt producer-1-1 try 2 deferred 200
  send producer-1-1 try 2 by 1460 deferred 200
1061 drain
1070 ack 1 try 2
  state producer-1-1, ack
  history ack producer-1-1 try 2
  state producer-1-2, attempt
  history attempt producer-1-2 try 1
  send producer-1-2 try 1 by 1470
`},
		"a late timer does not shift the schedule": {script: `
1000 start
  history started try 1
  state producer-1-1, attempt
  history attempt producer-1-1 try 1
  send producer-1-1 try 1 by 1400
1150 timer
  state producer-1-2, attempt
  history attempt producer-1-2 try 1
  send producer-1-2 try 1 by 1550
1160 ack 1 try 1
  state producer-1-1, ack
  history ack producer-1-1 try 1
1199 timer
1200 timer
  state producer-1-3, attempt
  history attempt producer-1-3 try 1
  send producer-1-3 try 1 by 1600
`},
		"a message that is left out has its turn, and nothing is sent": {change: func(c *ProducerConfig) { c.Only = Ranges{{2, 2}, {5, 6}} }, script: `
1000 start
  history started try 1
1100 timer
  state producer-1-2, attempt
  history attempt producer-1-2 try 1
  send producer-1-2 try 1 by 1500
1101 ack 2 try 1
  state producer-1-2, ack
  history ack producer-1-2 try 1
1399 timer
  history tick
1400 timer
  state producer-1-5, attempt
  history attempt producer-1-5 try 1
  send producer-1-5 try 1 by 1800
1401 ack 5 try 1
  state producer-1-5, ack
  history ack producer-1-5 try 1
1500 timer
  state producer-1-6, attempt
  history attempt producer-1-6 try 1
  send producer-1-6 try 1 by 1900
1501 ack 6 try 1
  state producer-1-6, ack
  history ack producer-1-6 try 1
1600 timer
1700 timer
1701 timer
  history tick
1800 drain
  state producer-1-7, attempt
  history attempt producer-1-7 try 1
  send producer-1-7 try 1 by 2200
`},
		"what is left out after a kill counts its turns from the restart": {change: func(c *ProducerConfig) { c.Only = Ranges{{2, 2}, {5, 5}} }, resume: Resume{Highest: 2}, script: `
1000 start
  history started try 1
1199 timer
1200 timer
  state producer-1-5, attempt
  history attempt producer-1-5 try 1
  send producer-1-5 try 1 by 1600
`},
		"none but the last is sent": {change: func(c *ProducerConfig) { c.Only = Ranges{} }, script: `
1000 start
  history started try 1
1100 timer
1150 drain
  state producer-1-1, attempt
  history attempt producer-1-1 try 1
  send producer-1-1 try 1 by 1550
`},
		"what Pending keeps from starting is not made up for": {script: `
1000 start
  history started try 1
  state producer-1-1, attempt
  history attempt producer-1-1 try 1
  send producer-1-1 try 1 by 1400
1100 timer
  state producer-1-2, attempt
  history attempt producer-1-2 try 1
  send producer-1-2 try 1 by 1500
1200 timer
1300 timer
  history tick
1399 ack 1 try 1
  state producer-1-1, ack
  history ack producer-1-1 try 1
  state producer-1-3, attempt
  history attempt producer-1-3 try 1
  send producer-1-3 try 1 by 1799
1400 ack 2 try 1
  state producer-1-2, ack
  history ack producer-1-2 try 1
1498 timer
1499 timer
  state producer-1-4, attempt
  history attempt producer-1-4 try 1
  send producer-1-4 try 1 by 1899
`},
		"tries are bounded, the pause doubles, then the message is given up": {
			change: func(c *ProducerConfig) { c.Interval = 10_000 * ms }, script: `
1000 start
  history started try 1
  state producer-1-1, attempt
  history attempt producer-1-1 try 1
  send producer-1-1 try 1 by 1400
1100 fail 1 try 1
  history fail producer-1-1 try 1 why
1149 timer
1150 timer
  state producer-1-1, attempt
  history attempt producer-1-1 try 2
  send producer-1-1 try 2 by 1550
1200 unknown 1 try 2
  history unknown producer-1-1 try 2 why
1299 timer
1300 timer
  state producer-1-1, attempt
  history attempt producer-1-1 try 3
  send producer-1-1 try 3 by 1700
1400 fail 1 try 3
  history fail producer-1-1 try 3 why
  history gave-up producer-1-1 try 3
1500 timer
`},
		"at most once there is one try": {
			change: func(c *ProducerConfig) { c.Tries = 1 }, script: `
1000 start
  history started try 1
  state producer-1-1, attempt
  history attempt producer-1-1 try 1
  send producer-1-1 try 1 by 1400
1050 unknown 1 try 1
  history unknown producer-1-1 try 1 why
  history gave-up producer-1-1 try 1
`},
		"an answer nobody waits for is no news": {
			change: func(c *ProducerConfig) { c.Interval = 10_000 * ms }, script: `
1000 start
  history started try 1
  state producer-1-1, attempt
  history attempt producer-1-1 try 1
  send producer-1-1 try 1 by 1400
1010 ack 2 try 1
1020 ack 1 try 2
1030 unknown 1 try 1
  history unknown producer-1-1 try 1 why
1040 ack 1 try 1
1080 timer
  state producer-1-1, attempt
  history attempt producer-1-1 try 2
  send producer-1-1 try 2 by 1480
1090 ack 1 try 1
1100 ack 1 try 2
  state producer-1-1, ack
  history ack producer-1-1 try 2
1110 ack 1 try 2
`},
		"a silent producer ticks": {
			change: func(c *ProducerConfig) { c.Interval = 10_000 * ms }, script: `
1000 start
  history started try 1
  state producer-1-1, attempt
  history attempt producer-1-1 try 1
  send producer-1-1 try 1 by 1400
1199 timer
1200 timer
  history tick
1400 timer
  history tick
`},
		"a drain ends with a sentinel, under a new id for each try": {script: `
1000 start
  history started try 1
  state producer-1-1, attempt
  history attempt producer-1-1 try 1
  send producer-1-1 try 1 by 1400
1010 drain
1100 timer
1110 fail 1 try 1
  history fail producer-1-1 try 1 why
1160 timer
  state producer-1-1, attempt
  history attempt producer-1-1 try 2
  send producer-1-1 try 2 by 1560
1170 ack 1 try 2
  state producer-1-1, ack
  history ack producer-1-1 try 2
  state producer-1-2, attempt
  history attempt producer-1-2 try 1
  send producer-1-2 try 1 by 1570
1180 unknown 2 try 1
  history unknown producer-1-2 try 1 why
  history gave-up producer-1-2 try 1
1229 timer
1230 timer
  state producer-1-3, attempt
  history attempt producer-1-3 try 1
  send producer-1-3 try 1 by 1630
1240 fail 3 try 1
  history fail producer-1-3 try 1 why
  history gave-up producer-1-3 try 1
1339 timer
1340 timer
  state producer-1-4, attempt
  history attempt producer-1-4 try 1
  send producer-1-4 try 1 by 1740
1350 ack 4 try 1
  state producer-1-4, ack
  history ack producer-1-4 try 1
  history sentinel producer-1-4
1400 drain
1550 timer
  history tick
1560 stop
  history stopped
  done
1570 timer
`},
		"a stop waits for the tries under way and gives up the rest": {script: `
1000 start
  history started try 1
  state producer-1-1, attempt
  history attempt producer-1-1 try 1
  send producer-1-1 try 1 by 1400
1100 timer
  state producer-1-2, attempt
  history attempt producer-1-2 try 1
  send producer-1-2 try 1 by 1500
1110 fail 1 try 1
  history fail producer-1-1 try 1 why
1120 stop
  history gave-up producer-1-1 try 1
1200 timer
1210 unknown 2 try 1
  history unknown producer-1-2 try 1 why
  history gave-up producer-1-2 try 1
  history stopped
  done
`},
		"a later incarnation goes on at the next counter": {
			resume: Resume{Incarnation: 4, Highest: 41}, script: `
1000 start
  history started try 4
  state producer-1-42, attempt
  history attempt producer-1-42 try 1
  send producer-1-42 try 1 by 1400
`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := producerConfig()
			if c.change != nil {
				c.change(&cfg)
			}
			if c.resume.Incarnation == 0 {
				c.resume.Incarnation = 1
			}
			p, err := NewProducer(cfg, c.resume)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, transcript(t, p, c.script, nil), c.script)
		})
	}
}

func TestRetryPauseDoublesUpToAMinute(t *testing.T) {
	p, err := NewProducer(producerConfig(), Resume{Incarnation: 1})
	if err != nil {
		t.Fatal(err)
	}
	for tries, want := range map[int]int64{1: 50 * ms, 2: 100 * ms, 3: 200 * ms, 4: 400 * ms, 11: 51_200 * ms, 12: 60_000 * ms, 1000: 60_000 * ms} {
		if got := p.retryPause(tries); got != want {
			t.Errorf("after %d tries: %d ms, want %d", tries, got/ms, want/ms)
		}
	}
}

// The attempt line carries what the envelope on the wire carries.
func TestProducerAttemptDescribesWhatIsSent(t *testing.T) {
	p, err := NewProducer(producerConfig(), Resume{Incarnation: 1})
	if err != nil {
		t.Fatal(err)
	}
	var fx Effects
	p.Step(1000, Event{Kind: EvStart}, &fx)
	attempt, send := fx.List[2].History, fx.List[3]
	m, sum, err := Decode("orders", "", send.Body)
	if err != nil || m.ID != send.ID {
		t.Fatalf("the body is %+v, %v", m, err)
	}
	if attempt.Sum != sum.String() || attempt.Size != len(m.Payload) || attempt.Topic != "orders" || attempt.T != 1000 {
		t.Errorf("attempt %+v describes a message of %d bytes with sum %s", attempt, len(m.Payload), sum)
	}
}

// Deferrals are drawn from seed and id alone: about as many as was asked for,
// each in its range and in whole milliseconds, and the same after a kill.
func TestDeferrals(t *testing.T) {
	cfg := producerConfig()
	cfg.DeferPermille, cfg.DeferMin, cfg.DeferMax = 100, 200*ms, 3000*ms
	deferred, shortest, longest := 0, int64(1)<<62, int64(0)
	for counter := uint64(1); counter <= 2000; counter++ {
		d := cfg.deferral(ID{1, counter})
		if d != cfg.deferral(ID{1, counter}) || d%ms != 0 {
			t.Fatalf("deferral of %d: %d ns, then %d ns", counter, d, cfg.deferral(ID{1, counter}))
		}
		if d > 0 {
			deferred++
			shortest, longest = min(shortest, d), max(longest, d)
		}
	}
	if deferred < 150 || deferred > 250 || shortest < 200*ms || shortest > 300*ms || longest < 2900*ms || longest > 3000*ms {
		t.Errorf("of 2000 messages at 100 permille %d are deferred, by %d to %d ns", deferred, shortest, longest)
	}
}

func TestNewProducerNamesTheField(t *testing.T) {
	for want, change := range map[string]func(*ProducerConfig){
		`"p-1" is no producer name`:                     func(c *ProducerConfig) { c.Name = "p-1" },
		"producer-1: tries is 0, want 1 to ":            func(c *ProducerConfig) { c.Tries = 0 },
		"producer-1: backoff is 0, want 1 to ":          func(c *ProducerConfig) { c.Backoff = 0 },
		"producer-1: timeout is 0, want 1 to ":          func(c *ProducerConfig) { c.Timeout = 0 },
		"producer-1: interval is 0, want 1 to ":         func(c *ProducerConfig) { c.Interval = 0 },
		"producer-1: pending is 0, want 1 to ":          func(c *ProducerConfig) { c.Pending = 0 },
		"producer-1: max_size is 67108865, want 1 to ":  func(c *ProducerConfig) { c.MaxSize = MaxPayload + 1 },
		"producer-1: min_size is 21, want 0 to max_siz": func(c *ProducerConfig) { c.MinSize = 21 },
		"producer-1: defer_permille is 1001, want 0 to": func(c *ProducerConfig) { c.DeferPermille = 1001 },
		"producer-1: defer_min and defer_max are 20000": func(c *ProducerConfig) { c.DeferMin, c.DeferMax = 2*ms, ms },
		"producer-1: defer_min and defer_max are 0 and": func(c *ProducerConfig) { c.DeferMax = ms + 1 },
	} {
		cfg := producerConfig()
		change(&cfg)
		if _, err := NewProducer(cfg, Resume{Incarnation: 1}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s …", err, want)
		}
	}
}

// simulate drives a producer through n deadlines, with answers drawn from the
// seed, and returns a hash of all it did.
func simulate(t *testing.T, seed uint64, n int) uint64 {
	t.Helper()
	p, err := NewProducer(producerConfig(), Resume{Incarnation: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := random.New(seed, "answers")
	h := fnv.New64a()
	now := int64(1000 * ms)
	step := func(e Event) []Effect {
		var fx Effects
		p.Step(now, e, &fx)
		fmt.Fprintf(h, "%+v\n", fx.List)
		return fx.List
	}
	inFlight := step(Event{Kind: EvStart})
	for range n {
		var next []Effect
		for _, e := range inFlight {
			if e.Kind == FxSend {
				now += s.Below(20 * ms)
				next = append(next, step(Event{Kind: EvAck + EventKind(s.Below(3)), ID: e.ID, Try: e.Try})...)
			}
		}
		deadline, _ := p.NextDeadline()
		now = max(now, deadline)
		next = append(next, step(Event{Kind: EvTimer})...)
		inFlight = next
	}
	return h.Sum64()
}

func TestProducerIsDeterministic(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		a, b := simulate(t, seed, 200), simulate(t, seed, 200)
		if a != b {
			t.Errorf("seed %d: %016x, then %016x", seed, a, b)
		}
		if a == simulate(t, seed+1, 200) {
			t.Errorf("seeds %d and %d did the same", seed, seed+1)
		}
	}
}

// No event leaves the machine with a deadline that has passed: a driver would
// spin.
func TestProducerDeadlineIsInTheFuture(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		p, err := NewProducer(producerConfig(), Resume{Incarnation: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := random.New(seed, "events")
		now := int64(1000 * ms)
		var fx Effects
		p.Step(now, Event{Kind: EvStart}, &fx)
		for range 500 {
			now += s.Below(150 * ms)
			e := Event{Kind: EvTimer}
			if sends := lastSends(fx.List); len(sends) > 0 && s.Below(2) == 0 {
				pick := sends[s.Below(int64(len(sends)))]
				e = Event{Kind: EvAck + EventKind(s.Below(3)), ID: pick.ID, Try: pick.Try}
			} else if s.Below(100) == 0 {
				e.Kind = EvDrain
			}
			p.Step(now, e, &fx)
			if deadline, ok := p.NextDeadline(); !ok || deadline <= now {
				t.Fatalf("seed %d: at %d the next deadline is %d, %v", seed, now, deadline, ok)
			}
		}
	}
}

func lastSends(effects []Effect) []Effect {
	var sends []Effect
	for _, e := range effects[max(0, len(effects)-20):] {
		if e.Kind == FxSend {
			sends = append(sends, e)
		}
	}
	return sends
}
