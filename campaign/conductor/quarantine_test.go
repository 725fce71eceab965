package conductor

import (
	"path/filepath"
	"slices"
	"testing"

	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/scenarios"
)

// breaches returns what the history says of invariants.
func breaches(t *testing.T, c *Conductor) (list []string) {
	t.Helper()
	events, err := stream.ReadFile(filepath.Join(c.Dir, "history", harnessName+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.What == history.NoteInvariant {
			list = append(list, e.Target+" "+e.Text)
		}
	}
	return list
}

const breach = "broker-2 quarantine: broker-2 takes part in nothing although its disk has lost nothing: the log contradicts another node's"

// A broker that comes back into quarantine holds nothing up. It is a breach,
// unless its medium may have lost something.
func TestABrokerInQuarantine(t *testing.T) {
	kill := faults.Fault{Kind: faults.Kill, Target: "broker-2"}
	rot := faults.Fault{Kind: faults.BitRot, Target: "broker-2", Count: 1, For: millisecond}
	afterRot := kill
	afterRot.Anchor.After = &faults.Event{Fault: 1}
	for _, c := range []struct {
		name   string
		disk   string
		faults []faults.Fault
		want   []string
	}{
		{"after a kill", "", []faults.Fault{kill}, []string{breach}},
		{"after its disk has rotten", "", []faults.Fault{rot, afterRot}, nil},
		{"on a disk that lies", scenarios.DiskLying, []faults.Fault{kill}, nil},
	} {
		run, host := newRun(t, scenarios.Plan{
			Target: scenarios.Target{Kind: "pestle", Nodes: 3, Durability: "fsync", Disk: c.disk}, Faults: c.faults,
		})
		begin(t, run, host)
		host.mu.Lock()
		host.locked = "broker-2"
		host.mu.Unlock()
		var refs []int
		for i := range c.faults {
			refs = append(refs, i+1)
		}
		carryOut(t, run, refs...)
		if got := breaches(t, run); !slices.Equal(got, c.want) {
			t.Errorf("%s: breaches %q, want %q", c.name, got, c.want)
		}
		if n := len(run.members(true)); n != 2 || !run.recovered() {
			t.Errorf("%s: %d members, recovered %t; want the run to go on with two", c.name, n, run.recovered())
		}
	}
}

// A broker that went into quarantine while it ran is found in the end.
func TestQuarantineIsLookedFor(t *testing.T) {
	run, host := newCluster(t)
	if err := run.inspect(t.Context()); err != nil || len(breaches(t, run)) > 0 {
		t.Fatalf("error %v, breaches %q; want none", err, breaches(t, run))
	}
	host.mu.Lock()
	host.locked = "broker-2"
	host.mu.Unlock()
	for range 2 { // it is told once
		if err := run.inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := breaches(t, run); !slices.Equal(got, []string{breach}) {
		t.Errorf("breaches %q, want %q", got, breach)
	}
}

// A broker that has no majority is not ready, and in no quarantine either.
func TestABrokerWithoutAMajorityIsNotReady(t *testing.T) {
	run, host := newCluster(t)
	host.mu.Lock()
	host.idle = []string{"broker-1"}
	host.mu.Unlock()
	if ready, why := run.nodes[0].probe()(t.Context()); ready || why != "" {
		t.Errorf("ready %t, quarantine %q; want neither", ready, why)
	}
}
