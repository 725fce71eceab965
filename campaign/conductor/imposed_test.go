package conductor

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/scenarios"
)

// journalOf returns actuations.ndjson as far as it is written.
func journalOf(t *testing.T, c *Conductor) []Line {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Dir, ActuationsName))
	if err != nil {
		t.Fatal(err)
	}
	var list []Line
	for line := range strings.Lines(string(text)) {
		var l Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

// until takes steps until done says so.
func until(t *testing.T, c *Conductor, done func() bool) {
	t.Helper()
	var failed error
	if err := c.wait(t.Context(), 30*time.Second, "it does not happen", func() bool {
		failed = c.actuate(true)
		return failed != nil || done()
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

const millisecond = int64(time.Millisecond)

// A fault that the host carries out lasts For from when it is certain, and is
// lifted then.
func TestAnImposedFaultLastsAndIsLifted(t *testing.T) {
	run, host := newCluster(t, faults.Fault{Kind: faults.Cut, Target: "broker-1", Peer: "broker-2", For: 20 * millisecond})
	carryOut(t, run, 1)
	if got, want := host.calls(), []string{"impose 1 cut broker-1", "lift 1 cut broker-1"}; !slices.Equal(got, want) {
		t.Errorf("the host was told to %q, want %q", got, want)
	}
	if got, want := lines(t, run), []string{"cut broker-1 effective", "cut broker-1 ended"}; !slices.Equal(got, want) {
		t.Errorf("the history has %q, want %q", got, want)
	}
	got := journalOf(t, run)
	if len(got) != 2 || got[0].Edge != history.EdgeEffective || got[1].Edge != history.EdgeEnded {
		t.Fatalf("the journal has %+v, want that it took effect and ended", got)
	}
	began, ended := got[0], got[1]
	if began.Evidence != "effective by script" || ended.Evidence != "ended by script" {
		t.Errorf("evidence %q and %q, want what the host said", began.Evidence, ended.Evidence)
	}
	if began.Due > began.Asked || began.Asked > began.Done || began.Lateness != began.Done-began.Due {
		t.Errorf("began %+v, want it due, asked for and done in this order", began)
	}
	if ended.Due != began.Done+20*millisecond || ended.Asked < ended.Due || ended.Done < ended.Asked {
		t.Errorf("ended %+v, want it 20 ms after %d", ended, began.Done)
	}
}

// A fault on whoever leads is imposed on processes, its peer too.
func TestAnImposedFaultIsOnProcesses(t *testing.T) {
	run, host := newCluster(t, faults.Fault{Kind: faults.Cut, Target: faults.Leader, Peer: faults.Follower(1), For: millisecond})
	host.leader = "broker-2"
	carryOut(t, run, 1)
	if got, want := host.calls()[0], "impose 1 cut broker-2"; got != want {
		t.Errorf("the host was told to %q, want %q", got, want)
	}
}

// A fault is noted once the host is certain of it, with the moment before it was
// asked for, and ahead of everything that came in between: a consequence is never
// older than its cause.
func TestWhatAFaultDoesComesAfterIt(t *testing.T) {
	run, host := newCluster(t, faults.Fault{Kind: faults.Cut, Target: "broker-1", Peer: "broker-2", For: millisecond})
	host.silent = true
	until(t, run, func() bool { return len(run.actions) == 1 })
	asked := run.actions[0].asked
	if err := run.say(history.Event{Ev: history.Note, What: history.NoteReady, Target: "broker-3"}); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, run); len(got) > 0 {
		t.Fatalf("the history has %q before the host has said anything", got)
	}
	host.say(1, history.EdgeEffective, nil)
	until(t, run, func() bool { return run.took == 1 })
	events, err := stream.ReadFile(filepath.Join(run.Dir, "history", harnessName+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(events, func(e history.Event) bool { return e.Ev == history.Fault })
	after := slices.IndexFunc(events, func(e history.Event) bool { return e.Target == "broker-3" && e.T > asked })
	if at < 0 || after < at || events[at].T != asked {
		t.Errorf("the fault, asked for at %d, is line %d and what came later line %d of %+v", asked, at, after, events)
	}
	if host.silent = false; run.actions[0].lifted != 0 {
		host.say(1, history.EdgeEnded, nil) // nobody had answered yet
	}
	carryOut(t, run, 1)
}

// What is over at once is not lifted.
func TestAFaultThatIsOverAtOnce(t *testing.T) {
	run, host := newCluster(t, faults.Fault{Kind: faults.Reset, Target: "broker-1"})
	carryOut(t, run, 1)
	if got, want := host.calls(), []string{"impose 1 reset broker-1"}; !slices.Equal(got, want) {
		t.Errorf("the host was told to %q, want %q", got, want)
	}
}

// A fault of the host's that ends a process is not lifted: the process is
// started again, and the fault is over when it is ready.
func TestAPowerLossEndsWithTheRestart(t *testing.T) {
	for _, kind := range []faults.Kind{faults.PowerLoss, faults.OutOfMemory} {
		run, host := newCluster(t, faults.Fault{Kind: kind, Target: "broker-1", For: 10 * millisecond})
		carryOut(t, run, 1)
		if got, want := host.calls(), []string{"impose 1 " + string(kind) + " broker-1", "start broker-1"}; !slices.Equal(got, want) {
			t.Errorf("the host was told to %q, want %q", got, want)
		}
		if got := journalOf(t, run); len(got) != 2 || got[1].Evidence != "signal: killed; incarnation 2 of broker-1 is ready" {
			t.Errorf("%s: the journal has %+v, want how it ended and was started", kind, got)
		}
	}
}

// What the host cannot do ends the run; and so does an answer that nobody asked
// for: the harness has lost its bearings.
func TestAFailingHostEndsTheRun(t *testing.T) {
	broken := errors.New("the agent is gone")
	for _, c := range []struct {
		name string
		say  Actuation
		want string
	}{
		{"an error", Actuation{Ref: 1, Edge: history.EdgeEffective, Err: broken}, broken.Error()},
		{"of no fault", Actuation{Ref: 9, Edge: history.EdgeEffective}, "fault 9 is effective, which nobody had asked for"},
		{"an end before its time", Actuation{Ref: 1, Edge: history.EdgeEnded}, "fault 1 is ended, which nobody had asked for"},
	} {
		run, host := newCluster(t, faults.Fault{Kind: faults.Cut, Target: "broker-1", Peer: "broker-2", For: millisecond})
		host.silent = true
		until(t, run, func() bool { return len(run.actions) == 1 })
		host.answers <- c.say
		if err := run.step(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// A fault whose answer never came may have done something: the history has it
// when the run ends, so that nothing is held against the target.
func TestAnUnansweredFaultCounts(t *testing.T) {
	host := newScripted(t)
	run := prepared(t, scenarios.Plan{
		Target: scenarios.Target{Kind: "pestle", Nodes: 3, Durability: "fsync"},
		Faults: []faults.Fault{{Kind: faults.Cut, Target: "broker-1", Peer: "broker-2", For: millisecond}},
	}, host)
	begin(t, run, host)
	host.silent = true
	until(t, run, func() bool { return len(run.actions) == 1 })
	if err := run.doubtful(); err != nil {
		t.Fatal(err)
	}
	if got, want := lines(t, run), []string{"cut broker-1 effective"}; !slices.Equal(got, want) {
		t.Errorf("the history has %q, want %q", got, want)
	}
	if got := journalOf(t, run); len(got) > 0 {
		t.Errorf("the journal has %+v, want nothing: it is not certain", got)
	}
	run.actions = nil // it is noted: the end of the run has nothing to add
}
