package sim

import (
	"strings"
	"testing"

	"pestle/broker/core"
	"pestle/faults"
	"pestle/scenarios"
	"pestle/sim/chance"
	"pestle/sim/disk"
	"pestle/sim/network"
)

// small is a plan of one producer and one consumer.
func small(t *testing.T) scenarios.Plan {
	t.Helper()
	scenario, err := scenarios.Load("../scenarios/first-light.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenarios.Expand(scenario, 1)
	if err != nil {
		t.Fatal(err)
	}
	p.Faults, p.Phases.Quiet = nil, nil
	p.Workload.Producers, p.Workload.Consumers = p.Workload.Producers[:1], p.Workload.Consumers[:1]
	return p
}

// booted is a world after its boot.
func booted(t *testing.T, p scenarios.Plan) *world {
	t.Helper()
	var source lots
	done, err := chance.Lend(&source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	w, err := newWorld(Options{Plan: p}, &source)
	if err != nil {
		t.Fatal(err)
	}
	w.prepare()
	w.boot()
	if w.failed != nil {
		t.Fatal(w.failed)
	}
	return w
}

// A journal that rots on a disk that has no fault in the plan is a failure of
// the harness: the run says so, and proves nothing.
func TestRefusalIsAHarnessError(t *testing.T) {
	w := booted(t, small(t))
	w.run(w.now()+2*second, func() bool { return w.record.acks > 50 })
	b := w.brokers[0]
	b.disk.Inject(disk.Fault{Kind: disk.BitRot, Times: 500})
	b.end(w.now(), false)
	b.start(w.now())
	w.run(w.now()+5*second, func() bool { return false })
	if w.failed == nil || !strings.HasPrefix(w.failed.Error(), "broker-1 refuses to start: ") {
		t.Errorf("got %v", w.failed)
	}
}

// A request that its broker does not live to answer has no answer.
func TestRequestToAnEndedBroker(t *testing.T) {
	w := booted(t, small(t))
	b := w.brokers[0].process
	asked := w.ask(w.now(), b, core.Request{Kind: core.ReqStats})
	b.end(w.now(), false)
	w.run(w.now()+second, func() bool { return false })
	if w.requests[asked].reply != nil {
		t.Error("a broker that had ended answered")
	}
	b.start(w.now())
	w.run(w.now()+second, func() bool { return b.ready })
	again := w.ask(w.now(), b, core.Request{Kind: core.ReqStats})
	w.run(w.now()+second, func() bool { return w.requests[again].reply != nil })
	if w.requests[again].reply == nil {
		t.Error("its successor did not")
	}
}

// What comes to a paused process waits, in its order, and its timers too; its
// kernel goes on.
func TestPause(t *testing.T) {
	w := booted(t, small(t))
	b, p := w.brokers[0], w.process("producer-1")
	w.run(w.now()+second, func() bool { return w.record.acks >= 10 })
	b.paused = true
	acks, steps := w.record.acks, w.trace.events
	w.run(w.now()+50*millisecond, func() bool { return false })
	if w.record.acks > acks+8 || w.trace.events == steps {
		t.Errorf("a paused broker acknowledged %d messages in 50 ms", w.record.acks-acks)
	}
	if len(b.inbox) == 0 {
		t.Error("nothing waits for it")
	}
	id := w.net.Dial(w.now(), p.host, b.host)
	up := false
	for range 100 { // its kernel accepts
		ev, ok := w.queue.Take(w.now() + millisecond)
		if !ok {
			continue
		}
		if ev.To == networkActor {
			for _, n := range w.net.Step(ev.At, ev) {
				up = up || n.Conn == id && n.Kind == network.Connected
				w.notify(ev.At, []network.Notice{n})
			}
			continue
		}
		w.dispatch(ev)
	}
	if !up {
		t.Error("a paused broker's kernel did not take a connection")
	}
	b.resume(w.now())
	w.run(w.now()+second, func() bool { return w.record.acks > acks+20 })
	if w.record.acks <= acks+20 || w.failed != nil {
		t.Errorf("after the pause %d acks more, %v", w.record.acks-acks, w.failed)
	}
}

// What an ended process had under way does not come to its successor.
func TestEventsDoNotOutliveTheirProcess(t *testing.T) {
	w := booted(t, small(t))
	b := w.brokers[0]
	b.disk.Inject(disk.Fault{Kind: disk.Slow, Factor: 5000})
	w.run(w.now()+second, func() bool { return b.changing })
	if !b.changing {
		t.Fatal("no change of the disk was begun")
	}
	b.end(w.now(), false)
	b.disk.Heal(disk.Slow)
	b.start(w.now())
	w.run(w.now()+10*second, func() bool { return false })
	if w.failed != nil || !b.ready {
		t.Errorf("ready %v, %v", b.ready, w.failed)
	}
}

// A stuck disk begins nothing, however often it is asked, and goes on where it
// stood.
func TestStuckDisk(t *testing.T) {
	w := booted(t, small(t))
	b := w.brokers[0]
	how, _ := injectionOf(faults.DiskStuck)
	a := &action{process: b.process}
	how.begin(w, w.now(), a)
	acks := w.record.acks
	w.run(w.now()+second, func() bool { return false })
	if w.record.acks > acks+8 || b.disk.Bites(disk.Stuck) != 1 {
		t.Errorf("%d acks and %d bites with a stuck disk", w.record.acks-acks, b.disk.Bites(disk.Stuck))
	}
	b.startRead(w.now(), core.Effect{Kind: core.FxRead, File: 1, N: 8})
	for _, p := range w.processes[1:] {
		p.end(w.now(), false) // so that nothing else wakes the broker
	}
	w.run(w.now()+10*second, func() bool { return false })
	how.end(w, w.now(), a)
	if !b.changing || b.stuck || b.reads[0].stuck {
		t.Error("the disk does not go on once it is healed")
	}
}

// A timer that was given up because the clock stood still is set again, though
// nothing else happens.
func TestThawSetsTheTimer(t *testing.T) {
	w := booted(t, small(t))
	b := w.brokers[0]
	how, _ := injectionOf(faults.ClockFreeze)
	a := &action{process: b.process}
	how.begin(w, w.now(), a)
	for _, p := range w.processes[1:] {
		p.end(w.now(), false)
	}
	w.run(w.now()+10*second, func() bool { return false })
	if b.timerFor != never {
		t.Fatal("a timer is set on a clock that stands still")
	}
	how.end(w, w.now(), a)
	if b.timerFor == never {
		t.Error("no timer is set after the thaw")
	}
}

// A clock that stands still delays what waits for it, and nothing else.
func TestFrozenClock(t *testing.T) {
	w := booted(t, small(t))
	b := w.brokers[0]
	b.clock.Freeze(w.now())
	b.rewind(w.now())
	acks := w.record.acks
	w.run(w.now()+second, func() bool { return false })
	if w.record.acks < acks+10 {
		t.Errorf("%d acks in a second with a frozen clock", w.record.acks-acks)
	}
	if _, ok := b.due(); ok {
		t.Error("a timer is due on a clock that stands still")
	}
	b.clock.Thaw(w.now())
	b.rewind(w.now())
	if _, ok := b.due(); !ok || b.timerFor == never {
		t.Error("no timer is set after the thaw")
	}
}

// Every part of what happens is in the hash.
func TestTrace(t *testing.T) {
	seen := map[uint64]string{}
	for name, add := range map[string]func(*trace){
		"nothing":         func(*trace) {},
		"words":           func(t *trace) { t.words(1, 2) },
		"the other way":   func(t *trace) { t.words(2, 1) },
		"bytes":           func(t *trace) { t.bytes([]byte("abc")) },
		"other bytes":     func(t *trace) { t.bytes([]byte("abd")) },
		"text":            func(t *trace) { t.text("a longer text") },
		"the end differs": func(t *trace) { t.text("a longer texu") },
		"twice":           func(t *trace) { t.words(1, 2); t.words(1, 2) },
	} {
		trace := newTrace()
		add(&trace)
		if other, had := seen[trace.sum()]; had {
			t.Errorf("%q and %q have one hash", name, other)
		}
		seen[trace.sum()] = name
	}
}

// A write timeout counts from the last progress.
func TestProgressPutsTheTimeoutOff(t *testing.T) {
	w := booted(t, small(t))
	w.brokers[0].paused = true
	c := w.process("producer-1").node.(*client)
	s := session{conn: w.net.Dial(w.now(), c.host, w.brokers[0].host), up: true, stalled: never}
	w.run(w.now()+100*millisecond, func() bool { return false })
	began := w.now()
	c.transmit(began, &s, make([]byte, 1<<20))
	if s.stalled != began {
		t.Fatalf("a full window stalls since %d, want %d", s.stalled, began)
	}
	c.progressed(began+second, &s)
	if s.stalled != began+second {
		t.Errorf("after progress it stalls since %d, want %d", s.stalled, began+second)
	}
}

// A client that cannot send gives the connection up: reason and time.
func TestSessionGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		s      session
		due    int64
		reason string
	}{
		"none":            {session{}, never, ""},
		"dialling":        {session{conn: 1, dialled: 5, stalled: never}, 5 + dialTimeout, "dial: i/o timeout"},
		"nothing is read": {session{conn: 1, up: true, heard: 7, stalled: never}, 7 + readTimeout, "read: i/o timeout"},
		"nothing leaves":  {session{conn: 1, up: true, heard: 7, stalled: 8}, 8 + dialTimeout, "write: i/o timeout"},
	} {
		if due := c.s.due(); due != c.due {
			t.Errorf("%s: due at %d, want %d", name, due, c.due)
		}
		if c.due != never && c.s.reason(c.due) != c.reason {
			t.Errorf("%s: %q, want %q", name, c.s.reason(c.due), c.reason)
		}
	}
}
