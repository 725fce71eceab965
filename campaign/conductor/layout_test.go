package conductor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pestle/faults"
	"pestle/scenarios"
)

// site is a place where the run directory is at /run.
func site() Site {
	return Site{Program: "/pestle", Dir: "/run", Broker: []string{"--of-the-site"}, Address: func(n int) Endpoints {
		return Endpoints{Call: "never", TCP: fmt.Sprintf("tcp:%d", n), HTTP: fmt.Sprintf("http:%d", n), Peer: fmt.Sprintf("peer:%d", n)}
	}}
}

// command joins the command of a process of the plan.
func command(t *testing.T, plan scenarios.Plan, name string) string {
	t.Helper()
	l := newLayout(plan, "/elsewhere")
	i := slices.IndexFunc(l.Processes, func(p Process) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("the layout has no %s", name)
	}
	return strings.Join(l.Command(l.Processes[i], site()), " ")
}

// The commands of a run are made of what the place knows, and of nothing of the
// harness's own machine.
func TestCommands(t *testing.T) {
	clients := scenarios.Workload{Producers: []scenarios.Producer{{Name: "producer-1"}}, Consumers: []scenarios.Consumer{{Name: "consumer-a-1"}}}
	one := scenarios.Target{Kind: "pestle", Durability: "fsync"}
	three := one
	three.Nodes = 3
	tuned := one
	tuned.Knobs, tuned.Disk, tuned.Plant, tuned.Flags = &scenarios.Knobs{FileSize: 65536, Cache: 7}, scenarios.DiskLying, "ack-before-fsync", []string{"--max-rdy-count=9"}
	logged := one
	logged.Knobs = &scenarios.Knobs{FileSize: 65536, Cache: 7, Log: 4096}
	replaced := []faults.Fault{{Kind: faults.Replace}, {Kind: faults.Kill}}
	const alone = "/pestle broker --tcp-address=tcp:1 --http-address=http:1 --data-path=/run/data/broker-1 --durability=fsync"
	const cluster = " --cluster=1=peer:1,2=peer:2,3=peer:3"
	for _, c := range []struct {
		what   string
		target scenarios.Target
		name   string
		want   string
	}{
		{"a broker alone is no cluster", one, "broker-1", alone + " --of-the-site"},
		{"one of three", three, "broker-3", "/pestle broker --tcp-address=tcp:3 --http-address=http:3 --data-path=/run/data/broker-3 --durability=fsync --node-id=3 --peer-address=peer:3" + cluster + " --of-the-site"},
		{"a spare", three, "broker-4", "/pestle broker --tcp-address=tcp:4 --http-address=http:4 --data-path=/run/data/broker-4 --durability=fsync --node-id=4 --peer-address=peer:4" + cluster + " --join --of-the-site"},
		{"a broker with all that a plan can ask for", tuned, "broker-1", alone + " --journal-file-size=65536 --cache-bytes=7 --chaos-disk=lying --of-the-site --max-rdy-count=9 --plant=ack-before-fsync"},
		{"a broker with a short log", logged, "broker-1", alone + " --journal-file-size=65536 --cache-bytes=7 --log-bytes=4096 --of-the-site"},
		{"a producer", one, "producer-1", "/pestle workload producer --plan /run/plan.json --dir /run --name producer-1 --nsqd-tcp-address tcp:1"},
		{"a consumer of a cluster and its spare", three, "consumer-a-1", "/pestle workload consumer --plan /run/plan.json --dir /run --name consumer-a-1 --nsqd-tcp-address tcp:1 --nsqd-tcp-address tcp:2 --nsqd-tcp-address tcp:3 --nsqd-tcp-address tcp:4"},
		{"a producer to a target that runs already", scenarios.Target{Kind: "nsq", Address: "there:4150"}, "producer-1", "/pestle workload producer --plan /run/plan.json --dir /run --name producer-1 --nsqd-tcp-address tcp:1"},
	} {
		plan := scenarios.Plan{Target: c.target, Workload: clients}
		if c.target.Nodes > 1 {
			plan.Faults = replaced
		}
		if got := command(t, plan, c.name); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.what, got, c.want)
		}
	}
}

// A target that the harness does not start has no brokers to be started.
func TestAForeignTargetIsNoProcess(t *testing.T) {
	l := newLayout(scenarios.Plan{Target: scenarios.Target{Kind: "nsq", Address: "there:4150"}}, "/run")
	processes, nodes := newCast(l, newScripted(t))
	if len(l.Processes)+len(processes) > 0 || len(nodes) != 1 || !nodes[0].external() || !nodes[0].member {
		t.Errorf("processes %v, brokers %v; want none, and one that runs already", l.Processes, nodes)
	}
}
