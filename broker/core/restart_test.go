package core

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pestle/broker/journal"
	"pestle/broker/nsq"
)

// ledgerIsDurable lets enough time pass for the ledger to be written.
func ledgerIsDurable(r *rig) { r.pass(ledgerDelay) }

func TestRestart(t *testing.T) {
	for name, transcript := range map[string]func(t *testing.T, r *rig){
		"what was acknowledged comes, in order": func(t *testing.T, r *rig) {
			r.dial().publish("t", "a", "b", "c")
			r.restart()
			r.consumer("t", "ch", 10).want("a/1", "b/1", "c/1")
		},
		"what is finished in the ledger does not come again": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 2)
			r.dial().publish("t", "a", "b", "c")
			list := c.deliveries()
			c.Finish(list[1].ID)
			ledgerIsDurable(r)
			r.restart()
			r.consumer("t", "ch", 10).want("a/2", "c/2")
		},
		"what was in flight counts one attempt more, what was not does not": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 2)
			r.dial().publish("t", "a", "b", "c", "d")
			c.want("a/1", "b/1")
			ledgerIsDurable(r)
			r.restart()
			r.consumer("t", "ch", 10).want("a/2", "b/2", "c/1", "d/1")
		},
		"attempts go on": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			for range 3 {
				c.Requeue(c.deliveries()[0].ID, 0)
			}
			c.want("a/4")
			ledgerIsDurable(r)
			r.restart()
			r.consumer("t", "ch", 1).want("a/5")
		},
		"a deferral keeps its due time, and its first attempt is the first": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			c.DeferredPublish("t", 5000, []byte("late"))
			c.want("OK")
			c.publish("t", "now")
			finishAll(c)
			ledgerIsDurable(r)
			r.pass(2*second - ledgerDelay)
			r.restart()
			c = r.consumer("t", "ch", 1)
			r.pass(3*second - 1)
			c.want()
			r.pass(1)
			c.want("late/1")
		},
		"a requeue keeps its due time": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			c.Requeue(c.deliveries()[0].ID, 5000)
			ledgerIsDurable(r)
			r.restart()
			c = r.consumer("t", "ch", 1)
			r.pass(5*second - ledgerDelay - 1)
			c.want()
			r.pass(1)
			c.want("a/2")
		},
		"time goes on while the node is down": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			c.DeferredPublish("t", 5000, []byte("late"))
			c.want("OK")
			r.kill()
			r.now.Wall += 5 * second
			r.now.Mono = 17 // another boot
			r.start()
			r.consumer("t", "ch", 1).want("late/1")
		},
		"a wall clock set back delays, and never hurries": func(t *testing.T, r *rig) {
			c := r.consumer("t", "ch", 1)
			c.DeferredPublish("t", 5000, []byte("late"))
			c.want("OK")
			r.kill()
			r.now.Wall -= 3600 * second
			r.start()
			c = r.consumer("t", "ch", 1)
			c.publish("t", "now")
			finishAll(c)
			r.pass(5*second - 1)
			c.want()
			r.pass(1)
			c.want("late/1")
		},
		"a channel starts where it started": func(t *testing.T, r *rig) {
			one := r.consumer("t", "one", 0)
			r.dial().publish("t", "a")
			r.consumer("t", "two", 0)
			r.dial().publish("t", "b")
			one.want()
			r.restart()
			r.consumer("t", "one", 10).want("a/1", "b/1")
			r.consumer("t", "two", 10).want("b/1")
		},
		"ids go on": func(t *testing.T, r *rig) {
			r.dial().publish("t", "a")
			r.restart()
			r.dial().publish("t", "b")
			list := r.consumer("t", "ch", 10).deliveries()
			if len(list) != 2 || list[1].ID != nsq.ID(1<<44|1) {
				t.Errorf("got %v", list)
			}
		},
		"many lives": func(t *testing.T, r *rig) {
			var want []string
			for i := range 20 {
				r.dial().publish("t", fmt.Sprint(i))
				want = append(want, fmt.Sprintf("%d/1", i))
				r.restart()
			}
			r.consumer("t", "ch", 100).want(want...)
		},
	} {
		t.Run(name, func(t *testing.T) { transcript(t, newRig(t, Config{FileSize: 16 << 10})) })
	}
}

