package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	gonsq "github.com/nsqio/go-nsq"
)

// spawnThree starts a cluster of three processes and waits until each knows a
// leader of every group. Node n is at n-1.
func spawnThree(t *testing.T) (nodes []*child) {
	t.Helper()
	peers := strings.Join(freeAddresses(t, 3), ",")
	for i := range 3 {
		nodes = append(nodes, spawn(t, t.TempDir(), fmt.Sprintf("%s=%d", childNode, i+1), childPeers+"="+peers))
	}
	for _, n := range nodes {
		n.waitFor(t, "healthz", "OK\n")
	}
	return nodes
}

// freeAddresses returns loopback addresses that nobody listened on just now.
func freeAddresses(t *testing.T, count int) (addresses []string) {
	t.Helper()
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // when all are known, so that they differ
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

// ask makes an HTTP request; status 0 means that nobody answered.
func (c *child) ask(method, path, body string) (status int, answer string) {
	req, err := http.NewRequest(method, "http://"+c.http+"/"+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(data)
}

func (c *child) waitFor(t *testing.T, path, want string) {
	t.Helper()
	var answer string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, answer = c.ask("GET", path, ""); answer == want {
			return
		}
	}
	t.Fatalf("GET /%s answers %q, want %q", path, answer, want)
}

// leaderOf returns which node says that it leads the group of a topic.
func leaderOf(t *testing.T, nodes []*child, topic string) int {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for i, n := range nodes {
			var st statsJSON
			_, answer := n.ask("GET", "stats?format=json&topic="+topic, "")
			if json.Unmarshal([]byte(answer), &st) == nil && len(st.Topics) == 1 && st.Topics[0].Leads {
				return i
			}
		}
	}
	t.Fatalf("nobody leads the group of %s", topic)
	return 0
}

// stored returns the bodies that a node has stored of a topic without channels.
func (c *child) stored(t *testing.T, topic string) map[string]bool {
	t.Helper()
	bodies := map[string]bool{}
	for next := uint64(0); ; {
		var log logJSON
		_, answer := c.ask("GET", fmt.Sprintf("log?topic=%s&count=%d&offset=%d", topic, maxLogCount, next), "")
		if err := json.Unmarshal([]byte(answer), &log); err != nil {
			t.Fatalf("%v in %s", err, answer)
		}
		if len(log.Messages) == 0 {
			return bodies
		}
		for _, m := range log.Messages {
			bodies[string(m.Body)] = true
			next = m.Offset + 1
		}
	}
}

// What was published at any node is dispatched by the one that leads, to the
// consumers that are connected there; whoever leads, each consumer is served.
func TestEveryNodeServesEveryClient(t *testing.T) {
	nodes := spawnThree(t)
	const count = 30
	missing := map[string]bool{}
	for i := range count {
		body := fmt.Sprintf("message %d", i)
		if status, answer := nodes[i%3].ask("POST", "pub?topic=t", body); status != 200 {
			t.Fatalf("publish at node %d: %d %s", i%3+1, status, answer)
		}
		missing[body] = true
	}
	arrived := make(chan string, 10*count)
	for _, n := range nodes {
		cfg := quietNSQ()
		cfg.LookupdPollInterval = 10 * time.Millisecond // to connect again, should another node take the lead
		goConsumer(t, n.tcp, "t", "ch", cfg, func(m *gonsq.Message) error {
			arrived <- string(m.Body)
			return nil
		})
	}
	for len(missing) > 0 {
		delete(missing, receive(t, arrived, "delivery"))
	}
}

// What was acknowledged at any node is on those that are left when the leader
// is killed, and they go on.
func TestAcknowledgedMessagesSurviveTheLeadersEnd(t *testing.T) {
	nodes := spawnThree(t)
	var acked []string
	publish := func(n *child, body string) bool {
		status, _ := n.ask("POST", "pub?topic=t", body)
		if status == 200 {
			acked = append(acked, body)
		}
		return status == 200
	}
	for i := range 30 {
		if !publish(nodes[i%3], fmt.Sprintf("before %d", i)) {
			t.Fatal("a healthy cluster refuses a publish")
		}
	}
	leader := leaderOf(t, nodes, "t")
	nodes[leader].kill()
	left := append(nodes[:leader:leader], nodes[leader+1:]...)
	for _, n := range left {
		for i := 0; !publish(n, fmt.Sprintf("after %d at %s", i, n.http)); i++ {
			if i > 10 {
				t.Fatal("two of three do not go on")
			}
		}
	}
	for _, n := range left {
		n.waitFor(t, "healthz", "OK\n")
		stored := n.stored(t, "t")
		for _, body := range acked {
			if !stored[body] {
				t.Errorf("%s has no %q, which was acknowledged", n.http, body)
			}
		}
	}
}

// One of three that is left alone acknowledges nothing and says so, shows what
// it has, and serves again when another one is back.
func TestOneOfThreeIsReadOnly(t *testing.T) {
	peers := strings.Join(freeAddresses(t, 3), ",")
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	begin := func(i int) *child {
		return spawn(t, dirs[i], fmt.Sprintf("%s=%d", childNode, i+1), childPeers+"="+peers)
	}
	nodes := []*child{begin(0), begin(1), begin(2)}
	nodes[0].waitFor(t, "healthz", "OK\n")
	if status, answer := nodes[0].ask("POST", "pub?topic=t", "kept"); status != 200 {
		t.Fatalf("publish: %d %s", status, answer)
	}
	nodes[1].kill()
	nodes[2].kill()
	nodes[0].waitFor(t, "healthz", "group metadata is read-only: no leader is known\n"+
		"group 1 is read-only: no leader is known\ngroup 2 is read-only: no leader is known\n")
	if status, answer := nodes[0].ask("POST", "pub?topic=t", "alone"); status != 503 {
		t.Errorf("a publish to one of three: %d %s, want 503", status, answer)
	}
	if !nodes[0].stored(t, "t")["kept"] {
		t.Error("what was acknowledged cannot be read")
	}
	begin(1)
	nodes[0].waitFor(t, "healthz", "OK\n")
	if status, answer := nodes[0].ask("POST", "pub?topic=t", "again"); status != 200 {
		t.Errorf("publish to two of three: %d %s", status, answer)
	}
}
