package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pestle/broker/server"
)

// fakeNode answers every call alike and keeps the last one.
type fakeNode struct {
	status int
	answer string
	asked  string // method and path with its parameters
}

func (n *fakeNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.asked = r.Method + " " + r.URL.String()
	w.WriteHeader(n.status)
	fmt.Fprint(w, n.answer)
}

// runCluster runs pestle cluster against a node and returns its exit code and
// what it printed on both streams; HTTP in the text stands for the address.
func runCluster(t *testing.T, node http.Handler, args ...string) (code int, out, errors string) {
	t.Helper()
	s := httptest.NewServer(node)
	defer s.Close()
	address := strings.TrimPrefix(s.URL, "http://")
	root := rootCommand()
	var stdout, stderr bytes.Buffer
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	code = execute(context.Background(), root, append([]string{"cluster", "--http", address}, args...))
	return code, strings.ReplaceAll(stdout.String(), address, "HTTP"), strings.ReplaceAll(stderr.String(), address, "HTTP")
}

func threeNodes() server.ClusterStatus {
	return server.ClusterStatus{
		Node: 2, Health: "OK", Draining: []uint64{1},
		Members: []server.MemberStatus{{ID: 1, Address: "a:4160"}, {ID: 2, Address: "b:4160"}, {ID: 4, Address: "long.example:4160", Learner: true}},
		Groups: []server.GroupStatus{
			{Group: 0, Role: "follower", State: "healthy", Term: 7, Lead: 1, Commit: 20, Applied: 19, Last: 21},
			{Group: 1, Role: "leader", State: "degraded", Term: 8, Lead: 2, Commit: 9, Applied: 9, Last: 9, Peers: []server.PeerStatus{
				{Node: 1, Match: 9, Active: true}, {Node: 4, Match: 2},
			}},
			{Group: 2, Role: "leader", State: "healthy", Term: 8, Lead: 2, Commit: 9, Applied: 9, Last: 9, Peers: []server.PeerStatus{
				{Node: 1, Match: 0}, {Node: 4, Match: 8, Active: true},
			}},
		},
	}
}

func answering(t *testing.T, st server.ClusterStatus) *fakeNode {
	t.Helper()
	data, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	return &fakeNode{status: 200, answer: string(data)}
}

func TestClusterStatusIsATable(t *testing.T) {
	node := answering(t, threeNodes())
	code, out, errors := runCluster(t, node, "status")
	const want = `NODE  ADDRESS            LEADS     NOTES
1     a:4160             metadata  draining
2     b:4160             1, 2      asked
4     long.example:4160  -         learner

GROUP     STATE     LEADER  TERM  COMMIT  APPLIED  BEHIND
metadata  healthy   1       7     20      19       ?
1         degraded  2       8     9       9        node 4 (silent) by 7
2         healthy   2       8     9       9        node 1 (silent), node 4 by 1

every group has a leader
`
	if code != exitPass || out != want || errors != "" || node.asked != "GET /cluster" {
		t.Errorf("asked %q, got code %d, %s%s\nwant %s", node.asked, code, out, errors, want)
	}
}

func TestClusterStatusEndsWithWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		name string
		set  func(*server.ClusterStatus)
		want string
	}{
		{"no leader", func(st *server.ClusterStatus) { st.Groups[0].Lead, st.Groups[0].State = 0, "electing" }, "\n\ngroup metadata is electing: no leader is known\n"},
		{"quarantine", func(st *server.ClusterStatus) { st.Quarantine = "the journal is gone" }, "\n\nquarantine: the journal is gone\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			st := threeNodes()
			test.set(&st)
			code, out, errors := runCluster(t, answering(t, st), "status")
			if code != exitViolation || !strings.HasSuffix(out, test.want) || errors != "" {
				t.Errorf("got code %d, %s%s\nwant code 1 and at the end %s", code, out, errors, test.want)
			}
			if code, _, _ := runCluster(t, answering(t, st), "status", "--json"); code != exitViolation {
				t.Errorf("with --json: code %d, want 1", code)
			}
		})
	}
}

