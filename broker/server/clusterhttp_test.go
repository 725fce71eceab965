package server

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pestle/broker/core"
	"pestle/broker/nsq"
)

// fakeCore answers a server's requests in the core's place.
type fakeCore struct {
	*Server
	reply core.Reply
	asked chan core.Request
}

func withFakeCore(t *testing.T, reply core.Reply) *fakeCore {
	t.Helper()
	s, err := Open(testConfig(openDir(t, t.TempDir())))
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeCore{Server: s, reply: reply, asked: make(chan core.Request, 100)}
	close(s.ready)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-s.mail.wake:
			case <-s.ended:
				return
			}
			for _, m := range s.mail.take(nil) {
				f.asked <- *m.event.Request
				m.answer <- f.reply
			}
		}
	}()
	t.Cleanup(func() { close(s.ended); <-done; s.peers.Close(); _ = s.closeListeners() })
	return f
}

func (f *fakeCore) call(method, path string) (int, string) {
	w := httptest.NewRecorder()
	f.http.Handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Code, w.Body.String()
}

// clusterStats is what the leader of some groups of three nodes knows.
func clusterStats() *core.Stats {
	return &core.Stats{
		Health: "OK", Node: 2,
		Cluster:  []core.Member{{ID: 1, Address: "a:1"}, {ID: 2, Address: "b:1"}, {ID: 4, Address: "d:1", Learner: true}},
		Draining: []uint64{1},
		Groups: []core.GroupStats{
			{Group: 0, Role: core.Follower, State: core.Healthy, Term: 7, Lead: 1, First: 3, Commit: 20, Applied: 19, Last: 21},
			{Group: 1, Role: core.Leader, State: core.Degraded, Term: 8, Lead: 2, First: 1, Commit: 9, Applied: 9, Last: 9, Peers: []core.PeerStats{
				{Node: 1, Match: 9, Active: true}, {Node: 4, Match: 2, Learner: true},
			}},
		},
		Topics: []core.TopicStats{
			{Name: "led", Group: 1, Leads: true, MessageCount: 5, MessageBytes: 50, Channels: []core.ChannelStats{
				{Name: "ch", Depth: 1, InFlight: 2, Deferred: 3, MessageCount: 5, RequeueCount: 6, TimeoutCount: 7, FinishedBelow: 8, Clients: make([]core.ClientStats, 2)},
			}},
			{Name: "followed", Group: 1, Depth: 4, Channels: []core.ChannelStats{{Name: "ch"}}},
		},
	}
}

func TestClusterStatus(t *testing.T) {
	f := withFakeCore(t, core.Reply{Stats: clusterStats()})
	code, body := f.call("GET", "/cluster")
	const want = `{"node":2,"health":"OK","members":[{"id":1,"address":"a:1","learner":false},{"id":2,"address":"b:1","learner":false},{"id":4,"address":"d:1","learner":true}],` +
		`"draining":[1],"groups":[{"group":0,"role":"follower","state":"healthy","term":7,"lead":1,"first":3,"commit":20,"applied":19,"last":21},` +
		`{"group":1,"role":"leader","state":"degraded","term":8,"lead":2,"first":1,"commit":9,"applied":9,"last":9,"peers":[{"node":1,"match":9,"active":true,"learner":false},{"node":4,"match":2,"active":false,"learner":true}]}]}`
	if code != 200 || body != want {
		t.Errorf("got %d %s\nwant 200 %s", code, body, want)
	}
}

func TestChangesOfTheClusterReachTheCore(t *testing.T) {
	f := withFakeCore(t, core.Reply{})
	for _, test := range []struct {
		path string
		want core.Request
	}{
		{"transfer?group=3&node=2", core.Request{Kind: core.ReqTransfer, Group: 3, Node: 2}},
		{"transfer?group=metadata&node=2", core.Request{Kind: core.ReqTransfer, Node: 2}},
		{"transfer?group=0&node=2", core.Request{Kind: core.ReqTransfer, Node: 2}},
		{"transfer?group=all&node=2", core.Request{Kind: core.ReqTransfer, Group: core.AllGroups, Node: 2}},
		{"drain?node=3", core.Request{Kind: core.ReqDrain, Node: 3}},
		{"drain?node=3&undo=true", core.Request{Kind: core.ReqDrain, Node: 3, Undo: true}},
		{"drain?node=3&undo=false", core.Request{Kind: core.ReqDrain, Node: 3}},
		{"replace?node=3&new=4&address=d:1", core.Request{Kind: core.ReqReplace, Node: 3, NewNode: 4, Address: "d:1"}},
		{"replace?node=3", core.Request{Kind: core.ReqReplace, Node: 3}},
	} {
		if code, body := f.call("POST", "/cluster/"+test.path); code != 200 || body != "OK" {
			t.Errorf("%s: got %d %s", test.path, code, body)
			continue
		}
		got := <-f.asked
		got.ID = 0
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.path, diff)
		}
	}
}

