package sim

import (
	"testing"

	"pestle/faults"
	"pestle/sim/network"
	"pestle/sim/schedule"
)

// What each fault of the network does to its links, if it begins at a second.
func TestConditionOf(t *testing.T) {
	for _, c := range []struct {
		fault faults.Fault
		want  network.Condition
	}{
		{faults.Fault{Kind: faults.Silence}, network.Condition{Cut: true}},
		{faults.Fault{Kind: faults.Clog, BytesPerSecond: 5, Delay: 6}, network.Condition{BytesPerSecond: 5, Delay: 6}},
		{faults.Fault{Kind: faults.Jam, For: 500 * millisecond}, network.Condition{HeldUntil: 1500 * millisecond}},
		{faults.Fault{Kind: faults.Latency, Delay: 5, Jitter: 6}, network.Condition{Delay: 5, Jitter: 6}},
		{faults.Fault{Kind: faults.Loss, Rate: 5}, network.Condition{LossPermille: 5}},
		{faults.Fault{Kind: faults.Reorder, Rate: 5, Delay: 6}, network.Condition{ReorderPermille: 5, ReorderBy: 6}},
		{faults.Fault{Kind: faults.Duplicate, Rate: 5}, network.Condition{DuplicatePermille: 5}},
		{faults.Fault{Kind: faults.Corrupt, Rate: 5}, network.Condition{CorruptPermille: 5}},
		{faults.Fault{Kind: faults.Refuse}, network.Condition{Refused: true}},
	} {
		if got := conditionOf(second, c.fault); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.fault.Kind, got, c.want)
		}
	}
}

// imposed begins a fault on a running world, and returns how to end it.
func imposed(w *world, f faults.Fault) (heal func()) {
	how, _ := injectionOf(f.Kind)
	a := &action{fault: f, process: w.process(f.Target)}
	how.begin(w, w.now(), a)
	return func() { how.end(w, w.now(), a) }
}

// acksIn lets a world run so long and returns how many acks came.
func acksIn(w *world, span int64) int64 {
	before := w.record.acks
	w.run(w.now()+span, func() bool { return false })
	return w.record.acks - before
}

// A slow processor does what it is given, in its order, one after the other; a
// little of what it would do otherwise. Given back, it is through at once.
func TestSlowProcessor(t *testing.T) {
	w := booted(t, small(t))
	w.run(w.now()+second, func() bool { return w.record.acks >= 10 })
	b := w.brokers[0]
	usual := acksIn(w, second)
	heal := imposed(w, faults.Fault{Kind: faults.CPUSlow, Target: "broker-1", Factor: 400})
	slow := acksIn(w, second)
	if slow == 0 || slow > usual/2 {
		t.Errorf("%d acks in a second with a slow processor, %d without", slow, usual)
	}
	if len(b.inbox) == 0 || b.freeAt <= w.now() {
		t.Errorf("%d inputs wait until %d, and it is %d", len(b.inbox), b.freeAt, w.now())
	}
	heal()
	if len(b.inbox) != 0 {
		t.Errorf("%d inputs wait for a processor that is quick again", len(b.inbox))
	}
	acksIn(w, second) // turns of the slow spell are void
	if again := acksIn(w, second); again < usual*9/10 {
		t.Errorf("%d acks in a second afterwards, %d before", again, usual)
	}
}

// What is given to a slow process dies with it, and the next one is as slow.
func TestSlowProcessorOfTheNext(t *testing.T) {
	w := booted(t, small(t))
	b := w.brokers[0].process
	heal := imposed(w, faults.Fault{Kind: faults.CPUSlow, Target: "broker-1", Factor: 100})
	w.run(w.now()+second, func() bool { return len(b.inbox) > 0 })
	b.end(w.now(), false)
	if len(b.inbox) != 0 {
		t.Error("a process that has ended has something to do")
	}
	b.start(w.now())
	if b.slow != 100 || b.freeAt > w.now() {
		t.Errorf("its successor takes %d times as long, and begins at %d", b.slow, b.freeAt)
	}
	w.run(w.now()+5*second, func() bool { return b.ready })
	heal()
	if !b.ready || b.slow != 0 {
		t.Errorf("ready: %v, %d times as long", b.ready, b.slow)
	}
}

// A second slow spell begins anew: what was reckoned in the first is void.
func TestSlowProcessorAgain(t *testing.T) {
	w := booted(t, small(t))
	b := w.brokers[0]
	slow := faults.Fault{Kind: faults.CPUSlow, Target: "broker-1", Factor: 100}
	heal := imposed(w, slow)
	first := b.turns
	b.freeAt = w.now() + second
	heal()
	heal = imposed(w, slow)
	b.deliver(w.now(), &input{event: schedule.Event{Kind: evTimer}})
	if b.freeAt > w.now()+100*maxWork {
		t.Errorf("it is through at %d, and it is %d", b.freeAt, w.now())
	}
	if b.turn(w.now(), first); len(b.inbox) != 1 {
		t.Error("a turn of the first spell counts in the second")
	}
	if b.turn(w.now(), b.turns); len(b.inbox) != 0 {
		t.Error("a turn of its own does not")
	}
	heal()
}

// A broker that refuses tears what it has, and takes nobody until it is healed.
func TestRefuse(t *testing.T) {
	w := booted(t, small(t))
	w.run(w.now()+second, func() bool { return w.record.acks >= 10 })
	b := w.brokers[0]
	heal := imposed(w, faults.Fault{Ref: 1, Kind: faults.Refuse, Target: "broker-1", Peer: "producer-1"})
	if len(b.conns) != 1 { // the consumer's
		t.Errorf("the broker has %d connections", len(b.conns))
	}
	if acks := acksIn(w, second); acks > 1 { // one may have been on its way
		t.Errorf("%d acks in a second for a producer that is refused", acks)
	}
	heal()
	if acks := acksIn(w, second); acks < 10 {
		t.Errorf("%d acks in a second afterwards", acks)
	}
}

// Nothing comes through a jam, and all of it at its end.
func TestJam(t *testing.T) {
	w := booted(t, small(t))
	w.run(w.now()+second, func() bool { return w.record.acks >= 10 })
	const held = 300 * millisecond
	jam := faults.Fault{Ref: 1, Kind: faults.Jam, Target: "broker-1", For: held}
	heal := imposed(w, jam)
	end := w.now() + held
	acksIn(w, 100*millisecond) // what was on its way
	if acks := acksIn(w, end-w.now()-1); acks != 0 {
		t.Errorf("%d acks came through a jam", acks)
	}
	w.run(end, func() bool { return false })
	heal()
	if acks := acksIn(w, 60*millisecond); acks == 0 {
		t.Error("nothing came after a jam, though nothing had to be sent again")
	}
}
