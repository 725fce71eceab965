package process

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/scenarios"
)

// fakeCluster answers for the brokers of a world, whose processes do nothing.
type fakeCluster struct {
	mu       sync.Mutex
	leader   string   // who says that it leads; "": nobody
	replaced []string // the replacements asked for
	peers    []string // what the leader says of the others, look by look: JSON
	idle     []string // who answers that it takes part in nothing
}

// newCluster returns a world of three brokers that run, at the start of chaos.
func newCluster(t *testing.T, planned ...faults.Fault) (*World, *fakeCluster) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "broker")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range planned {
		planned[i].Ref = i + 1
	}
	w := New(Options{
		Plan: scenarios.Plan{
			Target:   scenarios.Target{Kind: "pestle", Nodes: 3, Durability: "fsync"},
			Workload: scenarios.Workload{Topic: "orders"}, Faults: planned,
		},
		Dir: t.TempDir(), Program: program, Sink: func(history.Event) error { return nil },
	})
	if err := w.prepare(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.shutDown(); err != nil {
			t.Error(err)
		}
	})
	cluster := &fakeCluster{}
	for _, n := range w.nodes {
		n.http = cluster.serve(t, n.name)
	}
	if err := w.startAll(t.Context(), roleBroker); err != nil {
		t.Fatal(err)
	}
	if err := w.note(history.Event{Ev: history.Phase, What: history.PhaseChaos}); err != nil {
		t.Fatal(err)
	}
	w.chaosBegan = w.lastTick
	w.scheduler = faults.New(planned, nil, int64(time.Hour))
	return w, cluster
}