func TestWrongCallsAboutTheClusterReachNobody(t *testing.T) {
	f := withFakeCore(t, core.Reply{})
	for _, test := range []struct{ method, path, want string }{
		{"GET", "cluster/drain?node=1", `405 \{"message":"METHOD_NOT_ALLOWED"\}`},
		{"POST", "cluster/transfer?node=1", `400 \{"message":"MISSING_ARG_GROUP"\}`},
		{"POST", "cluster/transfer?group=x&node=1", `400 \{"message":"INVALID_ARG_GROUP",.*\}`},
		{"POST", "cluster/transfer?group=4294967295&node=1", `400 \{"message":"INVALID_ARG_GROUP",.*\}`},
		{"POST", "cluster/transfer?group=1", `400 \{"message":"MISSING_ARG_NODE"\}`},
		{"POST", "cluster/drain?node=0", `400 \{"message":"INVALID_ARG_NODE",.*\}`},
		{"POST", "cluster/drain", `400 \{"message":"MISSING_ARG_NODE"\}`},
		{"POST", "cluster/replace?new=4&address=d:1", `400 \{"message":"MISSING_ARG_NODE"\}`},
		{"POST", "cluster/replace?node=3&address=d:1", `400 \{"message":"MISSING_ARG_NEW"\}`},
		{"POST", "cluster/replace?node=3&new=0&address=d:1", `400 \{"message":"INVALID_ARG_NEW",.*\}`},
		{"POST", "cluster/replace?node=3&new=4", `400 \{"message":"INVALID_ARG_ADDRESS",.*\}`},
		{"POST", "cluster/replace?node=3&new=4&address=d", `400 \{"message":"INVALID_ARG_ADDRESS",.*\}`},
		{"GET", "log", `400 \{"message":"MISSING_ARG_TOPIC"\}`},
		{"GET", "log?topic=t&offset=-1", `400 \{"message":"INVALID_ARG_OFFSET",.*\}`},
		{"GET", "log?topic=t&count=0", `400 \{"message":"INVALID_ARG_COUNT",.*\}`},
		{"GET", "log?topic=t&count=65", `400 \{"message":"INVALID_ARG_COUNT",.*\}`},
	} {
		code, body := f.call(test.method, "/"+test.path)
		if got := fmt.Sprintf("%d %s", code, body); !regexp.MustCompile("^" + test.want + "$").MatchString(got) {
			t.Errorf("%s: got %s, want %s", test.path, got, test.want)
		}
	}
	if len(f.asked) > 0 {
		t.Errorf("the core was asked: %+v", <-f.asked)
	}
}

func TestARefusedChangeSaysWhy(t *testing.T) {
	for code, status := range map[string]int{"UNKNOWN_NODE": 404, "INVALID_ADDRESS": 400, "NODE_ID_USED": 409, "NODE_GONE": 409, "NO_LEADER": 503} {
		f := withFakeCore(t, core.Reply{Code: code, Text: "because"})
		got, body := f.call("POST", "/cluster/drain?node=9")
		if want := fmt.Sprintf(`{"message":%q,"detail":"because"}`, code); got != status || body != want {
			t.Errorf("got %d %s, want %d %s", got, body, status, want)
		}
	}
}

