package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"pestle/faults"
	"pestle/scenarios"
)

// ErrTargetMissing means that the system under test is not installed here:
// nothing was tested.
var ErrTargetMissing = errors.New("the system under test is not installed")

// node is one broker of the system under test.
type node struct {
	name string // of its process
	id   uint64 // in the cluster: the number of its name
	endpoints
	data string   // directory of its files
	args []string // program and arguments, the same at every start; nil: it runs already, and gets no faults

	// member tells that it is one of the cluster: not a spare that has not
	// joined, nor one that was replaced or has lost what it knew.
	member bool
}

// brokerName is the name of the broker process n, from 1.
func brokerName(n int) string { return fmt.Sprintf("%s-%d", faults.Broker, n) }

// newNodes returns the brokers of the plan: the cluster, and behind it a spare
// for each broker that a fault replaces. program is Pestle's own binary, dir
// the run directory.
func newNodes(plan scenarios.Plan, program, dir string) ([]*node, error) {
	switch t := plan.Target; t.Kind {
	case "pestle":
		return pestleNodes(plan, program, dir), nil
	case "nsq":
		n := newNode(1, dir)
		n.member = true
		if t.Address != "" {
			n.tcp, n.http = t.Address, t.HTTP
			return []*node{n}, nil
		}
		nsqd, err := exec.LookPath("nsqd")
		if err != nil {
			return nil, fmt.Errorf("%w: no nsqd on PATH; install NSQ (nsq.io/deployment/installing) so that the shell finds nsqd, or set target.address and target.http to a running one", ErrTargetMissing)
		}
		n.args = append([]string{
			nsqd, "--tcp-address=" + n.tcp, "--http-address=" + n.http,
			"--broadcast-address=" + loopback(os.Getpid()), "--data-path=" + n.data,
		}, t.Flags...)
		return []*node{n}, nil
	default:
		return nil, fmt.Errorf("the process world cannot run a target of kind %q", t.Kind)
	}
}

func newNode(n int, dir string) *node {
	name := brokerName(n)
	return &node{name: name, id: uint64(n), endpoints: endpointsOf(n), data: filepath.Join(dir, "data", name)}
}

func pestleNodes(plan scenarios.Plan, program, dir string) []*node {
	t, size := plan.Target, max(plan.Target.Nodes, 1)
	var nodes []*node
	var cluster []string
	for i := range size + replacements(plan.Faults) {
		n := newNode(i+1, dir)
		if n.member = i < size; n.member {
			cluster = append(cluster, fmt.Sprintf("%d=%s", n.id, n.peer))
		}
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		n.args = []string{
			program, "broker",
			"--tcp-address=" + n.tcp, "--http-address=" + n.http,
			"--data-path=" + n.data, "--durability=" + t.Durability,
			"--die-with-stdin",
		}
		if size > 1 {
			n.args = append(n.args, "--node-id="+strconv.FormatUint(n.id, 10),
				"--peer-address="+n.peer, "--cluster="+strings.Join(cluster, ","))
		}
		if !n.member {
			n.args = append(n.args, "--join")
		}
		n.args = append(n.args, t.Flags...)
		if t.Plant != "" {
			n.args = append(n.args, "--plant="+t.Plant)
		}
	}
	return nodes
}

// replacements counts the brokers that are replaced.
func replacements(list []faults.Fault) int {
	n := 0
	for _, f := range list {
		if f.Kind == faults.Replace {
			n++
		}
	}
	return n
}

// external tells that the harness did not start it.
func (n *node) external() bool { return n.args == nil }

// loseData empties the node's directory.
func (n *node) loseData() error {
	if err := os.RemoveAll(n.data); err != nil {
		return fmt.Errorf("empty the data directory of %s: %w", n.name, err)
	}
	return n.makeData()
}

// makeData makes the node's directory.
func (n *node) makeData() error {
	if err := os.MkdirAll(n.data, 0o755); err != nil {
		return fmt.Errorf("make the data directory of %s: %w", n.name, err)
	}
	return nil
}
