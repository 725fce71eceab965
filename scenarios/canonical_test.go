package scenarios

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/faults"
)

func firstLight(t testing.TB) Plan { return expand(t, load(t, "first-light.yaml"), 1) }

func TestCanonicalBytesAreWhatSha256sumSees(t *testing.T) {
	p := firstLight(t)
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := WritePlan(path, p); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(data, []byte("}\n")) || bytes.Count(data, []byte("\n")) != 1 {
		t.Errorf("not one line: %q", data)
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != p.Hash() || got[:16] != p.ShortHash() {
		t.Errorf("file %s, plan %s, short %s", got, p.Hash(), p.ShortHash())
	}
	back, err := ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back); diff != "" {
		t.Errorf("read back:\n%s", diff)
	}
}

// TestOrderAndSpaceDoNotName: a plan somebody formatted is the same plan.
func TestOrderAndSpaceDoNotName(t *testing.T) {
	p := firstLight(t)
	spaced := bytes.ReplaceAll(p.Canonical(), []byte(`,"`), []byte(",\n  \""))
	moved := bytes.Replace(spaced, []byte(`"schema":1,`), nil, 1)
	moved = bytes.Replace(moved, []byte(`{"claims"`), []byte(`{"schema":1,"claims"`), 1)
	for _, data := range [][]byte{spaced, moved} {
		back, err := ParsePlan(data)
		if err != nil || back.Hash() != p.Hash() {
			t.Errorf("hash %s, error %v; want %s", back.Hash(), err, p.Hash())
		}
	}
}

// TestNothingIsEscapedThatNeedNotBe: the bytes are JSON's shortest, not those
// for a web page.
func TestNothingIsEscapedThatNeedNotBe(t *testing.T) {
	p := firstLight(t)
	p.Target.Flags = []string{"--a=<&>é\"\\"}
	if got, want := string(p.Canonical()), `"flags":["--a=<&>é\"\\"]`; !strings.Contains(got, want) {
		t.Errorf("%s is missing in\n%s", want, got)
	}
}

// TestSeedsAreNotRounded: 64 bits do not fit into a float.
func TestSeedsAreNotRounded(t *testing.T) {
	p := firstLight(t)
	p.Seed = 1<<64 - 1
	back, err := ParsePlan(p.Canonical())
	if err != nil || back.Seed != p.Seed {
		t.Errorf("seed %d became %d, error %v", p.Seed, back.Seed, err)
	}
}