func TestClusterStatusAsJSONIsTheAnswer(t *testing.T) {
	node := answering(t, threeNodes())
	if code, out, errors := runCluster(t, node, "status", "--json"); code != exitPass || out != node.answer+"\n" || errors != "" {
		t.Errorf("got code %d, %s%s", code, out, errors)
	}
}

func TestClusterChangesAreAskedForAndSayHowTheyEnd(t *testing.T) {
	const look = " in: pestle cluster status --http HTTP\n"
	for _, test := range []struct{ args, asked, out string }{
		{"transfer-leader 1", "transfer?group=all&node=1", "asked: node 1 leads group all. Done when it is the leader there" + look},
		{"transfer-leader 1 --group 3", "transfer?group=3&node=1", "asked: node 1 leads group 3. Done when it is the leader there" + look},
		{"drain 2", "drain?node=2&undo=false", "asked: node 2 leads nothing any more. It can be stopped when it leads no group" + look},
		{"drain 2 --undo", "drain?node=2&undo=true", "asked: node 2 may lead again. Done when it is not draining" + look},
		{"replace 3 --new 4 --address d:4160", "replace?address=d%3A4160&new=4&node=3", "asked: node 4 takes the place of node 3. Done when it is a member and no learner, and node 3 is none," + look},
		{"replace 3 --remove", "replace?node=3", "asked: node 3 is removed. Done when it is not a member" + look},
	} {
		node := &fakeNode{status: 200, answer: "OK"}
		code, out, errors := runCluster(t, node, strings.Fields(test.args)...)
		if asked := "POST /cluster/" + test.asked; code != exitPass || node.asked != asked || out != test.out || errors != "" {
			t.Errorf("%s: code %d, asked %s, %s%s\nwant %s, %s", test.args, code, node.asked, out, errors, asked, test.out)
		}
	}
}

func TestClusterRefusesWrongUsageAndAsksNobody(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"drain", "accepts 1 arg(s), received 0"},
		{"drain two", `"two" is not a node's id; ids are numbers from 1`},
		{"transfer-leader 0", `"0" is not a node's id`},
		{"replace 3", "--new is 0; give the id of the new node, one that was never used, or --remove"},
		{"replace 3 --new 3 --address d:1", "--new is 3; give the id of the new node, one that was never used"},
		{"replace 3 --new 4", "--address, where the others reach node 4: missing port in address; give host:port"},
		{"replace 3 --remove --new 4", "if any flags in the group [remove new] are set none of the others can be"},
		{"status --http nowhere", "--http: address nowhere: missing port in address; give host:port"},
	} {
		node := &fakeNode{status: 200}
		code, out, errors := runCluster(t, node, strings.Fields(test.args)...)
		if code != exitUsage || node.asked != "" || out != "" || !strings.Contains(errors, test.want) {
			t.Errorf("%s: code %d, asked %q, %s%s\nwant %s", test.args, code, node.asked, out, errors, test.want)
		}
	}
}

func TestClusterTellsARefusalFromSilence(t *testing.T) {
	refusing := &fakeNode{status: 404, answer: `{"message":"NODE_NOT_FOUND","detail":"there is no node 9"}`}
	code, _, errors := runCluster(t, refusing, "drain", "9")
	if code != exitViolation || errors != "pestle: HTTP refused: NODE_NOT_FOUND: there is no node 9\n" {
		t.Errorf("refused: code %d, %s", code, errors)
	}
	code, _, errors = runCluster(t, &fakeNode{status: 500, answer: "gateway\n"}, "status")
	if code != exitViolation || !strings.Contains(errors, "refused: gateway") {
		t.Errorf("not a broker: code %d, %s", code, errors)
	}
	code, _, errors = runCluster(t, &fakeNode{status: 200, answer: "hello"}, "status")
	if code != exitHarness || !strings.Contains(errors, "the answer of HTTP is not a cluster's") {
		t.Errorf("something else: code %d, %s", code, errors)
	}
	code, _, errors = runCluster(t, refusing, "status", "--http", "127.0.0.1:1")
	if code != exitHarness || !strings.Contains(errors, "the node cannot be reached; name another one with --http") {
		t.Errorf("nobody: code %d, %s", code, errors)
	}
}
