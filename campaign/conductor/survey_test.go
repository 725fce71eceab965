package conductor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pestle/scenarios"
)

// said is what a broker answers about topic orders.
func said(t *testing.T, n int, leads bool, term uint64, left int64) surveyed {
	t.Helper()
	var s stats
	text := fmt.Sprintf(`{"groups":[{"group":0,"role":"follower","term":99},{"group":2,"role":"x","term":%d}],
		"topics":[{"topic_name":"other","group":3,"leads":true,"channels":[{"channel_name":"a","depth":7}]},
		{"topic_name":"orders","group":2,"leads":%t,"depth":0,"channels":[{"channel_name":"a","depth":%d,"in_flight_count":0,"deferred_count":0}]}]}`, term, leads, left)
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return surveyed{node: &node{name: brokerName(n), id: uint64(n)}, stats: s}
}

func TestWhoLeads(t *testing.T) {
	for name, c := range map[string]struct {
		size    int
		answers []surveyed
		want    string
	}{
		"the one that says so":                  {3, []surveyed{said(t, 1, false, 4, 0), said(t, 2, true, 4, 0), said(t, 3, false, 4, 0)}, "broker-2"},
		"nobody while they elect":               {3, []surveyed{said(t, 1, false, 4, 0), said(t, 2, false, 4, 0), said(t, 3, false, 4, 0)}, ""},
		"the later one of two":                  {3, []surveyed{said(t, 1, true, 4, 0), said(t, 2, false, 5, 0), said(t, 3, true, 5, 0)}, "broker-3"},
		"nobody once a later term has begun":    {3, []surveyed{said(t, 1, true, 4, 0), said(t, 2, false, 5, 0), said(t, 3, false, 5, 0)}, ""},
		"a majority is enough":                  {3, []surveyed{said(t, 1, true, 4, 0), said(t, 2, false, 4, 0)}, "broker-1"},
		"a minority cannot know":                {3, []surveyed{said(t, 1, true, 4, 0)}, ""},
		"a broker alone leads whatever it says": {1, []surveyed{said(t, 1, false, 0, 0)}, "broker-1"},
		"a broker alone has to answer":          {1, nil, ""},
	} {
		lead, known := survey{topic: "orders", size: c.size, answers: c.answers}.leader()
		got := ""
		if known {
			got = lead.node.name
		}
		if got != c.want {
			t.Errorf("%s: %q leads, want %q", name, got, c.want)
		}
	}
}

// A fault needs to know only the leaders; a survey is over once a majority has
// named them, whatever the others are about to say.
func TestASurveyIsCompleteWithBothLeaders(t *testing.T) {
	metadata := func(a surveyed) surveyed {
		a.stats.Groups[0].Role = "leader"
		return a
	}
	for name, c := range map[string]struct {
		answers []surveyed
		want    bool
	}{
		"both named":           {[]surveyed{said(t, 1, true, 4, 0), metadata(said(t, 2, false, 4, 0))}, true},
		"one leads both":       {[]surveyed{said(t, 1, false, 4, 0), metadata(said(t, 2, true, 4, 0))}, true},
		"no majority":          {[]surveyed{metadata(said(t, 1, true, 4, 0))}, false},
		"the topic's is open":  {[]surveyed{metadata(said(t, 1, false, 4, 0)), said(t, 2, false, 4, 0)}, false},
		"the metadata's is so": {[]surveyed{said(t, 1, true, 4, 0), said(t, 2, false, 4, 0)}, false},
	} {
		if got := (survey{topic: "orders", size: 3, answers: c.answers}).complete(); got != c.want {
			t.Errorf("%s: complete %t, want %t", name, got, c.want)
		}
	}
}

