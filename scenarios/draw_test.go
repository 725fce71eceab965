package scenarios

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pestle/faults"
)

// TestPlanOfEveryDraw pins the draws that first-light does not have: see
// TestPlanOfSeed1.
func TestPlanOfEveryDraw(t *testing.T) {
	s, err := Parse("s.yaml", []byte(`name: every-draw
worlds: [sim]
target: {knobs: {file_size: 64KiB..1MiB, cache: 1..1000}}
network: {latency: 0ms..5ms, spread: 1us..999us, asymmetry: 0%..50%, slower_by: 0ms..5ms}
workload:
  producers: {count: 2, rate: 1/s..100/s, pending: 1..100}
  channels: [{name: all, consumers: 2, in_flight: 1..100, requeue: 0%..50%, requeue_delay: 0ms..1s}]
  msg_timeout: 1s..10s
phases: {warm_up: {acks: 1}, chaos: 40s, quiet: {every: 15s, for: 5s}}
faults:
  - {kind: partition, target: producer, shape: halves, times: 1..3, for: 1ms..1s, chance: 90%}
  - {kind: partition, target: broker, shape: ring, for: 1ms..1s}
  - {kind: clog, target: consumer, peer: broker, for: 1ms..1s, bytes_per_second: 1KiB..64KiB, delay: 1us..999us}
  - {kind: loss, target: consumer, for: 1ms..1s, rate: 0.1%..100%}
  - {kind: clock-jump, target: broker, for: 1ms..1s, offset: -1m..1m}
  - {kind: clock-drift, target: broker, for: 1ms..1s, drift: -500ppm..500ppm}
  - {kind: kill, target: producer, for: 1ms..1s, after: {point: ack, count: 1..100, delay: 0ms..1s}}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "79a11a6ce2177bf18b27878bdb8cf8cce3a685d2a52050cc45d03cbe0143c502"
	p := expand(t, s, 1)
	if got := p.Hash(); got != want {
		t.Errorf("hash of every-draw, seed 1\n got %s\nwant %s\n%s", got, want, p.Timetable())
	}
}

// TestSwarmHasTheWholeAtlas: every kind that one broker must survive, and every
// shape of a partition, is in some seed's plan, and no other kind is.
func TestSwarmHasTheWholeAtlas(t *testing.T) {
	s := load(t, "swarm.yaml")
	if len(s.properties) != len(propertySlugs())-1 || slices.Contains(s.properties, "invariants") || len(s.claims) > 0 {
		t.Errorf("requires %v and claims %v; all but invariants, which a cluster has, and none are wanted", s.properties, s.claims)
	}
	kinds, shapes := map[faults.Kind]int{}, map[faults.Shape]int{}
	for seed := uint64(1); seed <= 1000; seed++ {
		for _, f := range expand(t, s, seed).Faults {
			kinds[f.Kind]++
			shapes[f.Shape]++
		}
	}
	for _, spec := range faults.Kinds() {
		if had := kinds[spec.Kind] >= 50; had == (spec.Loses() || spec.Cluster) {
			t.Errorf("%s comes %d times in 1000 seeds", spec.Kind, kinds[spec.Kind])
		}
	}
	for _, form := range faults.Shapes() {
		if !form.Brokers && shapes[form.Shape] < 50 {
			t.Errorf("%s comes %d times in 1000 seeds", form.Shape, shapes[form.Shape])
		}
	}
}

// TestChances: a line is in as many plans as its chance says, one that gives
// way in few less, and each on its own.
func TestChances(t *testing.T) {
	s, err := Parse("s.yaml", []byte(smallest+`faults:
  - {name: a, kind: kill, target: broker, for: 1s, chance: 40%}
  - {kind: pause, target: producer, for: 1s, chance: 50%, after: {fault: a}}
  - {kind: stop, target: producer, for: 1s, after: {fault: a}}
  - {kind: stop, target: consumer, for: 1s, chance: 0%}
  - {kind: kill, target: consumer, for: 1s}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for seed := uint64(1); seed <= 1000; seed++ {
		p := expand(t, s, seed)
		for _, f := range p.Faults {
			name := string(f.Kind) + " " + f.Target
			count[name]++
			if sure := name == "kill consumer-all-1"; f.Maybe == sure {
				t.Errorf("seed %d: %s: maybe %v", seed, name, f.Maybe)
			}
			if after := f.Anchor.After; after != nil && p.Faults[after.Fault-1].Kind != faults.Kill {
				t.Errorf("seed %d: fault %d waits for fault %d", seed, f.Ref, after.Fault)
			}
		}
	}
	for _, c := range []struct {
		name   string
		lo, hi int
	}{
		{"kill broker-1", 350, 450},
		{"pause producer-1", 160, 240}, // its own chance, and that of its cause
		{"stop producer-1", 350, 450},
		{"stop consumer-all-1", 0, 0},
		{"kill consumer-all-1", 1000, 1000},
	} {
		if n := count[c.name]; n < c.lo || n > c.hi {
			t.Errorf("%s is in %d plans of 1000, want %d..%d", c.name, n, c.lo, c.hi)
		}
	}
}

// TestChanceGivesWay: where faults do not all fit, those of lines with a chance
// are left out, and the others have their places.
func TestChanceGivesWay(t *testing.T) {
	s, err := Parse("s.yaml", []byte(smallest+`faults:
  - {name: long, kind: pause, target: broker, times: 4, for: 5s, chance: 99.9%}
  - {kind: kill, target: producer, times: 4, for: 1s, after: {fault: long}}
  - {kind: kill, target: broker, times: 8, for: 1s}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 200; seed++ {
		p := expand(t, s, seed)
		count := map[string]int{}
		for _, f := range p.Faults {
			count[string(f.Kind)+" "+f.Target]++
		}
		if count["kill broker-1"] != 8 || count["pause broker-1"] > 2 || count["kill producer-1"] != count["pause broker-1"] {
			t.Errorf("seed %d: %v", seed, count)
		}
		if err := p.Validate(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestALineOfSwarmLeavesTheOthersAlone: whether a line is there, and what it
// draws, changes nothing about faults on other targets.
func TestALineOfSwarmLeavesTheOthersAlone(t *testing.T) {
	source, err := os.ReadFile("swarm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const line = "\nfaults:\n  - {kind: partition, target: consumer-shared-2, shape: halves, for: 100ms..300ms, chance: 90%}\n"
	base := load(t, "swarm.yaml")
	more, err := Parse("s.yaml", []byte(strings.Replace(string(source), "\nfaults:\n", line, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 100; seed++ {
		before, after := expand(t, base, seed), expand(t, more, seed)
		have := describeFaults(after)
		for i, f := range describeFaults(before) {
			if target := before.Faults[i].Target; target != "consumer-shared-2" && !slices.Contains(have, f) {
				t.Errorf("seed %d: %s is gone", seed, f)
			}
		}
		if before.Target.Knobs.Cache != after.Target.Knobs.Cache || *before.Network != *after.Network {
			t.Errorf("seed %d: other knobs or another network", seed)
		}
	}
}

// TestRangesOfTheWorkload: each process draws its own, and all values come.
func TestRangesOfTheWorkload(t *testing.T) {
	s, err := Parse("s.yaml", []byte(`name: ranges
worlds: [sim]
target: {knobs: {file_size: 64KiB..66KiB, cache: 1..3}}
network: {latency: 0us..2us, spread: 3us, asymmetry: 0%..0.2%, slower_by: 1ms..2ms}
workload:
  producers: {count: 2, rate: 1/s..2/s, pending: 1..2}
  channels: [{name: all, in_flight: 1..2, requeue: 0%..0.1%, requeue_delay: 0ms..1ms}]
  msg_timeout: 1s..1001ms
phases: {warm_up: {acks: 1}, chaos: 40s, quiet: {every: 15s, for: 5s}}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	differ := false
	for seed := uint64(1); seed <= 100; seed++ {
		p := expand(t, s, seed)
		if err := p.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		a, b, c := p.Workload.Producers[0], p.Workload.Producers[1], p.Workload.Consumers[0]
		differ = differ || a.Interval != b.Interval
		for _, value := range []string{
			fmt.Sprint("file ", p.Target.Knobs.FileSize>>10), fmt.Sprint("cache ", p.Target.Knobs.Cache),
			fmt.Sprint("latency ", p.Network.Latency), fmt.Sprint("spread ", p.Network.Spread),
			fmt.Sprint("asymmetry ", p.Network.Asymmetry),
			fmt.Sprint("interval ", a.Interval), fmt.Sprint("pending ", a.Pending),
			fmt.Sprint("in flight ", c.InFlight), fmt.Sprint("requeue ", c.RequeuePermille),
			fmt.Sprint("delay ", c.RequeueDelay), fmt.Sprint("lease ", p.Workload.MsgTimeout),
		} {
			seen[value] = true
		}
	}
	if !differ {
		t.Error("both producers always have the same rate")
	}
	var got []string
	for value := range seen {
		got = append(got, value)
	}
	slices.Sort(got)
	want := []string{
		"asymmetry 0", "asymmetry 1", "asymmetry 2", "cache 1", "cache 2", "cache 3", "delay 0", "delay 1000000",
		"file 64", "file 65", "file 66", "in flight 1", "in flight 2", "interval 1000000000", "interval 500000000",
		"latency 0", "latency 1000", "latency 2000", "lease 1000000000", "lease 1001000000", "pending 1", "pending 2",
		"requeue 0", "requeue 1", "spread 3000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("values\n got %q\nwant %q", got, want)
	}
}

// TestSides: every shape's sides are drawn from all processes, keep the rules
// of faults.Validate, and are not always the same.
func TestSides(t *testing.T) {
	for _, form := range faults.Shapes() {
		if form.Brokers {
			continue
		}
		s, err := Parse("s.yaml", []byte("worlds: [sim]\n"+smallest+"faults: [{kind: partition, target: producer, shape: "+string(form.Shape)+", for: 1s}]\n"), []string{"workload.producers.count=3"})
		if err != nil {
			t.Fatal(err)
		}
		sides := map[string]bool{}
		for seed := uint64(1); seed <= 200; seed++ {
			p := expand(t, s, seed)
			if err := p.Validate(); err != nil {
				t.Fatalf("%s, seed %d: %v", form.Shape, seed, err)
			}
			f := p.Faults[0]
			sides[fmt.Sprint(f.Target, f.Side)] = true
			severed := false
			for _, a := range p.Processes() {
				for _, b := range p.Processes() {
					severed = severed || f.Severs(a, b)
				}
			}
			if !severed {
				t.Errorf("%s, seed %d: nobody is apart: side %v", form.Shape, seed, f.Side)
			}
		}
		if least := 3; len(sides) < least || form.SideIs != "" && len(sides) < 20 {
			t.Errorf("%s: %d different splits", form.Shape, len(sides))
		}
	}
}

// TestPointsAreOfTheBroker: a fault on a client waits for its broker's points.
func TestPointsAreOfTheBroker(t *testing.T) {
	s, err := Parse("s.yaml", []byte("worlds: [sim]\n"+smallest+`faults:
  - {kind: kill, target: consumer, for: 1s, after: {point: redelivery, count: 2..3, delay: 5ms}}
  - {kind: kill, target: broker, for: 1s, after: {point: ack}}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 50; seed++ {
		p := expand(t, s, seed)
		a, b := p.Faults[0].Anchor.After, p.Faults[1].Anchor.After
		if a.Point != "redelivery" || a.Count < 2 || a.Count > 3 || a.Delay != 5*millisecond || a.Process != "broker-1" ||
			*b != (faults.Event{Point: "ack", Count: 1, Process: "broker-1"}) {
			t.Errorf("seed %d: wait for %+v and %+v", seed, a, b)
		}
	}
}

// TestMediaFaultsOfOneCopy: they are fine where a clean refusal is all that is
// required.
func TestMediaFaultsOfOneCopy(t *testing.T) {
	s, err := Parse("s.yaml", []byte("worlds: [sim]\n"+smallest+`faults:
  - {kind: bit-rot, target: broker, for: 1s, count: 1..3}
  - {kind: misdirected-write, target: broker, for: 1s, rate: 1%..5%}
  - {kind: lost-write, target: broker, for: 1s, rate: 0.1%}
properties: [no-data-corruption]
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 50; seed++ {
		p := expand(t, s, seed)
		if err := p.Validate(); err != nil || len(p.Faults) != 3 {
			t.Errorf("seed %d: %d faults, %v", seed, len(p.Faults), err)
		}
	}
}
