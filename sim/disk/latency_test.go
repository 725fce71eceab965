package disk

import (
	"testing"

	"pestle/sim/random"
)

// TestLatency: at least Min, Mean more on average, with the tail of an
// exponential, and a slow disk multiplies it.
func TestLatency(t *testing.T) {
	const draws = 20000
	for seed := range uint64(5) {
		d := New(random.New(seed, "disk"), Options{Read: Span{Min: 1000, Mean: 100_000}})
		play(t, d, "create 1 8")
		measure := func() (sum, least, over, far int64) {
			least = 1 << 62
			for range draws {
				took := d.Read(1, 0, 1).Latency
				sum += took
				least = min(least, took)
				if took-1000 > 100_000 {
					over++
				}
				if took-1000 > 500_000 {
					far++
				}
			}
			return sum, least, over, far
		}
		sum, least, over, far := measure()
		if mean := sum / draws; mean < 97_000 || mean > 105_000 {
			t.Errorf("seed %d: %d ns on average", seed, mean)
		}
		if least < 1000 || least > 2000 {
			t.Errorf("seed %d: %d ns at least", seed, least)
		}
		if over < draws*33/100 || over > draws*41/100 { // 1/e is 36.8 %
			t.Errorf("seed %d: %d of %d longer than the mean", seed, over, draws)
		}
		if far < draws*4/1000 || far > draws*10/1000 { // e^-5 is 0.67 %
			t.Errorf("seed %d: %d of %d longer than five times the mean", seed, far, draws)
		}
		d.Inject(Fault{Kind: Slow, Factor: 50})
		slow, least, _, _ := measure()
		if slow < 45*sum || slow > 55*sum || least < 50_000 {
			t.Errorf("seed %d: %d ns in all and %d at least, and %d when slow", seed, sum, least, slow)
		}
		if n := d.Bites(Slow); n != draws {
			t.Errorf("seed %d: %d operations were slow", seed, n)
		}
		d.Heal(Slow)
		if again, _, _, _ := measure(); again > sum*11/10 {
			t.Errorf("seed %d: still slow", seed)
		}
	}
}

// TestLatencyOfEach: each operation has its own.
func TestLatencyOfEach(t *testing.T) {
	d := New(random.New(1), Options{
		Create: Span{Min: 1}, Write: Span{Min: 2}, Sync: Span{Min: 3}, Remove: Span{Min: 4}, Read: Span{Min: 5},
	})
	change := func(out Outcome) int64 { d.Complete(); return out.Latency }
	got := [...]int64{
		change(d.Create(1, 8)), change(d.Write(1, 0, []byte("x"))), change(d.Sync(1)), d.Read(1, 0, 1).Latency, change(d.Remove(1)),
		change(d.Write(1, 0, nil)), // a mistake takes its time too
	}
	if want := [...]int64{1, 2, 3, 5, 4, 2}; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	d.Inject(Fault{Kind: Lying})
	change(d.Create(1, 8))
	change(d.Write(1, 0, []byte("x")))
	if took := change(d.Sync(1)); took != 0 {
		t.Errorf("a lie takes %d ns", took)
	}
}

// TestFaultsLeaveLatenciesAlone: a fault that bites does not change how long
// anything behind it takes.
func TestFaultsLeaveLatenciesAlone(t *testing.T) {
	run := func(f Fault) (took [50]int64) {
		d := New(random.New(7), Typical())
		d.Create(1, 8)
		d.Complete()
		d.Inject(f)
		for i := range took {
			took[i] = d.Read(1, 0, 1).Latency
		}
		return took
	}
	if run(Fault{Kind: ReadError, Permille: 500}) != run(Fault{Kind: Full}) {
		t.Error("latencies differ")
	}
}

// TestLongestLatency: the largest number of everything does not overflow.
func TestLongestLatency(t *testing.T) {
	d := New(random.New(1), Options{Read: Span{Min: maxSpan, Mean: maxSpan}})
	play(t, d, "create 1 8\ninject disk-slow factor=10000")
	for range 100_000 {
		if took := d.Read(1, 0, 1).Latency; took < maxSpan*10_000 {
			t.Fatalf("%d ns", took)
		}
	}
	for _, o := range []Options{{Read: Span{Min: -1}}, {Sync: Span{Mean: maxSpan + 1}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v is taken", o)
				}
			}()
			New(random.New(1), o)
		}()
	}
}