// Only the leader knows what is in flight; what the others say counts for
// nothing, and a survey without a leader breaks the row.
func TestADrainIsProvenByTheLeader(t *testing.T) {
	load := scenarios.Workload{Consumers: []scenarios.Consumer{{Name: "consumer-a-1", Channel: "a"}}}
	both := func(left, followerSays int64) survey {
		return survey{topic: "orders", size: 3, answers: []surveyed{said(t, 1, false, 4, followerSays), said(t, 2, true, 4, left)}}
	}
	unled := survey{topic: "orders", size: 3, answers: []surveyed{said(t, 1, false, 4, 0), said(t, 2, false, 4, 0)}}
	for name, c := range map[string]struct {
		surveys []survey
		proven  int    // by the survey of this number, from 1; 0: not
		rest    string // said of the channel in the end
	}{
		"empty twice in a row":          {[]survey{both(0, 0), both(0, 0)}, 2, ""},
		"the leader still holds one":    {[]survey{both(1, 0), both(1, 0), both(1, 0)}, 0, "1 messages left"},
		"what a follower says":          {[]survey{both(0, 9), both(0, 9)}, 2, ""},
		"once, full again, once":        {[]survey{both(0, 0), both(1, 0), both(0, 0)}, 0, "0 messages left"},
		"nobody leads in between":       {[]survey{both(0, 0), unled, both(0, 0), both(0, 0)}, 4, ""},
		"it is noted once and for ever": {[]survey{both(0, 0), both(0, 0), both(0, 0)}, 2, ""},
		"nobody leads":                  {[]survey{unled, unled}, 0, "no broker that leads the topic gave statistics"},
		"the last word of a leader":     {[]survey{both(3, 0), unled}, 0, "3 messages left"},
	} {
		p, sent := emptiness{seen: map[string]int{}}, newSentinels(load)
		got, times := 0, 0
		for i, s := range c.surveys {
			if len(p.look(s, sent)) > 0 {
				got = i + 1
				times++
			}
		}
		if got != c.proven || times > 1 {
			t.Errorf("%s: proven %d times, the last by survey %d; want by %d", name, times, got, c.proven)
		}
		if rest, left := p.rest("a"); rest != c.rest || left != (c.proven == 0) {
			t.Errorf("%s: %q is left, %t; want %q", name, rest, left, c.rest)
		}
	}
}

// A broker that says nothing is left out when the time is over.
func TestASilentBrokerIsLeftOut(t *testing.T) {
	silent := make(chan struct{})
	answer := func(wait bool) *node {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if wait {
				<-silent
			}
			fmt.Fprintf(w, `{"topics":[{"topic_name":%q}]}`, r.URL.Query().Get("topic"))
		}))
		t.Cleanup(s.Close)
		return &node{member: true, Endpoints: Endpoints{Call: strings.TrimPrefix(s.URL, "http://")}}
	}
	c := New(Options{Plan: scenarios.Plan{Target: scenarios.Target{Nodes: 3}, Workload: scenarios.Workload{Topic: "orders"}}})
	c.nodes = []*node{answer(true), answer(false), {member: true, Endpoints: Endpoints{Call: "127.0.0.1:1"}}}
	t.Cleanup(func() { close(silent) }) // before the servers close, which wait for their answers
	got := <-c.ask()
	if len(got.answers) != 1 || got.answers[0].node != c.nodes[1] || got.answers[0].stats.Topics[0].Name != "orders" {
		t.Errorf("answers %+v, want that of the second broker alone", got.answers)
	}
}

// A cluster that is electing refuses what it does a moment later, and another
// node may do at once; what is wrong with the call itself is told at once.
func TestInsisting(t *testing.T) {
	refusing := &statusError{call: "POST /x", status: "503 Service Unavailable", code: http.StatusServiceUnavailable, body: "READ_ONLY_DEGRADED"}
	wrong := &statusError{call: "POST /x", status: "400 Bad Request", code: http.StatusBadRequest, body: "INVALID_TOPIC"}
	for name, c := range map[string]struct {
		answers []error // in turn; the last one stays
		calls   int
		want    error
	}{
		"done at once":               {[]error{nil}, 1, nil},
		"another broker does it":     {[]error{refusing, nil}, 2, nil},
		"after an election":          {[]error{refusing, refusing, refusing, refusing, nil}, 5, nil},
		"none of them ever does it":  {[]error{wrong}, 1, wrong},
		"not even the second broker": {[]error{refusing, wrong}, 2, wrong},
	} {
		run, _ := newRun(t, scenarios.Plan{})
		run.nodes, run.processes = []*node{{name: "here", member: true}, {name: "there", member: true}}, nil // both run already
		calls := 0
		err := run.insist(t.Context(), "make x", func(*node) error {
			calls++
			return c.answers[min(calls, len(c.answers))-1]
		})
		if calls != c.calls || (err == nil) != (c.want == nil) || err != nil && !strings.Contains(err.Error(), "make x: "+c.want.Error()) {
			t.Errorf("%s: %d calls, error %v; want %d, %v", name, calls, err, c.calls, c.want)
		}
	}
}