func TestWrongPlans(t *testing.T) {
	good := string(firstLight(t).Canonical())
	for _, c := range []struct{ name, old, new, want string }{
		{"not JSON", good, "plan", "plan: invalid character 'p' looking for beginning of value"},
		{"cut off", good, good[:100], "plan: unexpected end of JSON input"},
		{"other schema", `"schema":1`, `"schema":2`, "plan has schema 2, this program reads schema 1: make the plan again with pestle plan"},
		{"no schema", `"schema":1,`, ``, "plan has schema 0, this program reads schema 1: make the plan again with pestle plan"},
		{"unknown key", `"seed":1,`, `"seed":1,"sed":2,`, `plan: json: unknown field "sed"`},
		{"fraction", `"chaos":40000000000`, `"chaos":40.5`, "plan: json: cannot unmarshal number 40.5 into Go struct field Phases.phases.chaos of type int64"},
		{"two plans", "\n", "\n{}", "plan: invalid character '{' after top-level value"},

		{"name", `"scenario":"first-light"`, `"scenario":"../x"`, `plan: scenario "../x" is no name of 1..64 of a-z, 0-9 and -`},
		{"target", `"kind":"pestle"`, `"kind":"kafka"`, `plan: target: kind "kafka" is neither pestle nor nsq`},
		{"durability", `"durability":"fsync"`, `"durability":"hope"`, `plan: target: durability "hope" is neither fsync nor memory`},
		{"flags", `"kind":"pestle"`, `"flags":["x"],"kind":"pestle"`, `plan: target: flag "x" does not start with - or has more than 256 bytes`},
		{"topic", `"topic":"orders"`, `"topic":""`, `plan: workload: topic "" is no NSQ name`},
		{"tries", `"tries":4`, `"tries":0`, "plan: workload: tries is 0, allowed is 1..100"},
		{"at most once", `"at_most_once":false`, `"at_most_once":true`, "plan: workload: tries is 4; at most once means 1"},
		{"lease", `"msg_timeout":5000000000`, `"msg_timeout":5`, "plan: workload: msg_timeout is 5, allowed is 1000000000..900000000000"},
		{"producer", `"name":"producer-2"`, `"name":"producer-1"`, `plan: workload: producer 2: name is "producer-1", not producer-2`},
		{"sizes", `"min_size":100`, `"min_size":1100`, "plan: workload: producer 1: max_size is 1099, allowed is 1100..900000"},
		{"interval", `"interval":12500000`, `"interval":0`, "plan: workload: producer 1: interval is 0, allowed is 100000..1000000000"},
		{"consumer", `"name":"consumer-shared-2"`, `"name":"consumer-shared-1"`, "plan: workload: consumer 3: a second consumer-shared-1"},
		{"consumer of another channel", `"name":"consumer-shared-2"`, `"name":"consumer-other-2"`, `plan: workload: consumer 3: name "consumer-other-2" is not consumer-<channel>-<n> of channel "shared"`},
		{"channels after chaos", `"consume_after_chaos":false`, `"consume_after_chaos":true`, "plan: workload: consumer 2: a second channel, shared; with consume_after_chaos there can be one"},
		{"ready count", `"in_flight":10`, `"in_flight":0`, "plan: workload: consumer 2: in_flight is 0, allowed is 1..2500"},
		{"warm-up", `"warm_up_acks":200`, `"warm_up_acks":-1`, "plan: phases: warm_up_acks is -1, allowed is 0..1000000"},
		{"drain", `"tries":4`, `"tries":100`, "plan: phases: drain_within is 15000000000, shorter than the tries of one message may take"},
		{"quiet window", `{"from":30000000000`, `{"from":10000000000`, "plan: quiet window 2 (10000000000..35000000000 ns) is not after the one before it and inside the chaos of 40000000000 ns"},
		{"fault ref", `"ref":2,`, `"ref":3,`, "plan: fault 2 has ref 3; refs count from 1 in order"},
		{"fault kind", `"kind":"stop"`, `"kind":"burn"`, `plan: fault 4: unknown kind "burn"`},
		{"fault target", `"target":"producer-1"`, `"target":"producer-9"`, "plan: fault 6: no process is named \"producer-9\"; there are broker-1, producer-1, producer-2, producer-3, consumer-ordered-1, consumer-shared-1, consumer-shared-2"},
		{"property", `"no-data-loss"`, `"no-data-lost"`, `plan: properties: unknown name "no-data-lost"; did you mean "no-data-loss"?`},
		{"claim", `"unknown-later-seen"`, `"duplicate-consumed"`, `plan: claims: duplicate-consumed stands there twice`},
		{"running target", `"durability":"fsync","kind":"pestle"`, `"address":"a:1","http":"a:2","kind":"nsq"`, "plan: target a:1 is not started by Pestle and gets no faults, but the plan has 17"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("the plan of first-light has no %s", c.old)
			}
			_, err := ParsePlan([]byte(strings.Replace(good, c.old, c.new, 1)))
			expectError(t, err, c.want)
		})
	}
}