// serve returns the address at which a broker answers.
func (f *fakeCluster) serve(t *testing.T, name string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if slices.Contains(f.idle, name) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		fmt.Fprintf(w, `{"groups":[{"group":0,"term":1,"role":"leader"},{"group":1,"term":7}],"topics":[{"topic_name":"orders","group":1,"leads":%t}]}`, f.leader == name)
	})
	mux.HandleFunc("GET /cluster", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if name != f.leader {
			fmt.Fprint(w, `{"node":3,"groups":[{"group":0,"role":"follower","term":7}]}`)
			return
		}
		fmt.Fprintf(w, `{"node":1,"groups":[{"group":0,"role":"leader","term":7,"peers":%s}]}`, f.peers[0])
		f.peers = f.peers[1:]
	})
	mux.HandleFunc("POST /cluster/replace", func(_ http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.replaced = append(f.replaced, r.URL.RawQuery)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// carryOut works faults off until those of all refs have ended, one way or
// the other.
func carryOut(t *testing.T, w *World, refs ...int) []faults.Entry {
	t.Helper()
	var failed error
	err := w.wait(t.Context(), 30*time.Second, "the faults do not end", func() bool {
		failed = w.actuate(true)
		entries := w.scheduler.Entries()
		return failed != nil || !slices.ContainsFunc(refs, func(ref int) bool { return entries[ref-1].Ended == faults.Never })
	})
	if failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	return w.scheduler.Entries()
}

// lines returns the fault lines of the history as "kind target edge".
func lines(t *testing.T, w *World) []string {
	t.Helper()
	events, err := stream.ReadFile(filepath.Join(w.Dir, "history", harnessName+".ndjson"))
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
func lives(w *World) string {
	var list []string
	for _, c := range w.children {
		list = append(list, fmt.Sprintf("%s %d", c.name, c.lives))
	}
	return strings.Join(list, ", ")
}

// A fault on the leader hits whoever leads when it begins; the journal and the
// history name the process.
func TestAFaultOnTheLeaderHitsWhoLeads(t *testing.T) {
	w, cluster := newCluster(t, faults.Fault{Kind: faults.Kill, Target: faults.Leader}, faults.Fault{Kind: faults.Pause, Target: faults.Follower(2)})
	cluster.leader = "broker-3"
	entries := carryOut(t, w, 1, 2)
	if entries[0].Target != "broker-3" || entries[1].Target != "broker-2" {
		t.Errorf("the faults hit %s and %s, want the leader broker-3 and the second follower broker-2", entries[0].Target, entries[1].Target)
	}
	got := lines(t, w)
	slices.Sort(got)
	want := []string{"kill broker-3 effective", "kill broker-3 ended", "pause broker-2 effective", "pause broker-2 ended"}
	if !slices.Equal(got, want) {
		t.Errorf("the history has %q, want %q", got, want)
	}
	if got, want := lives(w), "broker-1 1, broker-2 1, broker-3 2"; got != want {
		t.Errorf("lives: %s; want %s", got, want)
	}
}

// While nobody leads there is nobody to hit; the fault begins once it is known.
func TestAFaultOnTheLeaderWaitsForOne(t *testing.T) {
	w, cluster := newCluster(t, faults.Fault{Kind: faults.Kill, Target: faults.Leader})
	for range 3 { // surveys
		answered := make(chan survey, 1)
		answered <- <-w.ask()
		w.seeking = answered
		if err := w.actuate(true); err != nil {
			t.Fatal(err)
		}
	}
	if got := lines(t, w); len(got) > 0 {
		t.Fatalf("the history has %q while nobody leads", got)
	}
	cluster.mu.Lock()
	cluster.leader = "broker-1"
	cluster.mu.Unlock()
	if entries := carryOut(t, w, 1); entries[0].Target != "broker-1" {
		t.Errorf("the fault hit %s, want broker-1", entries[0].Target)
	}
}

// A wiped broker comes back with nothing under its old number, and is no member
// that is to be asked or hit.
func TestAWipedBrokerComesBackEmpty(t *testing.T) {
	w, cluster := newCluster(t, faults.Fault{Kind: faults.Wipe, Target: "broker-2"})
	cluster.idle = []string{"broker-2"}
	left := filepath.Join(w.nodes[1].data, "00000001.journal")
	if err := os.WriteFile(left, []byte("acknowledged"), 0o600); err != nil {
		t.Fatal(err)
	}
	carryOut(t, w, 1)
	if held, err := os.ReadDir(w.nodes[1].data); err != nil || len(held) > 0 {
		t.Errorf("its directory holds %v, error %v; want an empty one", held, err)
	}
	if got, want := lives(w), "broker-1 1, broker-2 2, broker-3 1"; got != want {
		t.Errorf("lives: %s; want %s", got, want)
	}
	if members := w.members(false); len(members) != 2 || members[1].name != "broker-3" {
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
	w, cluster := newCluster(t,
		faults.Fault{Kind: faults.Replace, Target: "broker-2"},
		faults.Fault{Kind: faults.Kill, Target: "broker-2", Anchor: faults.Anchor{After: &faults.Event{Fault: 1}}})
	cluster.leader, cluster.idle = "broker-1", []string{"broker-4"} // until it is taken
	cluster.peers = []string{
		`[{"node":2},{"node":3},{"node":4,"learner":true}]`,
		`[{"node":2},{"node":3},{"node":4}]`,
		`[{"node":3},{"node":4}]`,
	}
	entries := carryOut(t, w, 1, 2)
	if got, want := lives(w), "broker-1 1, broker-2 1, broker-3 1, broker-4 1"; got != want {
		t.Errorf("lives: %s; want %s", got, want)
	}
	want := []string{"address=" + strings.ReplaceAll(w.nodes[3].peer, ":", "%3A") + "&new=4&node=2"}
	if !slices.Equal(cluster.replaced, want) {
		t.Errorf("asked for %q, want %q, once", cluster.replaced, want)
	}
	if len(cluster.peers) > 0 {
		t.Errorf("the fault was over before the leader had said %q", cluster.peers)
	}
	var names []string
	for _, n := range w.members(true) {
		names = append(names, n.name)
	}
	if !slices.Equal(names, []string{"broker-1", "broker-3", "broker-4"}) {
		t.Errorf("members %q, want the spare in the place of broker-2", names)
	}
	if entries[1].Effective != faults.Never {
		t.Error("a broker that is gone for good was killed")
	}
}
