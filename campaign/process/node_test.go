package process

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pestle/faults"
	"pestle/scenarios"
)

// A target that is not installed tested nothing: the error says how to get it.
func TestMissingNsqdSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := newNodes(scenarios.Plan{Target: scenarios.Target{Kind: "nsq"}}, "pestle", t.TempDir())
	if !errors.Is(err, ErrTargetMissing) {
		t.Fatalf("error %v, want ErrTargetMissing", err)
	}
	for _, words := range []string{"no nsqd on PATH", "install NSQ", "target.address"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("error %q does not say %q", err, words)
		}
	}
}

// An address of a running nsqd is taken as it is; nothing is started.
func TestRunningNsqdIsNotStarted(t *testing.T) {
	nodes, err := newNodes(scenarios.Plan{Target: scenarios.Target{Kind: "nsq", Address: "127.0.0.1:1", HTTP: "127.0.0.1:2"}}, "pestle", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes) != 1 || !nodes[0].external() || nodes[0].tcp != "127.0.0.1:1" || nodes[0].http != "127.0.0.1:2" {
		t.Errorf("nodes %+v, want the given addresses and no program", nodes)
	}
}

// A broker alone is started as before there were clusters.
func TestOneBrokerIsNoCluster(t *testing.T) {
	for _, size := range []int{0, 1} {
		nodes, err := newNodes(scenarios.Plan{Target: scenarios.Target{Kind: "pestle", Nodes: size}}, "pestle", t.TempDir())
		if err != nil || len(nodes) != 1 || nodes[0].name != "broker-1" {
			t.Fatalf("nodes %+v, error %v; want broker-1", nodes, err)
		}
		for _, arg := range nodes[0].args {
			if strings.HasPrefix(arg, "--node-id") || strings.HasPrefix(arg, "--peer-address") || strings.HasPrefix(arg, "--cluster") {
				t.Errorf("a broker alone gets %s", arg)
			}
		}
	}
}

// Every broker knows its number, where it listens to the others, and with whom
// the cluster begins; no two share an address or a directory. A spare, one for
// each replacement, waits to be taken.
func TestBrokersOfAClusterKnowEachOther(t *testing.T) {
	nodes, err := newNodes(scenarios.Plan{
		Target: scenarios.Target{Kind: "pestle", Nodes: 3},
		Faults: []faults.Fault{{Kind: faults.Replace}, {Kind: faults.Kill}},
	}, "pestle", t.TempDir())
	if err != nil || len(nodes) != 4 {
		t.Fatalf("%d nodes, error %v; want three and a spare", len(nodes), err)
	}
	cluster := "--cluster=1=" + nodes[0].peer + ",2=" + nodes[1].peer + ",3=" + nodes[2].peer
	var own []string
	for i, n := range nodes {
		id := strconv.Itoa(i + 1)
		for _, want := range []string{
			"--node-id=" + id, "--peer-address=" + n.peer, cluster,
			"--tcp-address=" + n.tcp, "--http-address=" + n.http, "--data-path=" + n.data,
		} {
			if !slices.Contains(n.args, want) {
				t.Errorf("%s is started with %q, without %s", n.name, n.args, want)
			}
		}
		if joins := slices.Contains(n.args, "--join"); joins != (i == 3) || n.member == joins {
			t.Errorf("%s: it joins %t, is a member %t", n.name, joins, n.member)
		}
		if n.name != "broker-"+id {
			t.Errorf("node %s is named %s", id, n.name)
		}
		own = append(own, n.tcp, n.http, n.peer, n.data)
	}
	all := len(own)
	slices.Sort(own)
	if own = slices.Compact(own); len(own) != all {
		t.Errorf("%d addresses and directories, %d of them different", all, len(own))
	}
}

// Every process id has an address of its own, on loopback and away from the
// address that everybody uses.
func TestLoopbackAddressesDiffer(t *testing.T) {
	seen := map[string]int{}
	for _, pid := range []int{1, 2, 255, 256, 65535, 65536, 1 << 17, 1<<22 - 1} {
		a := loopback(pid)
		if other, taken := seen[a]; taken {
			t.Errorf("processes %d and %d share %s", pid, other, a)
		}
		seen[a] = pid
		if !strings.HasPrefix(a, "127.") || strings.HasPrefix(a, "127.0.") {
			t.Errorf("process %d has address %s", pid, a)
		}
	}
}
