package sim_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
	"pestle/sim"
)

// logged runs a plan and returns its log.
func logged(t *testing.T, p scenarios.Plan) []string {
	t.Helper()
	var lines []string
	if _, err := sim.Run(sim.Options{Plan: p, Log: func(line string) { lines = append(lines, line) }}); err != nil {
		t.Fatal(err)
	}
	return lines
}

// who and what of a log line, without number and time.
func words(line string) string {
	fields := strings.SplitN(line, " ", 3)
	return fields[2]
}

// calm is a plan without faults: one producer, one consumer.
func calm(t testing.TB) scenarios.Plan {
	p := withFaults(t, 1, func(int) faults.Fault { return example(faults.Kill) })
	p.Faults = nil
	p.Workload.Producers = p.Workload.Producers[:1]
	p.Workload.Consumers = p.Workload.Consumers[:1]
	p.Phases.WarmUpAcks, p.Phases.Chaos, p.Phases.Quiet = 5, second, nil
	return p
}

// A message's way: written down, sent, journalled, synced, acknowledged, and
// delivered, each step behind the one before.
func TestLifeOfAMessage(t *testing.T) {
	const id = "producer-1-2"
	lines := logged(t, calm(t))
	at := 0
	for _, step := range []string{
		"producer-1 effect state " + id + ", attempt",
		"producer-1 effect history attempt " + id,
		"producer-1 effect send " + id + " try 1",
		"broker-1 event connection * data * " + id,
		"broker-1 effect write file 1 at * " + id,
		"broker-1 effect sync file 1*",
		"broker-1 disk write of file 1 *is done",
		"broker-1 disk sync of file 1 *is done",
		"broker-1 event synced*",
		"broker-1 effect send on connection * " + id,
		"producer-1 event ack " + id + " try 1",
		"producer-1 effect state " + id + ", ack",
		"producer-1 effect history ack " + id,
	} {
		found := slices.IndexFunc(lines[at:], func(line string) bool { return matches(step, words(line)) })
		if found < 0 {
			t.Fatalf("no line %q behind %q", step, lines[max(at-1, 0)])
		}
		at += found + 1
	}
	for _, step := range []string{"event delivery * " + id, "effect state " + id + ", 00001*", "effect history consume " + id + "*", "effect history finish " + id + "*", "effect finish delivery*"} {
		if !slices.ContainsFunc(lines, func(line string) bool { return matches("consumer-ordered-1 "+step, words(line)) }) {
			t.Errorf("the consumer has no line %q", step)
		}
	}
}

