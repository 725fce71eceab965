package network

import (
	"fmt"
	"strconv"
	"testing"

	"pestle/sim/schedule"
)

func TestExponential(t *testing.T) {
	s := newLink(1, 1, 2, &Profile{}).stream
	const draws, mean = 100_000, 10 * millisecond
	sum, beyond := int64(0), 0
	for range draws {
		d := exponential(s, mean)
		if d < 0 || d > 7*mean {
			t.Fatalf("drew %d of mean %d", d, mean)
		}
		sum += d
		if d > 3*mean {
			beyond++
		}
	}
	if got := sum / draws; got < mean*98/100 || got > mean*102/100 {
		t.Errorf("mean is %d, want %d", got, mean)
	}
	if beyond < draws*4/100 || beyond > draws*6/100 {
		t.Errorf("%d of %d beyond three times the mean; e^-3 is 4.98 %%", beyond, draws)
	}
}

func TestDatagrams(t *testing.T) {
	run := func(p DatagramProfile, prepare func(n *Network)) (got []string) {
		q := schedule.New(1)
		n := New(q, 0, 1, Profile{MinLatency: millisecond})
		d := NewDatagrams(n, 1, p)
		prepare(n)
		for i := range 1000 {
			d.Send(int64(i)*microsecond, Packet{From: client, To: broker, Data: fmt.Append(nil, i)})
		}
		for ev, ok := q.Take(second); ok; ev, ok = q.Take(second) {
			if p, ok := d.Step(ev); ok {
				got = append(got, string(p.Data))
			}
		}
		return got
	}
	nothing := func(*Network) {}
	count := func(got []string) (distinct, early int) {
		seen, last := map[string]bool{}, -1
		for _, text := range got {
			i, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			if i < last {
				early++
			}
			last = max(last, i)
			seen[text] = true
		}
		return len(seen), early
	}
	if got := run(DatagramProfile{}, nothing); len(got) != 1000 || got[999] != "999" {
		t.Errorf("a good network brings %d of 1000", len(got))
	}
	if got := run(DatagramProfile{LossPermille: 300}, nothing); len(got) < 600 || len(got) > 800 {
		t.Errorf("with 30 %% loss %d of 1000 arrive", len(got))
	}
	got := run(DatagramProfile{DuplicatePermille: 300}, nothing)
	if distinct, _ := count(got); distinct != 1000 || len(got) < 1200 || len(got) > 1400 {
		t.Errorf("with 30 %% duplicates %d arrive, %d distinct", len(got), distinct)
	}
	got = run(DatagramProfile{ReorderPermille: 300, MaxReorder: 10 * millisecond}, nothing)
	if distinct, early := count(got); distinct != 1000 || early < 200 {
		t.Errorf("of 1000 reordered packets %d arrive and %d are overtaken", distinct, early)
	}
	cut := func(n *Network) { n.Impose(0, 1, client, broker, Condition{Cut: true}) }
	if got := run(DatagramProfile{}, cut); len(got) != 0 {
		t.Errorf("%d packets came over a cut link", len(got))
	}
	if got := run(DatagramProfile{}, func(n *Network) { n.Vanish(0, broker) }); len(got) != 0 {
		t.Errorf("%d packets came to a machine without power", len(got))
	}
}