// TestWrongPlansOfSim: the same for what only sim has, in a plan with all of
// it.
func TestWrongPlansOfSim(t *testing.T) {
	p := expand(t, load(t, "swarm.yaml"), 1)
	broker, consumer := p.Processes()[0], p.Workload.Consumers[0].Name
	p.Faults = []faults.Fault{
		{Ref: 1, Kind: faults.Cut, Target: broker, Peer: consumer, For: second},
		{Ref: 2, Kind: faults.Partition, Target: broker, Shape: faults.Ring, Side: p.Processes(), For: second},
		{Ref: 3, Kind: faults.Kill, Target: broker, Anchor: faults.Anchor{After: &faults.Event{Point: "ack", Count: 1, Process: broker}}},
	}
	p.Target.Disk, p.Target.Plant = DiskLying, "lease-forgotten"
	p.Target.Knobs = &Knobs{FileSize: 1 << 20, Cache: 1 << 16}
	p.Network = &Network{Latency: 1, Spread: 2, Asymmetry: 3, SlowerBy: 4}
	p.Claims = []string{}
	p.Workload.Producers[0].Only, p.Workload.Producers[1].Only = [][2]uint64{{3, 3}, {5, 9}}, [][2]uint64{}
	for i := range p.Workload.Producers {
		w := &p.Workload.Producers[i]
		w.DeferPermille, w.DeferMin, w.DeferMax = 55, 200*millisecond, 3*second
	}
	p.Workload.MsgTimeout, p.Workload.Consumers[1].ForgetPermille = 2*second, 15
	good := string(p.Canonical())
	if back, err := ParsePlan([]byte(good)); err != nil {
		t.Fatal(err)
	} else if diff := cmp.Diff(p, back); diff != "" {
		t.Fatalf("read back:\n%s", diff)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"share deferred", `"defer_permille":55`, `"defer_permille":1001`, "plan: workload: producer 1: defer_permille is 1001, allowed is 0..1000"},
		{"shortest deferral", `"defer_min":200000000`, `"defer_min":-1000000`, "plan: workload: producer 1: defer_min is -1000000, allowed is 0..600000000000"},
		{"longest deferral", `"defer_max":3000000000`, `"defer_max":100000000`, "plan: workload: producer 1: defer_max is 100000000, allowed is 200000000..600000000000"},
		{"deferral of half a millisecond", `"defer_min":200000000`, `"defer_min":500000`, "plan: workload: producer 1: defer_min is 500000 ns, not a whole number of milliseconds"},
		{"share forgotten", `"forget_permille":15`, `"forget_permille":501`, "plan: workload: consumer 2: forget_permille is 501, allowed is 0..500"},
		{"drain shorter than a deferral", `"defer_max":3000000000`, `"defer_max":12000000000`, "plan: phases: drain_within is 15000000000, shorter than the 15950000000 that a message may need to be sent, held back and given back"},
		{"latency", `"latency":1`, `"latency":1000000001`, "plan: network: latency is 1000000001, allowed is 0..1000000000"},
		{"asymmetry", `"asymmetry":3`, `"asymmetry":1001`, "plan: network: asymmetry is 1001, allowed is 0..1000"},
		{"disk", `"disk":"lying"`, `"disk":"honest"`, `plan: target: disk "honest" is neither slow nor lying`},
		{"plant", `"plant":"lease-forgotten"`, `"plant":"-x"`, `plan: target: plant "-x" is no id of 1..64 of a-z, 0-9 and -`},
		{"file size", `"file_size":1048576`, `"file_size":1`, "plan: target: knobs.file_size is 1, allowed is 16384..1073741824"},
		{"cache", `"cache":65536`, `"cache":0`, "plan: target: knobs.cache is 0, allowed is 1..1073741824"},
		{"knobs of nsqd", `"durability":"fsync","kind":"pestle"`, `"kind":"nsq"`, "plan: target: nodes, disk, plant and knobs are for kind pestle"},
		{"only, falling", `"only":[[3,3],[5,9]]`, `"only":[[5,9],[3,3]]`, "plan: workload: producer 1: only: range 2 (3..3) is not ascending, behind a gap after the one before it, and within 1..4294967296"},
		{"only, one range in two", `"only":[[3,3],[5,9]]`, `"only":[[3,3],[4,9]]`, "plan: workload: producer 1: only: range 2 (4..9) is not ascending, behind a gap after the one before it, and within 1..4294967296"},
		{"only, from 0", `"only":[[3,3],[5,9]]`, `"only":[[0,3],[5,9]]`, "plan: workload: producer 1: only: range 1 (0..3) is not ascending, behind a gap after the one before it, and within 1..4294967296"},
		{"only, empty range", `"only":[[3,3],[5,9]]`, `"only":[[3,2],[5,9]]`, "plan: workload: producer 1: only: range 1 (3..2) is not ascending, behind a gap after the one before it, and within 1..4294967296"},
		{"peer", `"peer":"consumer-ordered-1"`, `"peer":"consumer-x-1"`, `plan: fault 1: no process is named "consumer-x-1"; there are broker-1, producer-1, producer-2, consumer-ordered-1, consumer-shared-1, consumer-shared-2`},
		{"ring", `"side":["broker-1","producer-1",`, `"side":["broker-1",`, "plan: fault 2: side: 5 processes in the ring; there have to be 6"},
		{"process", `"process":"broker-1"`, `"process":"broker-2"`, `plan: fault 3: no process is named "broker-2"; there are broker-1, producer-1, producer-2, consumer-ordered-1, consumer-shared-1, consumer-shared-2`},
		{"medium", `"kind":"kill"`, `"kind":"lost-write","rate":5`, "plan: fault 3: for is 0 ns; a lost-write takes 1000000..600000000000 ns"},
		{"medium of one copy", `"for":0,"kind":"kill"`, `"for":1000000,"kind":"lost-write","rate":5`, "plan: faults: 1 broker holds 1 copy of a message: what the medium loses is lost, and that is no fault of the broker; only no-data-corruption can be required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("the plan has no %s", c.old)
			}
			_, err := ParsePlan([]byte(strings.Replace(good, c.old, c.new, 1)))
			expectError(t, err, c.want)
		})
	}
}