// Without faults nothing is refused, unknown, retried, lost or delivered twice,
// and nobody loses a connection.
func TestCalmWeather(t *testing.T) {
	p := calm(t)
	p.Phases.Chaos = 30 * second
	p.Workload.Consumers[0].RequeuePermille = 0
	p.Workload.Producers[0].Interval = 10 * millisecond
	times := map[history.Kind]int{}
	paces := map[int64]bool{} // ns between two attempts: timers are late, each by its own
	last := int64(0)
	result, err := sim.Run(sim.Options{Plan: p, Sink: func(e history.Event) error {
		if e.Ev != history.Note {
			times[e.Ev]++
		}
		if e.Ev == history.Attempt {
			paces[e.T-last] = true
			last = e.T
		}
		if e.What == history.NoteDisconnected && !strings.HasPrefix(e.Src, "consumer") {
			t.Errorf("%+v", e)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	n := times[history.Attempt]
	if n < 2900 || times[history.Ack] != n || times[history.Consume] != n || times[history.Finish] != n || times[history.Fail]+times[history.Unknown]+times[history.Requeue] > 0 {
		t.Errorf("%v", times)
	}
	if len(paces) < n/2 {
		t.Errorf("the producer wakes like a clockwork: only %d different pauses between %d attempts", len(paces), n)
	}
	if result.Steps == 0 || result.Steps >= result.Events {
		t.Errorf("%d steps in %d events", result.Steps, result.Events)
	}
}

// matches compares with a pattern in which * stands for anything.
func matches(pattern, text string) bool {
	for i, part := range strings.Split(pattern, "*") {
		at := strings.Index(text, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return text == "" || strings.HasSuffix(pattern, "*")
}

// A kill comes between any two steps of a client: behind the history line of
// an attempt when it is triggered by it, so that nothing was sent; and now and
// then between the state line and the history line, which the next
// incarnation then writes.
func TestKillSeparatesSteps(t *testing.T) {
	unsent, replayed, kills := 0, 0, 0
	for seed := uint64(1); seed <= 60; seed++ {
		p := calm(t)
		p.Seed = seed
		p.Phases.Chaos = 4 * second
		p.Workload.Producers[0].Interval = 5 * millisecond
		p.Faults = []faults.Fault{
			{Ref: 1, Kind: faults.Kill, Target: "producer-1", For: 100 * millisecond, Anchor: faults.Anchor{After: &faults.Event{Attempts: 10}}},
			{Ref: 2, Kind: faults.Kill, Target: "producer-1", For: 100 * millisecond, Anchor: faults.Anchor{After: &faults.Event{Attempts: 100, Delay: 5 * millisecond}}},
		}
		var last string
		for _, line := range logged(t, p) {
			switch text := words(line); {
			case strings.HasPrefix(text, "producer-1 kill effective"):
				kills++
				if strings.Contains(last, "history attempt") {
					unsent++
				}
			case strings.HasPrefix(text, "producer-1 history note replayed"):
				replayed++
			case strings.HasPrefix(text, "producer-1 effect"):
				last = text
			}
		}
	}
	if kills != 120 || unsent < 60 {
		t.Errorf("of %d kills %d came between an attempt and its send; those that waited for an attempt, 60 of 120, must", kills, unsent)
	}
	if replayed == 0 {
		t.Error("no kill came between a state line and its history line")
	}
}

// With the power, the broker goes without a word: its clients notice when
// their sends time out, or by its silence.
func TestPowerLossIsSilent(t *testing.T) {
	p := calm(t)
	p.Phases.Chaos = 8 * second
	p.Faults = []faults.Fault{{Ref: 1, Kind: faults.PowerLoss, Target: "broker-1", For: 5 * second}}
	dark := false
	var seen []string
	for _, line := range logged(t, p) {
		text := words(line)
		switch {
		case text == "broker-1 power-loss effective 1":
			dark = true
		case strings.HasPrefix(text, "broker-1 start"):
			dark = false
		case dark && strings.HasPrefix(text, "producer-1 event unknown"):
			seen = append(seen, text[strings.LastIndex(text, ": ")+2:])
		case dark && strings.Contains(text, "event disconnected"):
			seen = append(seen, text)
		}
	}
	if !slices.Contains(seen, "no answer in time") {
		t.Error("no send of the producer became unknown by its deadline")
	}
	for _, who := range []string{"producer-1", "consumer-ordered-1"} {
		if !slices.Contains(seen, who+" event disconnected from broker-1: read: i/o timeout") {
			t.Errorf("%s did not notice by the silence: %q", who, seen)
		}
	}
	for _, text := range seen {
		if strings.Contains(text, "reset") || strings.Contains(text, "EOF") {
			t.Errorf("%s: nobody was there to say it", text)
		}
	}
}

// A broker that ends itself is started again, and the history says so.
func TestSupervisor(t *testing.T) {
	p := withFaults(t, 1, func(int) faults.Fault { return example(faults.FsyncError) })
	result, _, err := judged(p, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	exits, readies := 0, 0
	for _, e := range result.Histories[0].Events {
		switch {
		case e.What == history.NoteExited:
			exits++
			if e.Target != "broker-1" || !strings.Contains(e.Text, "sync") {
				t.Errorf("%+v", e)
			}
		case e.What == history.NoteReady:
			readies++
		}
	}
	if exits != 4 || readies != 5 {
		t.Errorf("%d exits and %d times ready, want 4 and 5", exits, readies)
	}
}

// A broker that acknowledges from memory loses what nobody has consumed yet.
func TestMemoryIsCaught(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		_, verdict, err := judged(plan(t, firstLight, seed, "target.durability=memory"), sim.Options{})
		if err != nil || !loses(verdict) {
			t.Errorf("seed %d: no loss was seen; error %v", seed, err)
		}
	}
}

// A disk that lies loses messages too, where the power loss leaves a journal
// that looks whole. Where it does not, the broker refuses to start, which is
// no failure of the harness.
func TestLyingDiskIsCaught(t *testing.T) {
	caught, refused := 0, 0
	for seed := uint64(1); seed <= 20; seed++ {
		p := withFaults(t, seed, func(i int) faults.Fault {
			if i < 3 {
				return example(faults.Reset)
			}
			return example(faults.PowerLoss)
		})
		p.Target.Disk = scenarios.DiskLying
		result, verdict, err := judged(p, sim.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if loses(verdict) {
			caught++
		}
		if slices.ContainsFunc(result.Histories[0].Events, func(e history.Event) bool {
			return e.What == history.NoteExited && strings.HasPrefix(e.Text, "refuses to start: ")
		}) {
			refused++
		}
	}
	if caught == 0 || refused == 0 {
		t.Errorf("of twenty seeds %d lost messages and %d refused to start; want some of both", caught, refused)
	}
}

func loses(v checker.Verdict) bool {
	return slices.ContainsFunc(v.Properties, func(p checker.Property) bool {
		return p.Slug == "no-data-loss" && p.Status == checker.Fail
	})
}

func TestUntil(t *testing.T) {
	p := withFaults(t, 1, func(int) faults.Fault { return example(faults.Kill) })
	full, err := sim.Run(sim.Options{Plan: p})
	if err != nil || full.Partial {
		t.Fatalf("to the end: partial %v, error %v", full.Partial, err)
	}
	steps, err := sim.Run(sim.Options{Plan: p, Until: sim.Limit{Steps: 2 * sim.CheckpointEvery}})
	if err != nil || !steps.Partial || steps.Events < 2*sim.CheckpointEvery || steps.Events > 2*sim.CheckpointEvery+100 {
		t.Errorf("until step %d: %d events, partial %v, error %v", 2*sim.CheckpointEvery, steps.Events, steps.Partial, err)
	}
	if !slices.Equal(steps.Checkpoints, full.Checkpoints[:2]) {
		t.Errorf("checkpoints %x, in the whole run %x", steps.Checkpoints, full.Checkpoints)
	}
	timed, err := sim.Run(sim.Options{Plan: p, Until: sim.Limit{Time: second / 2}})
	if err != nil || !timed.Partial || timed.Elapsed != second/2 || timed.Events >= full.Events {
		t.Errorf("until half a second: %d ns, %d events, partial %v, error %v", timed.Elapsed, timed.Events, timed.Partial, err)
	}
}

func TestWhatCannotBeRun(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scenarios.Plan)
		want   string
	}{
		"another target": {func(p *scenarios.Plan) { p.Target.Kind = "nsq" },
			`the simulated world runs Pestle's own broker, not a target of kind "nsq": use another world`},
		"an unknown kind": {func(p *scenarios.Plan) { p.Faults = []faults.Fault{{Ref: 1, Kind: "burn", Target: "broker-1"}} },
			"fault 1 is a burn, which the simulated world cannot carry out"},
		"an unknown process": {func(p *scenarios.Plan) { p.Faults = []faults.Fault{{Ref: 1, Kind: faults.Kill, Target: "broker-2"}} },
			"fault 1 is a kill of broker-2, which is no process of this run"},
		"a replacement of the only broker": {func(p *scenarios.Plan) {
			p.Faults = []faults.Fault{{Ref: 1, Kind: faults.Replace, Target: "broker-1"}}
		}, "fault 1 is a replace, and there is one broker: the target needs others beside it"},
	} {
		p := calm(t)
		c.change(&p)
		if _, err := sim.Run(sim.Options{Plan: p}); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// What the sink says ends the run.
func TestSinkEndsTheRun(t *testing.T) {
	broken := errors.New("broken")
	n := 0
	result, err := sim.Run(sim.Options{Plan: calm(t), Sink: func(history.Event) error {
		if n++; n == 50 {
			return broken
		}
		return nil
	}})
	if !errors.Is(err, broken) || n != 50 {
		t.Errorf("error %v after %d events, want %v after 50", err, n, broken)
	}
	if result.Elapsed > 2*second {
		t.Errorf("the run went on to %d ns", result.Elapsed)
	}
}

// The merged history is whole and in order, and its parts are the streams.
func TestHistory(t *testing.T) {
	p := withFaults(t, 1, func(i int) faults.Fault { return example(faults.Kill) })
	var merged []history.Event
	result, err := sim.Run(sim.Options{Plan: p, Sink: func(e history.Event) error {
		merged = append(merged, e)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, s := range result.Histories {
		for i, e := range s.Events {
			if e.Src != s.Name || e.Seq != uint64(i+1) {
				t.Fatalf("line %d of %s is line %d of %s", i+1, s.Name, e.Seq, e.Src)
			}
		}
		total += len(s.Events)
	}
	if total != len(merged) || !slices.IsSortedFunc(merged, func(a, b history.Event) int {
		if a.Before(b) {
			return -1
		}
		return 1
	}) {
		t.Errorf("%d events merged of %d, or out of order", len(merged), total)
	}
	if len(result.States) != 6 || result.States[0].Name != "consumer-ordered-1" || len(result.Logs) != 1 || result.Logs[0].Name != "broker-1" {
		t.Errorf("%d states, of %s first, and %d logs", len(result.States), result.States[0].Name, len(result.Logs))
	}
}
