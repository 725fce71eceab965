package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pestle/faults"
)

// inCluster is the smallest scenario with so many nodes and these fault lines.
func inCluster(nodes string, lines ...string) string {
	source := "worlds: [sim]\ntarget: {nodes: " + nodes + "}\n" + smallest
	if len(lines) > 0 {
		source += "faults:\n"
	}
	for _, line := range lines {
		source += "  - {" + line + "}\n"
	}
	return source
}

func parseCluster(t *testing.T, nodes string, lines ...string) Scenario {
	t.Helper()
	s, err := Parse("s.yaml", []byte(inCluster(nodes, lines...)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOneNodeIsNoCluster: the number that a scenario may leave out changes no
// plan when it is written down.
func TestOneNodeIsNoCluster(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		with := expand(t, load(t, "swarm.yaml", "target.nodes=1"), seed)
		if without := expand(t, load(t, "swarm.yaml"), seed); with.Hash() != without.Hash() {
			t.Fatalf("seed %d: with target.nodes: 1 the plan is %s, without it %s", seed, with.ShortHash(), without.ShortHash())
		}
	}
}

func TestNodesOfAList(t *testing.T) {
	s := parseCluster(t, "[1, 5, 3]", "kind: kill, target: broker, for: 1s")
	count := map[int]int{}
	for seed := uint64(1); seed <= 300; seed++ {
		p := expand(t, s, seed)
		count[p.Target.Nodes]++
		if want := []string{"broker-1", "broker-2", "broker-3", "broker-4", "broker-5"}[:max(1, p.Target.Nodes)]; !slices.Equal(p.Processes()[:len(want)], want) {
			t.Fatalf("seed %d: the processes of %d nodes are %v", seed, p.Target.Nodes, p.Processes())
		}
	}
	for _, n := range []int{0, 3, 5} {
		if count[n] < 70 || count[n] > 130 {
			t.Errorf("%d of 300 seeds have %d nodes", count[n], n)
		}
	}
}

// TestLogOfEntries: how much is kept for brokers that lag is drawn, and left to
// the broker where the scenario does not say.
func TestLogOfEntries(t *testing.T) {
	s := load(t, "swarm.yaml", "target.knobs.log=4KiB..8KiB")
	drawn := map[int64]bool{}
	for seed := uint64(1); seed <= 50; seed++ {
		p := expand(t, s, seed)
		drawn[p.Target.Knobs.Log] = true
		if err := p.Validate(); err != nil || p.Target.Knobs.Log < 4<<10 || p.Target.Knobs.Log > 8<<10 {
			t.Fatalf("seed %d: a log of %d bytes, error %v", seed, p.Target.Knobs.Log, err)
		}
	}
	if len(drawn) < 3 {
		t.Errorf("only %v", drawn)
	}
	if log := expand(t, load(t, "swarm.yaml"), 1).Target.Knobs.Log; log != 0 {
		t.Errorf("without the key the log has %d bytes", log)
	}
}

// TestSelectorsStayInThePlan: who a word stands for is not known before the
// fault begins; which of the followers it is, is drawn.
func TestSelectorsStayInThePlan(t *testing.T) {
	s := parseCluster(t, "3",
		"kind: kill, target: leader, for: 100ms",
		"kind: pause, target: follower, for: 100ms",
		"kind: stop, target: metadata-follower-2, for: 100ms",
		"kind: cut, target: leader, peer: follower, for: 100ms",
		"kind: latency, target: consumer, peer: leader, for: 100ms, delay: 1ms",
		"kind: reset, target: leader, after: {point: ack}",
		"kind: half-open, target: broker, for: 100ms, after: {point: ack, count: 2}",
		"kind: silence, target: broker-1, for: 100ms, after: {point: ack, process: broker-3}",
		"kind: silence, target: producer, for: 100ms, after: {point: ack}",
	)
	targets := map[string]int{}
	for seed := uint64(1); seed <= 100; seed++ {
		for _, f := range expand(t, s, seed).Faults {
			text := fmt.Sprint(f.Kind, " ", f.Target, " ", f.Peer)
			if f.Anchor.After != nil {
				text += fmt.Sprint(f.Anchor.After.Count, f.Anchor.After.Process)
			}
			targets[text]++
		}
	}
	for text, n := range targets {
		want := 100
		for part, of := range map[string]int{"follower-": 50, "half-open": 33} {
			if strings.Contains(text, part) && !strings.Contains(text, "metadata") {
				want = of
			}
		}
		if n < want*7/10 || n > want*13/10 {
			t.Errorf("%s: %d times in 100 seeds, want about %d", text, n, want)
		}
	}
	for _, text := range []string{
		"kill leader ", "pause follower-1 ", "pause follower-2 ", "stop metadata-follower-2 ", "cut leader follower-1", "cut leader follower-2",
		"latency consumer-all-1 leader", "reset leader 1any", "half-open broker-3 2broker-3", "silence broker-1 1broker-3", "silence producer-1 1any",
	} {
		if targets[text] == 0 {
			t.Errorf("no %q in %v", text, targets)
		}
	}
}

// TestSidesOfACluster: where the target is a broker, the brokers alone are
// split, by the words that the target is one of, and in the sizes that the shape
// says; otherwise everybody is.
func TestSidesOfACluster(t *testing.T) {
	for _, form := range faults.Shapes() {
		for target, family := range map[string]string{"leader": "leader follower", "follower": "leader follower", "metadata-leader": "metadata-", "broker": "broker-", "broker-2": "broker-"} {
			s := parseCluster(t, "5", "kind: partition, target: "+target+", shape: "+string(form.Shape)+", for: 1s")
			sizes := map[int]bool{}
			for seed := uint64(1); seed <= 100; seed++ {
				p := expand(t, s, seed)
				f := p.Faults[0]
				if err := p.Validate(); err != nil || f.Among != faults.Broker {
					t.Fatalf("%s of %s, seed %d: among %q, error %v", form.Shape, target, seed, f.Among, err)
				}
				sizes[len(f.Side)] = true
				for _, word := range f.Side {
					if !slices.ContainsFunc(strings.Fields(family), func(prefix string) bool { return strings.HasPrefix(word, prefix) }) {
						t.Fatalf("%s of %s, seed %d: side %q", form.Shape, target, seed, f.Side)
					}
				}
			}
			want := map[faults.Shape][]int{
				faults.Halves: {1, 2, 3, 4}, faults.Isolate: {0}, faults.Ring: {5}, faults.Bridge: {1, 2, 3}, faults.OneWay: {0},
				faults.Majority: {3}, faults.Minority: {2},
			}[form.Shape]
			if len(sizes) != len(want) || slices.ContainsFunc(want, func(n int) bool { return !sizes[n] }) {
				t.Errorf("%s of %s: sides of %v, want %v", form.Shape, target, sizes, want)
			}
		}
	}
	p := expand(t, parseCluster(t, "3", "kind: partition, target: producer, shape: ring, for: 1s"), 1)
	if f := p.Faults[0]; f.Among != "" || len(f.Side) != len(p.Processes()) {
		t.Errorf("a ring of a producer is among %q: %q", f.Among, f.Side)
	}
}

// TestSeveralAtOnce: each broker that is hit is down for its own time, all from
// one moment; what waits for the line waits for the first of them.
func TestSeveralAtOnce(t *testing.T) {
	s := parseCluster(t, "[3, 5]",
		"name: all, kind: power-loss, target: brokers, for: 100ms..500ms",
		"kind: kill, target: majority, for: 100ms..500ms, after: {point: ack, count: 1..9, process: any}",
		"kind: kill, target: producer, for: 100ms, after: {fault: all}",
	)
	missing := map[string]bool{}
	for seed := uint64(1); seed <= 100; seed++ {
		p := expand(t, s, seed)
		if err := p.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		n := p.Target.Nodes
		all, effect, most := p.Faults[:n], p.Faults[n], p.Faults[n+1:]
		lengths := map[int64]bool{}
		for i, f := range all {
			lengths[f.For] = true
			if f.Target != p.Processes()[i] || f.Anchor.At != all[0].Anchor.At || f.Away != n || f.Kind != faults.PowerLoss {
				t.Errorf("seed %d: %+v", seed, f)
			}
		}
		if len(lengths) == 1 {
			t.Errorf("seed %d: all are down for one time", seed)
		}
		if effect.Kind != faults.Kill || effect.Anchor.After.Fault != 1 {
			t.Errorf("seed %d: behind them comes %+v", seed, effect)
		}
		if len(most) != n/2+1 {
			t.Errorf("seed %d: %d of %d are a majority", seed, len(most), n)
		}
		for _, f := range most {
			if f.Away != n/2+1 || *f.Anchor.After != *most[0].Anchor.After {
				t.Errorf("seed %d: %+v", seed, f)
			}
		}
		for _, name := range p.Processes()[:n] {
			if !slices.ContainsFunc(most, func(f faults.Fault) bool { return f.Target == name }) {
				missing[name] = true
			}
		}
	}
	if len(missing) != 5 {
		t.Errorf("in no majority are, once, only %v", missing)
	}
}

// TestAMinorityLosesWhatItHeld: over a run all lines that draw a broker draw
// from the same few, and those that lines name are among them.
func TestAMinorityLosesWhatItHeld(t *testing.T) {
	for _, c := range []struct {
		nodes string
		lines []string
		most  int
		named string
	}{
		{"3", []string{"kind: wipe, target: broker, for: 100ms, times: 2", "kind: bit-rot, target: broker, for: 100ms, count: 1", "kind: replace, target: broker, for: 100ms"}, 1, ""},
		{"5", []string{"kind: wipe, target: broker, for: 100ms, times: 4", "kind: bit-rot, target: broker-3, for: 100ms, count: 1"}, 2, "broker-3"},
		{"5", []string{"kind: wipe, target: broker, for: 100ms, times: 4", "kind: bit-rot, target: leader, for: 100ms, count: 1"}, 2, ""},
	} {
		s, who := parseCluster(t, c.nodes, c.lines...), map[string]bool{}
		for seed := uint64(1); seed <= 200; seed++ {
			p := expand(t, s, seed)
			if lost := faults.Lost(p.Faults); lost > c.most {
				t.Fatalf("%v, seed %d: %d lose what they held", c.lines, seed, lost)
			}
			for _, f := range p.Faults {
				who[f.Target] = true
			}
		}
		if brokers := len(expand(t, s, 1).Target.brokers()); len(who) < brokers || c.named != "" && !who[c.named] {
			t.Errorf("%v: only %v ever do", c.lines, who)
		}
	}
}

// TestRotIsMetByRecovery: a fault that ends a broker and waits for rot hits the
// rotten one, and while the bits are turned.
func TestRotIsMetByRecovery(t *testing.T) {
	s := parseCluster(t, "3", "name: rot, kind: bit-rot, target: broker, for: 2s..3s, count: 1", "kind: kill, target: broker, for: 100ms, after: {fault: rot, delay: 1s}")
	for seed := uint64(1); seed <= 50; seed++ {
		p := expand(t, s, seed)
		if rot, kill := p.Faults[0], p.Faults[1]; rot.Target != kill.Target || kill.Anchor.After.Fault != rot.Ref {
			t.Errorf("seed %d: %s rots and %s is killed", seed, rot.Target, kill.Target)
		}
	}
}

// TestRotLeavesRoom: the other faults that end a broker find their times while
// its disk is rotten; there would not be room for all of them beside it.
func TestRotLeavesRoom(t *testing.T) {
	source := "worlds: [sim]\n" + smallest + "faults: [{kind: bit-rot, target: broker, for: 13s, count: 1}, {kind: kill, target: broker, times: 16, for: 100ms}]\nproperties: [no-data-corruption]\n"
	s, err := Parse("s.yaml", []byte(source), nil)
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 20; seed++ {
		if p := expand(t, s, seed); len(p.Faults) != 17 {
			t.Errorf("seed %d: %d faults", seed, len(p.Faults))
		}
	}
}

// TestTimetableOfACluster: what a plan of a cluster looks like.
func TestTimetableOfACluster(t *testing.T) {
	p := expand(t, parseCluster(t, "3", "kind: kill, target: follower-2, for: 100ms, after: {point: ack, process: any}", "kind: partition, target: broker-1, shape: minority, for: 1s"), 1)
	p.Target.Knobs = &Knobs{FileSize: 1 << 16, Cache: 1, Log: 4096}
	got := p.Timetable()
	for _, want := range []string{
		"target    pestle fsync, 3 brokers, journal files of 65536 bytes, cache of 1 bytes, 4096 bytes of entries for who lags\n",
		"  1  partition  broker-1                      1s  minority of the brokers, side broker-1\n",
		"  2  kill       follower-2                 100ms  after any broker passed ack 1 times\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestEverythingHasTheWholeAtlas: every kind, and every shape but the ring,
// which three brokers are too few for, is in some seed's plan; a producer's ring
// is there.
func TestEverythingHasTheWholeAtlas(t *testing.T) {
	s := load(t, "everything.yaml")
	if len(s.properties) != len(propertySlugs()) || len(s.claims) > 0 {
		t.Errorf("requires %v and claims %v", s.properties, s.claims)
	}
	kinds, shapes := map[faults.Kind]int{}, map[faults.Shape]int{}
	for seed := uint64(1); seed <= 500; seed++ {
		for _, f := range expand(t, s, seed).Faults {
			kinds[f.Kind]++
			shapes[f.Shape]++
		}
	}
	for _, spec := range faults.Kinds() {
		if kinds[spec.Kind] < 20 {
			t.Errorf("%s comes %d times in 500 seeds", spec.Kind, kinds[spec.Kind])
		}
	}
	for _, form := range faults.Shapes() {
		if shapes[form.Shape] < 20 {
			t.Errorf("%s comes %d times in 500 seeds", form.Shape, shapes[form.Shape])
		}
	}
}
