package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pestle/faults"
	"pestle/history"
)

func load(t testing.TB, file string, settings ...string) Scenario {
	t.Helper()
	s, err := Load(file, settings)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func expand(t testing.TB, s Scenario, seed uint64) Plan {
	t.Helper()
	p, err := Expand(s, seed)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return p
}

// TestPlanOfSeed1 pins the expansion: when this hash changes, every seed anyone
// wrote down means another run. Say so in the changelog.
func TestPlanOfSeed1(t *testing.T) {
	const want = "37e203788dd8b9442fb191f61449c34734ba4e27995c93c831d4f11e3ae03c0b"
	if got := expand(t, load(t, "first-light.yaml"), 1).Hash(); got != want {
		t.Errorf("hash of first-light, seed 1\n got %s\nwant %s", got, want)
	}
}

// TestEverySeedKeepsTheRules holds every shipped scenario to what place.go
// promises, over 300 seeds.
func TestEverySeedKeepsTheRules(t *testing.T) {
	for _, file := range shipped(t) {
		t.Run(file, func(t *testing.T) {
			s := load(t, file)
			for seed := uint64(1); seed <= 300; seed++ {
				p := expand(t, s, seed)
				if err := p.Validate(); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				if again := expand(t, s, seed); again.Hash() != p.Hash() {
					t.Errorf("seed %d: two plans, %s and %s", seed, p.Hash(), again.Hash())
				}
				for _, wrong := range brokenRules(s, p) {
					t.Errorf("seed %d: %s", seed, wrong)
				}
				if t.Failed() {
					t.Fatalf("see: pestle plan scenarios/%s --seed %d", file, seed)
				}
			}
		})
	}
}

// TestEveryFaultTakesEffect runs the shipped plans against a world in which
// everything takes a while: each fault of each seed takes effect, outside the
// quiet windows, and no later than its plan leaves room for. Where faults wait
// for points, whose times are not in the plan, or are left to chance, they may
// get in one another's way; most take effect all the same.
func TestEveryFaultTakesEffect(t *testing.T) {
	for _, file := range shipped(t) {
		s := load(t, file)
		planned, never := 0, 0
		for seed := uint64(1); seed <= 100; seed++ {
			p := expand(t, s, seed)
			free := slices.ContainsFunc(p.Faults, func(f faults.Fault) bool { return f.Anchor.After != nil && f.Anchor.After.Point != "" })
			for _, e := range rehearse(p) {
				planned++
				if e.Effective == faults.Never || e.Ended == faults.Never {
					never++
					if !free && !p.Faults[e.Ref-1].Maybe {
						t.Errorf("%s, seed %d: fault %d (%s %s) did not take effect: %s", file, seed, e.Ref, e.Kind, e.Target, e.Note)
					}
				}
				for _, q := range p.Phases.Quiet {
					if e.Asked < q.To && q.From < e.Ended {
						t.Errorf("%s, seed %d: fault %d (%s to %s) reaches into the quiet window at %s", file, seed, e.Ref, formatDuration(e.Asked), formatDuration(e.Ended), formatDuration(q.From))
					}
				}
			}
		}
		if 5*never > planned {
			t.Errorf("%s: %d of %d faults never took effect", file, never, planned)
		}
	}
}

// rehearse carries a plan out in steps of a millisecond: a fault takes effect
// after 3 ms, a process needs 150 ms to be ready again, half of the planned
// messages are acked, and each broker passes each of its points ten times a second.
// Of a cluster now one leads and now another, and for a while nobody.
func rehearse(p Plan) []faults.Entry {
	type running struct {
		fault faults.Fault
		asked int64
		state int
	}
	sched := faults.New(p.Faults, p.Phases.Quiet, p.Phases.Chaos)
	var active []running
	brokers, points := p.Target.brokers(), faults.Points()
	perAck := 2 * p.Workload.Producers[0].Interval / int64(len(p.Workload.Producers))
	for now := int64(0); now < p.Phases.Chaos; now += millisecond {
		for acked := now - now%perAck; acked > now-millisecond && acked >= 0; acked -= perAck {
			sched.Observe(now, history.Event{Ev: history.Attempt})
			sched.Observe(now, history.Event{Ev: history.Ack})
		}
		if now%(100*millisecond) == 0 {
			for _, point := range points {
				for _, broker := range brokers {
					sched.Point(now, broker, point.Name)
				}
			}
		}
		for i := range active {
			r := &active[i]
			switch {
			case r.state == 0 && now >= r.asked+3*millisecond:
				sched.Effective(r.fault.Ref, now)
				r.state = 1
			case r.state == 1 && now >= r.asked+r.fault.For+153*millisecond:
				sched.Ended(r.fault.Ref, now)
				r.state = 2
			}
		}
		if sched.Seeks(now) {
			c := faults.Cluster{Brokers: brokers, Metadata: brokers[0]}
			if turn := int(now / (300 * millisecond)); turn%3 > 0 {
				c.Leader = brokers[turn/3%len(brokers)]
			}
			sched.Lead(c)
		}
		for _, f := range sched.Due(now) {
			if _, isProcess := faults.RoleOf(f.Target); !isProcess {
				panic("no process: " + f.Target)
			}
			active = append(active, running{fault: f, asked: now})
		}
	}
	return sched.Entries()
}

// TestALineLeavesTheOthersAlone: adding a fault line on another target, before
// or after, changes nothing about the faults that were there.
func TestALineLeavesTheOthersAlone(t *testing.T) {
	source, err := os.ReadFile("first-light.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const line = "\n  - {kind: pause, target: consumer-shared-2, times: 2, for: 100ms..300ms}\n"
	for name, longer := range map[string]string{
		"first": strings.Replace(string(source), "\nfaults:\n", "\nfaults:"+line, 1),
		"last":  strings.Replace(string(source), "\nproperties:", line+"\nproperties:", 1),
	} {
		base, err := Parse("s.yaml", source, nil)
		if err != nil {
			t.Fatal(err)
		}
		more, err := Parse("s.yaml", []byte(longer), nil)
		if err != nil {
			t.Fatal(err)
		}
		for seed := uint64(1); seed <= 50; seed++ {
			before, after := expand(t, base, seed), expand(t, more, seed)
			if len(after.Faults) != len(before.Faults)+2 {
				t.Fatalf("%s, seed %d: %d faults became %d", name, seed, len(before.Faults), len(after.Faults))
			}
			have := describeFaults(after)
			for _, f := range describeFaults(before) {
				if !slices.Contains(have, f) {
					t.Errorf("%s, seed %d: %s is gone", name, seed, f)
				}
			}
		}
	}
}

// describeFaults writes the faults without their numbers.
func describeFaults(p Plan) []string {
	var out []string
	for _, f := range p.Faults {
		text := fmt.Sprint(f.Kind, f.Target, f.For, f.Anchor.At)
		if e := f.Anchor.After; e != nil {
			text += fmt.Sprint(e.Acks, e.Delay)
			if e.Fault > 0 {
				text += fmt.Sprint(p.Faults[e.Fault-1].Anchor.At)
			}
		}
		out = append(out, text)
	}
	return out
}

func TestSeedsDiffer(t *testing.T) {
	s := load(t, "first-light.yaml")
	seen := map[string]uint64{}
	for seed := uint64(0); seed < 200; seed++ {
		hash := expand(t, s, seed).Hash()
		if other, twice := seen[hash]; twice {
			t.Errorf("seeds %d and %d give one plan", other, seed)
		}
		seen[hash] = seed
	}
}

func TestTheShippedScenariosDoWhatTheyAreFor(t *testing.T) {
	killed := func(p Plan, role faults.Role) int {
		n := 0
		for _, f := range p.Faults {
			if r, _ := faults.RoleOf(f.Target); r == role && f.Kind == faults.Kill {
				n++
			}
		}
		return n
	}
	firstLight := load(t, "first-light.yaml")
	targets := map[string]Scenario{}
	for _, name := range []string{"nsq-safe.yaml", "nsq-unsafe.yaml"} {
		targets[name] = load(t, filepath.Join("targets", name))
	}
	for seed := uint64(1); seed <= 100; seed++ {
		p := expand(t, firstLight, seed)
		if b, w := killed(p, faults.Broker), killed(p, faults.Producer)+killed(p, faults.Consumer); b < 5 || w < 2 {
			t.Errorf("first-light, seed %d: %d kills of the broker and %d of the workload; want 5 and 2", seed, b, w)
		}
		for name, s := range targets {
			p := expand(t, s, seed)
			if b := killed(p, faults.Broker); b < 3 {
				t.Errorf("%s, seed %d: %d kills of the broker; want 3", name, seed, b)
			}
		}
	}
}

func TestFaultsThatDoNotFit(t *testing.T) {
	for _, c := range []struct{ name, lines, want string }{
		{"one too long", "- {kind: kill, target: broker, for: 15s}",
			"s.yaml:4:17: phases.chaos of 40s is too short: faults.0 (kill broker-1) needs 16s with its 1s to settle and finds no place outside the quiet windows; make chaos longer, or ask for fewer or shorter faults"},
		{"as many as there is room for", "- {kind: kill, target: broker, times: 13, for: 1s}",
			""},
		{"one more", "- {kind: kill, target: broker, times: 14, for: 1s}",
			"s.yaml:4:17: phases.chaos of 40s is too short: faults.0 (kill broker-1) needs 2s with its 1s to settle and finds no place outside the quiet windows; make chaos longer, or ask for fewer or shorter faults"},
		{"with what waits for it", "- {name: a, kind: pause, target: broker, for: 1s}\n  - {kind: kill, target: producer, for: 10s, after: {fault: a, delay: 5s}}",
			"s.yaml:4:17: phases.chaos of 40s is too short: faults.0 (pause broker-1) needs 16s with its 1s to settle and finds no place outside the quiet windows; make chaos longer, or ask for fewer or shorter faults"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse("s.yaml", []byte(smallest+"faults:\n  "+c.lines+"\n"), nil)
			if err != nil {
				t.Fatal(err)
			}
			for seed := uint64(1); seed <= 50; seed++ {
				_, err := Expand(s, seed)
				if c.want != "" {
					expectError(t, err, c.want)
				} else if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// TestTriggersFollowTheirCause: the n-th fault that waits for a line waits for
// the n-th fault of it, and never on the process the cause holds.
func TestTriggersFollowTheirCause(t *testing.T) {
	s, err := Parse("s.yaml", []byte(smallest+`faults:
  - {kind: kill, target: producer, times: 2, for: 100ms, after: {fault: freeze, delay: 50ms..200ms}}
  - {name: freeze, kind: pause, target: producer, times: 2, for: 1s}
  - {kind: stop, target: consumer, for: 100ms, after: {attempts: 10..20}}
`), []string{"workload.producers.count=2"})
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 100; seed++ {
		p := expand(t, s, seed)
		if len(p.Faults) != 5 {
			t.Fatalf("seed %d: %d faults", seed, len(p.Faults))
		}
		for _, i := range []int{0, 2} {
			cause, effect := p.Faults[i], p.Faults[i+1]
			if cause.Kind != faults.Pause || effect.Kind != faults.Kill || effect.Anchor.After.Fault != cause.Ref || effect.Target == cause.Target {
				t.Errorf("seed %d: fault %+v is followed by %+v", seed, cause, effect)
			}
		}
		if last := p.Faults[4].Anchor.After; last.Attempts < 10 || last.Attempts > 20 || last.Acks != 0 {
			t.Errorf("seed %d: the stop waits for %+v", seed, last)
		}
	}
}

func TestDefaults(t *testing.T) {
	s, err := Parse("s.yaml", []byte(smallest), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := expand(t, s, 7)
	want := `{"claims":[],"faults":[],"phases":{"chaos":40000000000,"drain_within":30000000000,` +
		`"quiet":[{"from":15000000000,"to":20000000000},{"from":30000000000,"to":35000000000}],"recovery":2000000000,` +
		`"warm_up_acks":100,"warm_up_within":10000000000},"properties":["no-data-corruption","no-phantom-messages",` +
		`"message-ordering","no-data-loss","producer-progress","consumer-progress","delivery-guarantee"],"scenario":"small",` +
		`"schema":1,"seed":7,"target":{"durability":"fsync","kind":"pestle"},"workload":{"at_most_once":false,"backoff":50000000,` +
		`"consume_after_chaos":false,"consumers":[{"channel":"all","in_flight":1,"name":"consumer-all-1","requeue_delay":0,` +
		`"requeue_permille":0,"seed":` + fmt.Sprint(p.Workload.Consumers[0].Seed) + `}],"msg_timeout":5000000000,"producers":[{"interval":20000000,` +
		`"max_size":1099,"min_size":100,"name":"producer-1","pending":1,"seed":` + fmt.Sprint(p.Workload.Producers[0].Seed) + `}],` +
		`"timeout":1000000000,"topic":"orders","tries":4}}` + "\n"
	if got := string(p.Canonical()); got != want {
		t.Errorf("plan of the smallest scenario\n got %s\nwant %s", got, want)
	}
}

// TestDeferralsAndForgetting: both shares are drawn for each process, the
// length of a deferral for each message; the machines are told all of it.
func TestDeferralsAndForgetting(t *testing.T) {
	s := load(t, "swarm.yaml")
	shares, forget := map[int64]bool{}, map[int64]bool{}
	for seed := uint64(1); seed <= 50; seed++ {
		p := expand(t, s, seed)
		for _, w := range p.Workload.Producers {
			shares[w.DeferPermille] = true
			config, err := p.ProducerConfig(w.Name)
			if err != nil || w.DeferMin != 200*millisecond || w.DeferMax != 3*second ||
				config.DeferPermille != w.DeferPermille || config.DeferMin != w.DeferMin || config.DeferMax != w.DeferMax {
				t.Fatalf("seed %d: %+v is told %+v, %v", seed, w, config, err)
			}
		}
		for _, w := range p.Workload.Consumers {
			forget[w.ForgetPermille] = true
			_, config, err := p.ConsumerConfig(w.Name)
			if err != nil || config.ForgetPermille != w.ForgetPermille || config.InFlight != w.InFlight || config.MsgTimeout != p.Workload.MsgTimeout {
				t.Fatalf("seed %d: %+v is told %+v, %v", seed, w, config, err)
			}
		}
	}
	for _, drawn := range []map[int64]bool{shares, forget} {
		if len(drawn) < 10 {
			t.Errorf("50 seeds draw only %v", drawn)
		}
	}
	p := expand(t, load(t, "first-light.yaml"), 1)
	if w := p.Workload.Producers[0]; w.DeferPermille != 0 || w.DeferMin != 0 || w.DeferMax != 0 || p.Workload.Consumers[1].ForgetPermille != 0 {
		t.Errorf("first-light defers and forgets: %+v %+v", w, p.Workload.Consumers[1])
	}
}
