package conductor

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
)

// carryOut works faults off until those of all refs have ended, one way or
// the other.
func carryOut(t *testing.T, c *Conductor, refs ...int) []faults.Entry {
	t.Helper()
	var failed error
	err := c.wait(t.Context(), 30*time.Second, "the faults do not end", func() bool {
		failed = c.actuate(true)
		entries := c.scheduler.Entries()
		return failed != nil || !slices.ContainsFunc(refs, func(ref int) bool { return entries[ref-1].Ended == faults.Never })
	})
	if failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	return c.scheduler.Entries()
}

// lines returns the fault lines of the history as "kind target edge".
func lines(t *testing.T, c *Conductor) []string {
	t.Helper()
	events, err := stream.ReadFile(filepath.Join(c.Dir, "history", harnessName+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range events {
		if e.Ev == history.Fault {
			list = append(list, e.What+" "+e.Target+" "+e.Edge)
		}
	}
	return list
}

// lives lists how often each broker was started.
func lives(c *Conductor) string {
	var list []string
	for _, p := range c.processes {
		list = append(list, fmt.Sprintf("%s %d", p.Name, p.lives))
	}
	return strings.Join(list, ", ")
}

// A fault on the leader hits whoever leads when it begins; the journal and the
// history name the process.
func TestAFaultOnTheLeaderHitsWhoLeads(t *testing.T) {
	run, host := newCluster(t, faults.Fault{Kind: faults.Kill, Target: faults.Leader}, faults.Fault{Kind: faults.Pause, Target: faults.Follower(2)})
	host.leader = "broker-3"
	entries := carryOut(t, run, 1, 2)
	if entries[0].Target != "broker-3" || entries[1].Target != "broker-2" {
		t.Errorf("the faults hit %s and %s, want the leader broker-3 and the second follower broker-2", entries[0].Target, entries[1].Target)
	}
	got := lines(t, run)
	slices.Sort(got)
	want := []string{"kill broker-3 effective", "kill broker-3 ended", "pause broker-2 effective", "pause broker-2 ended"}
	if !slices.Equal(got, want) {
		t.Errorf("the history has %q, want %q", got, want)
	}
	if got, want := lives(run), "broker-1 1, broker-2 1, broker-3 2"; got != want {
		t.Errorf("lives: %s; want %s", got, want)
	}
}

// While nobody leads there is nobody to hit; the fault begins once it is known.
func TestAFaultOnTheLeaderWaitsForOne(t *testing.T) {
	run, host := newCluster(t, faults.Fault{Kind: faults.Kill, Target: faults.Leader})
	for range 3 { // surveys
		answered := make(chan survey, 1)
		answered <- <-run.ask()
		run.seeking = answered
		if err := run.actuate(true); err != nil {
			t.Fatal(err)
		}
	}
	if got := lines(t, run); len(got) > 0 {
		t.Fatalf("the history has %q while nobody leads", got)
	}
	host.mu.Lock()
	host.leader = "broker-1"
	host.mu.Unlock()
	if entries := carryOut(t, run, 1); entries[0].Target != "broker-1" {
		t.Errorf("the fault hit %s, want broker-1", entries[0].Target)
	}
}

// A wiped broker comes back with nothing under its old number, and is no member
// that is to be asked or hit.
func TestAWipedBrokerComesBackEmpty(t *testing.T) {
	run, host := newCluster(t, faults.Fault{Kind: faults.Wipe, Target: "broker-2"})
	host.idle = []string{"broker-2"}
	carryOut(t, run, 1)
	if got, want := host.calls(), []string{"signal broker-2 SIGKILL", "lose broker-2", "start broker-2"}; !slices.Equal(got, want) {
		t.Errorf("the host was told to %q, want %q", got, want)
	}
	if got, want := lives(run), "broker-1 1, broker-2 2, broker-3 1"; got != want {
		t.Errorf("lives: %s; want %s", got, want)
	}
	if members := run.members(false); len(members) != 2 || members[1].name != "broker-3" {
		t.Errorf("members %v, want broker-1 and broker-3", members)
	}
}

// A new broker counts when the leader of every group says so, in the latest
// term that anybody knows.
func TestANewBrokerIsTakenByEveryGroup(t *testing.T) {
	const (
		before  = `"peers":[{"node":2},{"node":3}]`
		learns  = `"peers":[{"node":3},{"node":4,"learner":true}]`
		both    = `"peers":[{"node":2},{"node":3},{"node":4}]`
		without = `"peers":[{"node":3}]`
		after   = `"peers":[{"node":3},{"node":4}]`
	)
	leads := func(node, group, term int, peers string) string {
		return fmt.Sprintf(`{"node":%d,"groups":[{"group":%d,"role":"leader","term":%d,%s}]}`, node, group, term, peers)
	}
	follows := func(group, term int) string {
		return fmt.Sprintf(`{"node":3,"groups":[{"group":%d,"role":"follower","term":%d}]}`, group, term)
	}
	for name, c := range map[string]struct {
		said []string
		want bool
	}{
		"nobody answers":                  {nil, false},
		"taken":                           {[]string{leads(1, 0, 5, after)}, true},
		"not begun":                       {[]string{leads(1, 0, 5, before)}, false},
		"a learner":                       {[]string{leads(1, 0, 5, learns)}, false},
		"beside the old one":              {[]string{leads(1, 0, 5, both)}, false},
		"only the old one is out":         {[]string{leads(1, 0, 5, without)}, false},
		"in one group of two":             {[]string{leads(1, 0, 5, after), leads(1, 1, 2, before)}, false},
		"in both":                         {[]string{leads(1, 0, 5, after), leads(3, 1, 2, after)}, true},
		"a group without a leader":        {[]string{leads(1, 0, 5, after), follows(1, 2)}, false},
		"it leads a group itself":         {[]string{leads(1, 0, 5, after), leads(4, 1, 2, `"peers":[{"node":1},{"node":3}]`)}, true},
		"in the words of an old term":     {[]string{leads(1, 0, 5, after), follows(0, 6)}, false},
		"whatever an old term still says": {[]string{leads(3, 0, 6, after), leads(1, 0, 5, before)}, true},
	} {
		var said []membership
		for _, text := range c.said {
			var m membership
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				t.Fatal(err)
			}
			said = append(said, m)
		}
		if got := taken(said, 2, 4); got != c.want {
			t.Errorf("%s: taken %t, want %t", name, got, c.want)
		}
	}
}

// A replaced broker stays away. A spare takes its place: the fault is over when
// it is a voter and the old one no member any more.
func TestAReplacedBrokerStaysAway(t *testing.T) {
	run, host := newCluster(t,
		faults.Fault{Kind: faults.Replace, Target: "broker-2"},
		faults.Fault{Kind: faults.Kill, Target: "broker-2", Anchor: faults.Anchor{After: &faults.Event{Fault: 1}}})
	host.leader, host.idle = "broker-1", []string{"broker-4"} // until it is taken
	host.peers = []string{
		`[{"node":2},{"node":3},{"node":4,"learner":true}]`,
		`[{"node":2},{"node":3},{"node":4}]`,
		`[{"node":3},{"node":4}]`,
	}
	entries := carryOut(t, run, 1, 2)
	if got, want := lives(run), "broker-1 1, broker-2 1, broker-3 1, broker-4 1"; got != want {
		t.Errorf("lives: %s; want %s", got, want)
	}
	want := []string{"address=" + strings.ReplaceAll(run.nodes[3].Peer, ":", "%3A") + "&new=4&node=2"}
	if !slices.Equal(host.replaced, want) {
		t.Errorf("asked for %q, want %q, once", host.replaced, want)
	}
	if len(host.peers) > 0 {
		t.Errorf("the fault was over before the leader had said %q", host.peers)
	}
	var names []string
	for _, n := range run.members(true) {
		names = append(names, n.name)
	}
	if !slices.Equal(names, []string{"broker-1", "broker-3", "broker-4"}) {
		t.Errorf("members %q, want the spare in the place of broker-2", names)
	}
	if entries[1].Effective != faults.Never {
		t.Error("a broker that is gone for good was killed")
	}
}