func TestTheLogIsRead(t *testing.T) {
	f := withFakeCore(t, core.Reply{Read: []core.StoredMessage{
		{Offset: 5, Log: 1_700_000_000_123_456_789, Body: []byte("one\n")}, {Offset: 7, Log: 1_700_000_001_000_000_000, Body: []byte{0xff}},
	}})
	for _, test := range []struct{ path, want string }{
		{"/log?topic=t&offset=5&count=2", `{"topic":"t","messages":[{"offset":5,"timestamp":1700000000123456789,"body":"b25lCg=="},{"offset":7,"timestamp":1700000001000000000,"body":"/w=="}]}`},
		{"/log?topic=t&offset=5&count=2&format=text", "5\t2023-11-14T22:13:20.123456789Z\t\"one\\n\"\n7\t2023-11-14T22:13:21Z\t\"\\xff\"\n"},
	} {
		if code, body := f.call("GET", test.path); code != 200 || body != test.want {
			t.Errorf("%s: got %d %s, want %s", test.path, code, body, test.want)
		}
		got := <-f.asked
		got.ID = 0
		if diff := cmp.Diff(core.Request{Kind: core.ReqRead, Topic: "t", Offset: 5, Count: 2}, got); diff != "" {
			t.Errorf("%s:\n%s", test.path, diff)
		}
	}
	f.reply = core.Reply{}
	if code, body := f.call("GET", "/log?topic=t"); code != 200 || body != `{"topic":"t","messages":[]}` {
		t.Errorf("nothing stored: got %d %s", code, body)
	}
	if got := <-f.asked; got.Offset != 0 || got.Count != 1 {
		t.Errorf("asked for %d messages from %d on, want one from the beginning", got.Count, got.Offset)
	}
}

func TestHealthzTellsWhatIsNotServed(t *testing.T) {
	group := func(id uint32, state core.QuorumState, lead uint64) core.GroupStats {
		return core.GroupStats{Group: id, State: state, Lead: lead}
	}
	for _, test := range []struct {
		name  string
		stats core.Stats
		code  int
		want  string
	}{
		{"a broker alone", core.Stats{Health: "OK"}, 200, "OK\n"},
		{"every group has a leader", core.Stats{Health: "OK", Groups: []core.GroupStats{group(0, core.Healthy, 1), group(1, core.Degraded, 2)}}, 200, "OK\n"},
		{"two have none", core.Stats{Health: "group 0 is electing", Groups: []core.GroupStats{group(0, core.Electing, 0), group(1, core.Healthy, 2), group(2, core.ReadOnly, 1)}},
			503, "group metadata is electing: no leader is known\ngroup 2 is read-only: node 1 leads it without a majority\n"},
		{"not well by itself", core.Stats{Health: "the disk is full", Groups: []core.GroupStats{group(3, core.Degraded, 1)}}, 503, "the disk is full\n"},
		{"quarantined", core.Stats{Health: "in quarantine", Quarantine: "the journal is gone", Groups: []core.GroupStats{group(0, core.Electing, 0)}},
			503, "quarantine: the journal is gone\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := withFakeCore(t, core.Reply{Stats: &test.stats})
			if code, body := f.call("GET", "/healthz"); code != test.code || body != test.want {
				t.Errorf("got %d %q, want %d %q", code, body, test.code, test.want)
			}
		})
	}
}

