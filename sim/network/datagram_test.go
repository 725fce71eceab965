package network

import (
	"fmt"
	"math/bits"
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
	under := func(c Condition) func(*Network) {
		return func(n *Network) { n.Impose(0, 1, client, broker, c) }
	}
	if got := run(DatagramProfile{}, under(Condition{Refused: true})); len(got) != 0 {
		t.Errorf("%d packets came over a link that refuses", len(got))
	}
	got = run(DatagramProfile{}, under(Condition{DuplicatePermille: 300}))
	if distinct, _ := count(got); distinct != 1000 || len(got) < 1200 || len(got) > 1400 {
		t.Errorf("under 30 %% duplicates %d arrive, %d distinct", len(got), distinct)
	}
	got = run(DatagramProfile{}, under(Condition{ReorderPermille: 300, ReorderBy: 10 * millisecond}))
	if distinct, early := count(got); distinct != 1000 || early < 200 {
		t.Errorf("of 1000 packets of which 30 %% come later %d arrive and %d are overtaken", distinct, early)
	}
	got = run(DatagramProfile{}, under(Condition{HeldUntil: second / 2}))
	if distinct, _ := count(got); distinct != 1000 || len(got) != 1000 {
		t.Errorf("of 1000 packets that were held %d arrive, %d distinct", len(got), distinct)
	}
	if got := run(DatagramProfile{}, under(Condition{HeldUntil: second})); len(got) != 0 {
		t.Errorf("%d packets came while they should have been held", len(got))
	}
	if got := run(DatagramProfile{}, func(n *Network) { n.Vanish(0, broker) }); len(got) != 0 {
		t.Errorf("%d packets came to a machine without power", len(got))
	}
}

// A bit turns in a copy: whoever sent the bytes, or gets them a second time, has
// them as they were.
func TestCorruptedDatagrams(t *testing.T) {
	q := schedule.New(1)
	n := New(q, 0, 1, Profile{MinLatency: millisecond})
	d := NewDatagrams(n, 1, DatagramProfile{})
	n.Impose(0, 1, client, broker, Condition{CorruptPermille: 300, DuplicatePermille: 500})
	sent := []byte("what one broker tells another")
	was := string(sent)
	for i := range 1000 {
		d.Send(int64(i), Packet{From: client, To: broker, Data: sent})
	}
	d.Send(1000, Packet{From: client, To: broker}) // has no bit that could turn
	arrived, corrupted := 0, 0
	for ev, ok := q.Take(second); ok; ev, ok = q.Take(second) {
		p, _ := d.Step(ev)
		turned := 0
		for i := range p.Data {
			turned += bits.OnesCount8(p.Data[i] ^ was[i])
		}
		if turned > 1 {
			t.Fatalf("%d bits turned in %q", turned, p.Data)
		}
		arrived++
		corrupted += turned
	}
	if corrupted < arrived*26/100 || corrupted > arrived*34/100 {
		t.Errorf("%d of %d arrive corrupted, asked for 30 %%", corrupted, arrived)
	}
	if string(sent) != was {
		t.Errorf("the sender's bytes are %q now", sent)
	}
}

// A packet waits for a narrow link for a while, and is dropped when it would be
// for long: what was sent before comes, and the link is free again soon.
func TestDatagramsOnANarrowLink(t *testing.T) {
	q := schedule.New(1)
	n := New(q, 0, 1, Profile{MinLatency: millisecond})
	d := NewDatagrams(n, 1, DatagramProfile{})
	n.Impose(0, 1, client, broker, Condition{BytesPerSecond: 10_000})
	for range 100 { // a tenth of a second each
		d.Send(0, Packet{From: client, To: broker, Data: make([]byte, 1000)})
	}
	n.Lift(1, 1, client, broker)
	d.Send(1, Packet{From: client, To: broker, Data: []byte("last")})
	count, last := 0, int64(0)
	for ev, ok := q.Take(100 * second); ok; ev, ok = q.Take(100 * second) {
		if _, ok := d.Step(ev); ok {
			count, last = count+1, ev.At
		}
	}
	if count != 11 || last > maxQueue+10*millisecond {
		t.Errorf("%d packets came, the last after %d ms", count, last/millisecond)
	}
}