// Nothing is answered before what was recovered is durable again.
func TestServesOnlyWhenDurable(t *testing.T) {
	r := newRig(t, Config{})
	r.dial().publish("t", "a")
	r.consumer("t", "ch", 0)
	r.kill()
	if err := r.tryStart(); err != nil {
		t.Fatal(err)
	}
	held := r.changes
	r.changes = nil
	c := r.dial()
	c.Subscribe("t", "ch")
	c.Ready(1)
	c.Publish("t", []byte("b"))
	r.settle()
	early := r.request(Request{Kind: ReqPublish, Topic: "t", Bodies: [][]byte{[]byte("c")}})
	if len(c.notices) > 0 || r.core.Ready() || early != nil {
		t.Fatalf("served before the recovered journal is durable: %q, %v", c.got(), early)
	}
	if s := r.request(Request{Kind: ReqStats}).Stats; !strings.HasPrefix(s.Health, "recovering") {
		t.Errorf("health is %q", s.Health)
	}
	r.changes = held
	r.settle()
	if !r.core.Ready() || r.replies[1] == nil || r.replies[1].Code != "" {
		t.Errorf("not served after it: ready %v, reply %+v", r.core.Ready(), r.replies[1])
	}
	if got := strings.Join(c.got(), " "); got != "OK a/1" && got != "a/1 OK" {
		t.Errorf("got %q", got)
	}
}

// A crash may leave what was not synced readable and not durable: it is
// written again before anyone hears of it.
func TestRewritesWhatMayNotBeDurable(t *testing.T) {
	r := newRig(t, Config{})
	p := r.dial()
	p.publish("t", "a")
	p.Publish("t", []byte("b"))
	for len(r.changes) < 2 {
		r.work()
	}
	batch := r.changes[0]
	r.work() // the write, and no sync
	r.kill()
	if err := r.tryStart(); err != nil {
		t.Fatal(err)
	}
	if len(r.changes) != 2 || r.changes[1].Kind != FxSync {
		t.Fatalf("disk effects: %+v", r.changes)
	}
	if again := r.changes[0]; again.Kind != FxWrite || again.Offset != batch.Offset || !bytes.Equal(again.Data, batch.Data) {
		t.Errorf("written again: %+v, want %+v", again, batch)
	}
}

// What happens while a ledger entry is on its way is in the next one, though
// nothing else happens.
func TestLedgerGoesOnAfterItsCommit(t *testing.T) {
	r := newRig(t, Config{})
	c := r.consumer("t", "ch", 1)
	r.dial().publish("t", "a")
	id := c.deliveries()[0].ID
	r.elapse(ledgerDelay)
	r.step(Event{Kind: EvTimer}) // the delivery is proposed
	c.Finish(id)
	r.talk()
	r.elapse(ledgerDelay)
	r.step(Event{Kind: EvTimer})
	r.settle()
	if s := r.stats("t", "ch"); s.FinishedBelow != 1 {
		t.Errorf("finished below %d, want 1", s.FinishedBelow)
	}
}

// An answer waits for its sync, and what arrives meanwhile shares the next.
func TestGroupCommit(t *testing.T) {
	r := newRig(t, Config{})
	p := r.dial()
	p.publish("t", "first")
	r.pass(second)
	for range 10 {
		p.Publish("t", []byte("x"))
		r.talk()
	}
	if len(r.changes) != 2 || r.changes[0].Kind != FxWrite || r.changes[1].Kind != FxSync {
		t.Fatalf("disk effects: %+v", r.changes)
	}
	r.work() // write
	if len(p.notices) != 0 {
		t.Fatal("acknowledged before the sync")
	}
	r.work() // sync
	if len(p.notices) != 1 {
		t.Errorf("%d publishes are acknowledged with the first sync, want the one in its batch", len(p.notices))
	}
	syncs := 0
	for len(p.notices) < 10 {
		if len(r.changes) > 0 && r.changes[0].Kind == FxSync {
			syncs++
		}
		if !r.work() {
			t.Fatalf("%d of 10 are acknowledged", len(p.notices))
		}
	}
	if syncs != 1 {
		t.Errorf("the other nine take %d syncs, want 1", syncs)
	}
}

func TestFailedSyncEndsTheNode(t *testing.T) {
	r := newRig(t, Config{})
	p := r.dial()
	p.publish("t", "a")
	p.Publish("t", []byte("b"))
	for len(r.changes) < 2 {
		r.work()
	}
	token := r.changes[len(r.changes)-1].Token
	r.step(Event{Kind: EvSynced, Token: token, Failed: true, Text: "input/output error"})
	if !strings.Contains(r.exited, "input/output error") {
		t.Errorf("the node goes on: %q", r.exited)
	}
	before := r.effects
	p.Publish("t", []byte("c"))
	r.talk()
	if r.effects != before || len(p.notices) != 0 {
		t.Error("the node acts after its end")
	}
}