// TestRunsIn: a world that is handed a plan it cannot carry out says so first.
func TestRunsIn(t *testing.T) {
	light := firstLight(t)
	swarm := expand(t, load(t, "swarm.yaml"), 1)
	change := func(p Plan, do func(*Plan)) Plan { do(&p); return p }
	for _, c := range []struct {
		name  string
		plan  Plan
		world string
		want  string // "" for none
	}{
		{"first-light", light, Sim, ""},
		{"first-light", light, Process, ""},
		{"swarm", swarm, Sim, ""},
		{"swarm", swarm, Process, "fault 1 of the plan: the world process cannot carry out a " + string(swarm.Faults[0].Kind)},
		{"swarm", swarm, Docker, ""},
		{"network", change(swarm, func(p *Plan) { p.Faults = nil }), Process, "target of the plan: the world process takes the network as it is"},
		{"knobs", change(light, func(p *Plan) { p.Target.Knobs = &Knobs{FileSize: 1 << 20, Cache: 1 << 20} }), Process, ""},
		{"another world", light, "moon", "fault 1 of the plan: the world moon cannot carry out a " + string(light.Faults[0].Kind)},
		{"another world without faults", change(light, func(p *Plan) { p.Faults = nil }), "moon", `target of the plan: there is no world "moon"`},
	} {
		t.Run(c.name+" in "+c.world, func(t *testing.T) {
			got := ""
			if err := c.plan.RunsIn(c.world); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("error\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestReadPlanNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.json")
	_, err := ReadPlan(path)
	expectError(t, err, "read plan: open "+path+": no such file or directory")
	if err := os.WriteFile(path, []byte(`{"schema":7}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = ReadPlan(path)
	expectError(t, err, path+": plan has schema 7, this program reads schema 1: make the plan again with pestle plan")
}

func FuzzParsePlan(f *testing.F) {
	f.Add(firstLight(f).Canonical())
	f.Add(expand(f, load(f, "swarm.yaml"), 1).Canonical())
	f.Add([]byte(`{"schema":1}`))
	f.Add([]byte(`{"schema":1,"faults":[{"ref":1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePlan(data)
		if err != nil {
			return
		}
		back, err := ParsePlan(p.Canonical())
		if err != nil || back.Hash() != p.Hash() {
			t.Errorf("a plan does not survive its own bytes: %v\n%s", err, p.Canonical())
		}
		_ = p.Timetable()
	})
}

func TestTimetable(t *testing.T) {
	p := expand(t, load(t, "targets/nsq-safe.yaml"), 3)
	p.Faults = []faults.Fault{
		{Ref: 1, Kind: faults.Pause, Target: "broker-1", For: 1234 * millisecond, Anchor: faults.Anchor{At: 12 * millisecond}},
		{Ref: 2, Kind: faults.Kill, Target: "producer-1", For: 2 * second, Anchor: faults.Anchor{After: &faults.Event{Fault: 1, Delay: 50 * millisecond}}},
		{Ref: 3, Kind: faults.Kill, Target: "broker-1", For: 100 * millisecond, Anchor: faults.Anchor{At: 15 * second}},
		{Ref: 4, Kind: faults.Stop, Target: "producer-2", Anchor: faults.Anchor{After: &faults.Event{Acks: 10}}},
		{Ref: 5, Kind: faults.Stop, Target: "producer-3", For: 250, Anchor: faults.Anchor{After: &faults.Event{Attempts: 9, Delay: second}}},
	}
	want := `nsq-safe, seed 3, plan ` + p.ShortHash() + `

target    nsq --mem-queue-size=0 --sync-every=1
          producer-1: a message to orders every 33333333ns, 100..1099 bytes, 8 open at most
          producer-2: a message to orders every 33333333ns, 100..1099 bytes, 8 open at most
          producer-3: a message to orders every 33333333ns, 100..1099 bytes, 8 open at most
          consumer-shared-1: 10 in flight, gives 5% back for 50ms, starts with the drain
          consumer-shared-2: 10 in flight, gives 5% back for 50ms, starts with the drain
phases    warm-up 100 acks within 10s, chaos 30s, drain within 1m

        at  ref  kind   target                      for
    0.012s    1  pause  broker-1                  1234ms
         ·    2  kill   producer-1                    2s  50ms after fault 1 took effect
   10.000s  quiet until 14.000s
   15.000s    3  kill   broker-1                   100ms
   20.000s  quiet until 24.000s
         ·    4  stop   producer-2                    0s  after 10 acks
         ·    5  stop   producer-3                 250ns  1s after 9 attempts
   30.000s  chaos ends

sha-256 ` + p.Hash() + "\n"
	if got := p.Timetable(); got != want {
		t.Errorf("timetable\n%s\nwant\n%s", got, want)
	}
}

// TestTimetableOfSim: parameters, knobs and points are there to read.
func TestTimetableOfSim(t *testing.T) {
	p := expand(t, load(t, "swarm.yaml"), 3)
	p.Target.Disk, p.Target.Plant = DiskLying, "lease-forgotten"
	p.Target.Knobs = &Knobs{FileSize: 1 << 16, Cache: 1000}
	p.Network = &Network{Latency: 1500_000, Spread: 20_000, Asymmetry: 55, SlowerBy: 3 * millisecond}
	at := func(ms int64) faults.Anchor { return faults.Anchor{At: ms * millisecond} }
	p.Faults = []faults.Fault{
		{Ref: 1, Kind: faults.DiskWriteShort, Target: "broker-1", For: second, Count: 2, Anchor: at(10)},
		{Ref: 2, Kind: faults.Latency, Target: "broker-1", For: second, Delay: 5 * millisecond, Jitter: 300_000, Anchor: at(20)},
		{Ref: 3, Kind: faults.Latency, Target: "broker-1", Peer: "producer-1", For: second, Delay: 5 * millisecond, Anchor: at(30)},
		{Ref: 4, Kind: faults.Partition, Target: "broker-1", Shape: faults.Halves, Side: []string{"broker-1", "producer-2"}, For: second, Anchor: at(40)},
		{Ref: 5, Kind: faults.Clog, Target: "producer-1", Peer: "broker-1", BytesPerSecond: 64 << 10, For: second, Anchor: at(50)},
		{Ref: 6, Kind: faults.ClockJump, Target: "broker-1", Offset: -90 * second, For: second, Anchor: at(60)},
		{Ref: 7, Kind: faults.ClockDrift, Target: "broker-1", Drift: 0, For: second, Anchor: at(70)},
		{Ref: 8, Kind: faults.Reset, Target: "consumer-shared-1", Anchor: faults.Anchor{After: &faults.Event{Point: "redelivery", Count: 3, Process: "broker-1", Delay: millisecond}}},
	}
	p.Workload.Producers[0].Only = [][2]uint64{{1, 1}, {3, 4}, {6, 6}, {8, 8}, {10, 10}, {12, 12}, {14, 14}, {16, 16}, {18, 18}, {20, 20}}
	p.Workload.Producers[1].Only = [][2]uint64{}
	p.Workload.Producers[0].DeferPermille = 0
	p.Workload.Producers[1].DeferPermille, p.Workload.Producers[1].DeferMin, p.Workload.Producers[1].DeferMax = 55, 200*millisecond, 3*second
	for i, want := range []string{"; only 1, 3..4, 6, 8, 10, 12, 14, 16, and 2 ranges more\n", ", 5.5% deferred by 200ms..3s; only the last one\n"} {
		_, line, _ := strings.Cut(p.Timetable(), p.Workload.Producers[i].Name+": ")
		if !strings.HasSuffix(line[:strings.IndexByte(line, '\n')+1], "open at most"+want) {
			t.Errorf("producer %d: %s, want %s", i+1, line, want)
		}
	}
	p.Workload.Consumers[1].ForgetPermille = 15
	if want := ", forgets 1.5%\n"; !strings.Contains(p.Timetable(), want) {
		t.Errorf("no consumer's line ends with %q:\n%s", want, p.Timetable())
	}
	_, got, _ := strings.Cut(p.Timetable(), "\n\n")
	got, _, _ = strings.Cut(got, "          producer-1")
	_, table, _ := strings.Cut(p.Timetable(), "drain within 15s\n\n")
	table, _, _ = strings.Cut(table, "   22.000s")
	got += table
	want := `target    pestle fsync, lying disk, plant lease-forgotten, journal files of 65536 bytes, cache of 1000 bytes
network   1500us, and 20us more on average; 5.5% of the links slower by up to 3ms
        at  ref  kind              target                      for
    0.010s    1  disk-write-short  broker-1                      1s  count 2
    0.020s    2  latency           broker-1                      1s  delay 5ms, jitter 300us
    0.030s    3  latency           broker-1                      1s  peer producer-1, delay 5ms
    0.040s    4  partition         broker-1                      1s  halves, side broker-1 producer-2
    0.050s    5  clog              producer-1                    1s  peer broker-1, bytes_per_second 64KiB
    0.060s    6  clock-jump        broker-1                      1s  offset -90s
    0.070s    7  clock-drift       broker-1                      1s  drift 0ppm
    8.000s  quiet until 11.000s
   16.000s  quiet until 19.000s
         ·    8  reset             consumer-shared-1             0s  1ms after broker-1 passed redelivery 3 times
`
	if got != want {
		t.Errorf("timetable\n%s\nwant\n%s", got, want)
	}
}