func TestStatsOfAClusterComeBehindNSQs(t *testing.T) {
	st := clusterStats()
	st.Quarantine = "why"
	f := withFakeCore(t, core.Reply{Stats: st})
	_, body := f.call("GET", "/stats?format=json&include_mem=0&include_clients=0")
	var got struct {
		Node       uint64
		Quarantine string
		Groups     []GroupStatus
		Topics     []struct {
			Group uint32
			Leads bool
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Node != 2 || got.Quarantine != "why" || got.Topics[0].Group != 1 || !got.Topics[0].Leads || got.Topics[1].Leads {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff(describeGroups(st.Groups), got.Groups); diff != "" {
		t.Error(diff)
	}
	if at := []int{strings.Index(body, `"producers"`), strings.Index(body, `"node"`), strings.Index(body, `"groups"`)}; !slices.IsSorted(at) || at[0] < 0 {
		t.Errorf("keys are at %v, want NSQ's first:\n%s", at, body)
	}
	_, text := f.call("GET", "/stats?include_mem=0")
	const want = "\nProducers: None\n\nGroups:\n" +
		"   [metadata       ] follower  healthy   term: 7     leader: 1   first: 3        commit: 20       applied: 19       last: 21      \n" +
		"   [1              ] leader    degraded  term: 8     leader: 2   first: 1        commit: 9        applied: 9        last: 9       \n" +
		"\nNode: 2\nQuarantine: why\n"
	if !strings.HasSuffix(text, want) {
		t.Errorf("got\n%s\nwant at the end\n%s", text, want)
	}
}

func TestMetricsAreWhatTheCoreSays(t *testing.T) {
	f := withFakeCore(t, core.Reply{Stats: clusterStats()})
	f.peers.Tell(4, "127.0.0.1:1", make([]byte, 100<<20)) // longer than any frame: dropped
	code, body := f.call("GET", "/metrics")
	if code != 200 {
		t.Fatalf("got %d %s", code, body)
	}
	for _, want := range []string{
		"# TYPE pestle_topic_messages_total counter",
		"# TYPE pestle_channel_depth gauge",
		"pestle_stats_answered 1",
		"pestle_connections 0",
		"pestle_quarantined 0",
		"pestle_cluster_members 3",
		`pestle_topic_messages_total{topic="led"} 5`,
		`pestle_topic_bytes_total{topic="led"} 50`,
		`pestle_topic_depth{topic="followed"} 4`,
		`pestle_topic_leads{topic="led"} 1`,
		`pestle_topic_leads{topic="followed"} 0`,
		`pestle_channel_depth{channel="ch",topic="led"} 1`,
		`pestle_channel_in_flight{channel="ch",topic="led"} 2`,
		`pestle_channel_deferred{channel="ch",topic="led"} 3`,
		`pestle_channel_messages_total{channel="ch",topic="led"} 5`,
		`pestle_channel_requeues_total{channel="ch",topic="led"} 6`,
		`pestle_channel_timeouts_total{channel="ch",topic="led"} 7`,
		`pestle_channel_finished_below{channel="ch",topic="led"} 8`,
		`pestle_channel_clients{channel="ch",topic="led"} 2`,
		`pestle_group_role{group="1"} 2`,
		`pestle_group_state{group="1"} 1`,
		`pestle_group_term{group="metadata"} 7`,
		`pestle_group_leader{group="metadata"} 1`,
		`pestle_group_first_index{group="metadata"} 3`,
		`pestle_group_commit_index{group="metadata"} 20`,
		`pestle_group_applied_index{group="metadata"} 19`,
		`pestle_group_last_index{group="metadata"} 21`,
		`pestle_group_peer_lag{group="1",peer="4"} 7`,
		`pestle_group_peer_active{group="1",peer="1"} 1`,
		`pestle_group_peer_active{group="1",peer="4"} 0`,
		`pestle_peer_dropped_frames_total{peer="4"} 1`,
		`pestle_journal_sync_seconds_bucket{le="5e-05"} 0`,
		`pestle_journal_write_seconds_bucket{le="1"} 0`,
	} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("there is no line %s", want)
		}
	}
	for _, want := range []string{"go_goroutines ", "process_open_fds "} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("there is no metric %s", want)
		}
	}
	if got := `pestle_channel_in_flight{channel="ch",topic="followed"}`; strings.Contains(body, got) {
		t.Errorf("%s is told by a node that cannot know it", got)
	}
}

// A broker that does not answer is still told of.
func TestMetricsOfABrokerThatIsNotReady(t *testing.T) {
	s, err := Open(testConfig(openDir(t, t.TempDir())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.peers.Close(); _ = s.closeListeners() })
	f := &fakeCore{Server: s}
	code, body := f.call("GET", "/metrics")
	if code != 200 || !strings.Contains(body, "\npestle_stats_answered 0\n") || strings.Contains(body, "pestle_quarantined") {
		t.Errorf("got %d %s", code, body)
	}
}

func TestTheDiskAndClientsAreCounted(t *testing.T) {
	b := startIn(t, t.TempDir())
	b.mustPublish(t, "t", "m")
	c := dial(t, b.TCPAddr().String(), nsq.ClientConfig{})
	_, body := b.call(t, "GET", "/metrics", "")
	if !strings.Contains(body, "\npestle_connections 1\n") {
		t.Error("not one connection was counted")
	}
	for _, of := range []string{"write", "sync"} {
		if !regexp.MustCompile(`\npestle_journal_` + of + `_seconds_count [1-9]`).MatchString(body) {
			t.Errorf("no %s was counted:\n%s", of, body)
		}
	}
	c.sock.Close()
	for deadline := time.Now().Add(patience); !strings.Contains(body, "\npestle_connections 0\n"); _, body = b.call(t, "GET", "/metrics", "") {
		if time.Now().After(deadline) {
			t.Fatal("a connection that is closed is still counted")
		}
	}
}