func TestMemoryAcknowledgesAtOnceAndForgets(t *testing.T) {
	r := newRig(t, Config{Durability: Memory})
	p := r.dial()
	p.publish("t", "a", "b")
	if f := r.disk[1]; len(f.unsynced) != 0 || len(bytes.Trim(f.cached[journal.FileHeaderSize:], "\x00")) != 0 {
		t.Errorf("something was written")
	}
	r.restart()
	r.consumer("t", "ch", 10).want()
}

func TestMemoryWritesInLargePieces(t *testing.T) {
	r := newRig(t, Config{Durability: Memory, FileSize: 4 << 20, CacheBytes: 100 << 10})
	r.hasty = true // what is not written yet must not be read back
	c := r.consumer("t", "ch", 2000)
	p := r.dial()
	for range 100 {
		p.Publish("t", bytes.Repeat([]byte("x"), 100<<10))
	}
	total := 0
	for n := 1; n > 0; total += n {
		n = len(finishAll(c))
	}
	if acked := len(p.got()); acked != 100 || total != 100 {
		t.Errorf("of 100, %d are acknowledged and %d delivered", acked, total)
	}
	if r.logged("damaged") || r.logged("trying again") {
		t.Errorf("logs: %q", r.logs)
	}
	r.restart()
	if n := r.stats("t", "ch").MessageCount; n < 85 {
		t.Errorf("%d of 100 were kept, want all but at most the last MiB", n)
	}
}

func TestGracefulStop(t *testing.T) {
	for _, durability := range []Durability{Fsync, Memory} {
		t.Run(fmt.Sprint(durability), func(t *testing.T) {
			r := newRig(t, Config{Durability: durability})
			c := r.consumer("t", "ch", 2)
			p := r.dial()
			p.publish("t", "a", "b", "c")
			c.Finish(c.deliveries()[0].ID)
			p.DeferredPublish("t", 60_000, []byte("late"))
			p.Publish("t", []byte("last"))
			r.talk()
			r.talk()
			r.step(Event{Kind: EvStop})
			p.Publish("t", []byte("too late"))
			r.settle()
			p.want("OK", "OK", "E_PUB_FAILED the broker is stopping")
			if !r.stopped || !c.gone || !p.gone {
				t.Fatalf("stopped %v, connections closed %v %v", r.stopped, c.gone, p.gone)
			}
			if len(r.changes) > 0 {
				t.Errorf("stopped with disk effects outstanding: %+v", r.changes)
			}
			r.powerLoss(func(int) int { return 0 })
			r.start()
			c = r.consumer("t", "ch", 10)
			c.want("b/2", "c/2", "last/1")
			if s := r.stats("t", "ch"); s.Deferred != 1 {
				t.Errorf("%d deferred, want 1", s.Deferred)
			}
		})
	}
}

func TestStopBeforeReady(t *testing.T) {
	r := newRig(t, Config{})
	r.kill()
	if err := r.tryStart(); err != nil {
		t.Fatal(err)
	}
	r.step(Event{Kind: EvStop})
	r.settle()
	if !r.stopped {
		t.Error("the node does not stop")
	}
}

// The same events give the same effects, to the byte.
func TestSameInputSameBytes(t *testing.T) {
	run := func() (uint64, int) {
		r := newRig(t, Config{FileSize: 8 << 10, CacheBytes: 200})
		for i := range 30 {
			p := r.dial()
			for j := range 10 {
				p.Publish(fmt.Sprintf("t%d", j%3), []byte(fmt.Sprint(i, j)))
			}
			r.consumer("t0", "a", 3)
			c := r.consumer("t1", "b#ephemeral", 100)
			finishAll(c)
			c.hangUp()
			r.request(Request{Kind: ReqStats})
			r.pass(40 * millisecond)
			if i%7 == 6 {
				r.restart()
			}
		}
		return r.trace, r.effects
	}
	trace, effects := run()
	for range 3 {
		if again, n := run(); again != trace || n != effects {
			t.Fatalf("effects differ: hash %x of %d, then %x of %d", trace, effects, again, n)
		}
	}
}
