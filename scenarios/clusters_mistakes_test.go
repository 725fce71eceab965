package scenarios

import (
	"slices"
	"strings"
	"testing"

	"pestle/faults"
)

func TestMistakesAboutClusters(t *testing.T) {
	const needs = "but the target has one broker: set target.nodes"
	for _, c := range []struct {
		name, nodes string
		lines       []string
		want        string
	}{
		{"two nodes", "2", nil, `2:17: target.nodes is "2"; write one of 1, 3, 5 or a list of them such as [3, 5]`},
		{"a range", "3..5", nil, `2:17: target.nodes is "3..5"; write one of 1, 3, 5 or a list of them such as [3, 5]`},
		{"a text", "'3'", nil, `2:17: target.nodes is "3"; write one of 1, 3, 5 or a list of them such as [3, 5]`},
		{"one of the list", "[3, 4]", nil, `2:21: target.nodes is "4"; write one of 1, 3, 5 or a list of them such as [3, 5]`},
		{"twice", "[3, 3]", nil, "2:21: target.nodes: 3 stands there twice"},
		{"an empty list", "[]", nil, "2:17: target.nodes is a list; write one of 1, 3, 5 or a list of them such as [3, 5]"},
		{"of nsqd", "3, kind: nsq", nil, "2:17: target.nodes are for kind pestle"},

		{"leader of one", "1", []string{"kind: kill, target: leader, for: 1s"}, "8:26: faults.0.target is leader, " + needs},
		{"follower of one", "1", []string{"kind: kill, target: follower-1, for: 1s"}, "8:26: faults.0.target is follower-1, " + needs},
		{"all of one", "[3, 1]", []string{"kind: kill, target: brokers, for: 1s"}, "8:26: faults.0.target is brokers, " + needs},
		{"peer of one", "1", []string{"kind: cut, target: producer, peer: leader, for: 1s"}, "8:41: faults.0.peer is leader, " + needs},
		{"wiped without others", "1", []string{"kind: wipe, target: broker, for: 1s"}, "8:12: faults.0.kind is wipe, which needs other brokers beside the target: set target.nodes"},
		{"minority of one", "1", []string{"kind: partition, target: broker, shape: minority, for: 1s"}, "8:46: faults.0.shape is minority, " + needs},

		{"a follower too many", "[5, 3]", []string{"kind: kill, target: follower-3, for: 1s"}, `8:26: faults.0.target is "follower-3" with 3 brokers; did you mean "follower-1"? allowed: broker, producer, consumer, consumer-all, leader, follower, metadata-leader, metadata-follower, brokers, majority, follower-1, follower-2, broker-1, broker-2, broker-3, producer-1, consumer-all-1`},
		{"a broker too many", "3", []string{"kind: kill, target: broker-4, for: 1s"}, `8:26: faults.0.target is "broker-4"; did you mean "broker-1"? allowed: broker, producer, consumer, consumer-all, leader, follower, metadata-leader, metadata-follower, brokers, majority, follower-1, follower-2, broker-1, broker-2, broker-3, producer-1, consumer-all-1`},
		{"kind of brokers", "3", []string{"kind: wipe, target: producer, for: 1s"}, "8:26: faults.0.target is producer, but a wipe does not apply to a producer"},
		{"links of several", "3", []string{"kind: cut, target: majority, peer: producer, for: 1s"}, "8:25: faults.0.target is majority; a fault between processes has one target"},
		{"several at the other end", "3", []string{"kind: cut, target: producer, peer: brokers, for: 1s"}, "8:41: faults.0.peer is brokers; leave it out for every other process"},
		{"ends that may be one", "3", []string{"kind: cut, target: leader, peer: broker, for: 1s"}, "8:39: faults.0.peer is broker, and the target leader, which can be one broker; name two that are always apart, such as leader and follower"},
		{"leaders that may be one", "3", []string{"kind: cut, target: leader, peer: metadata-leader, for: 1s"}, "8:39: faults.0.peer is metadata-leader, and the target leader, which can be one broker; name two that are always apart, such as leader and follower"},
		{"a client that brokers do not hear", "3", []string{"kind: corrupt, target: leader, peer: producer, rate: 1%, for: 1s"}, "8:43: faults.0.peer is producer, but a corrupt is among brokers only"},
		{"corruption of one", "1", []string{"kind: corrupt, target: broker, rate: 1%, for: 1s"}, "8:12: faults.0.kind is corrupt, which needs other brokers beside the target: set target.nodes"},
		{"a split of clients", "3", []string{"kind: partition, target: producer, shape: majority, for: 1s"}, "8:48: faults.0.shape is majority, which is about brokers; the target is producer"},
		{"a ring of three", "[5, 3]", []string{"kind: partition, target: leader, shape: ring, for: 1s"}, "8:46: faults.0.shape is ring, but of 3 brokers each is beside all others; it needs 4"},

		{"rot of two", "3", []string{"kind: bit-rot, target: broker-1, count: 1, for: 1s", "kind: wipe, target: broker-2, for: 1s"},
			"8:12: faults.0.kind is bit-rot, and 2 of 3 brokers may lose what they held: more than 1, and what a majority loses is lost: require properties: [no-data-corruption], which a clean refusal meets, or leave the line out"},
		{"a leader rots twice", "3", []string{"kind: bit-rot, target: leader, count: 1, times: 1..2, for: 1s"},
			"8:12: faults.0.kind is bit-rot, and 2 of 3 brokers may lose what they held: more than 1, and what a majority loses is lost: require properties: [no-data-corruption], which a clean refusal meets, or leave the line out"},
		{"a leader and one drawn", "[5, 3]", []string{"kind: lost-write, target: leader, rate: 1%, for: 1s", "kind: wipe, target: broker, for: 1s"},
			"8:12: faults.0.kind is lost-write, and 2 of 3 brokers may lose what they held: more than 1, and what a majority loses is lost: require properties: [no-data-corruption], which a clean refusal meets, or leave the line out"},
		{"all wiped", "5", []string{"kind: wipe, target: brokers, for: 1s"},
			"8:12: faults.0.kind is wipe, and 5 of 5 brokers may lose what they held: more than 2, and what a majority loses is lost: require properties: [no-data-corruption], which a clean refusal meets, or leave the line out"},

		{"two away at once", "3", []string{"name: a, kind: pause, target: broker, for: 1s", "kind: kill, target: leader, for: 1s, after: {fault: a}"},
			"9:58: faults.1.after.fault is a, which takes a broker of 3 away as this line does, and so many are not away at once; say target: majority in one line instead"},
		{"beside all", "3", []string{"name: a, kind: silence, target: leader, for: 1s", "name: b, kind: pause, target: brokers, for: 1s", "kind: reset, target: broker, after: {fault: b}"},
			"10:27: faults.2.target is broker, but b holds that process then; name another"},

		{"passer without point", "3", []string{"kind: reset, target: broker, after: {acks: 1, process: any}"}, "8:61: faults.0.after.process is for point"},
		{"unknown passer", "3", []string{"kind: reset, target: broker, after: {point: ack, process: broker-4}"}, `8:64: faults.0.after.process is "broker-4"; did you mean "broker-1"? allowed: broker-1, broker-2, broker-3, any`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(inCluster(c.nodes, c.lines...)), nil)
			expectError(t, err, "s.yaml:"+c.want)
		})
	}
}

// TestWrongPlansOfClusters: a plan that was edited by hand.
func TestWrongPlansOfClusters(t *testing.T) {
	s := parseCluster(t, "5", "kind: wipe, target: broker-1, for: 100ms", "kind: partition, target: leader, shape: minority, for: 1s",
		"kind: partition, target: follower, shape: ring, for: 1s", "kind: kill, target: follower-4, for: 100ms, after: {point: ack, process: any}")
	good := string(expand(t, s, 1).Canonical())
	if _, err := ParsePlan([]byte(good)); err != nil {
		t.Fatal(err)
	}
	const words = "; there are broker-1, broker-2, broker-3, broker-4, broker-5, producer-1, consumer-all-1, leader, follower-1, follower-2, follower-3, follower-4, metadata-leader, metadata-follower-1, metadata-follower-2, metadata-follower-3, metadata-follower-4"
	for _, c := range []struct{ name, old, new, want string }{
		{"nodes", `"nodes":5`, `"nodes":4`, "target: nodes is 4; a cluster has 1, 3 or 5"},
		{"negative nodes", `"nodes":5`, `"nodes":-1`, "target: nodes is -1; a cluster has 1, 3 or 5"},
		{"no such follower", `"target":"follower-4"`, `"target":"follower-5"`, `fault 4: no process is named "follower-5"` + words},
		{"no such passer", `"process":"any"`, `"process":"broker-6"`, `fault 4: no process is named "broker-6"` + words},
		{"away", `"away":2`, `"away":6`, "fault 3: away is 6; there are 5 brokers"},
		{"selector without a cluster", `"nodes":5`, `"nodes":1`, `fault 1: no process is named "follower-1"; there are broker-1, producer-1, consumer-all-1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("the plan has no %s: %s", c.old, good)
			}
			_, err := ParsePlan([]byte(strings.Replace(good, c.old, c.new, 1)))
			expectError(t, err, "plan: "+c.want)
		})
	}
	change := func(do func(p *Plan)) Plan {
		p := expand(t, s, 1)
		p.Faults = slices.Clone(p.Faults)
		do(&p)
		return p
	}
	for _, c := range []struct {
		name string
		plan Plan
		want string
	}{
		{"minority of three", change(func(p *Plan) { side(p, faults.Minority, "leader", "follower-1", "follower-2") }), "side: 3 processes in the minority; there have to be 2"},
		{"majority of two", change(func(p *Plan) { side(p, faults.Majority, "leader", "follower-1") }), "side: 2 processes in the majority; there have to be 3"},
		{"ring of some", change(func(p *Plan) { side(p, faults.Ring, "leader", "follower-1") }), "side: 2 processes in the ring; there have to be 5"},
		{"wiped without others", change(func(p *Plan) {
			p.Target.Nodes, p.Faults = 0, []faults.Fault{{Ref: 1, Kind: faults.Wipe, Target: "broker-1"}}
		}), "fault 1: a wipe is for a target with several brokers"},
		{"split of one", change(func(p *Plan) {
			p.Target.Nodes, p.Faults = 0, []faults.Fault{{Ref: 1, Kind: faults.Partition, Target: "broker-1", Shape: faults.Isolate, Among: faults.Broker, For: second}}
		}), "fault 1: among brokers, of which there is one"},
		{"too many lost", change(func(p *Plan) {
			for _, target := range []string{"broker-2", "leader"} {
				p.Faults = append(p.Faults, faults.Fault{Ref: len(p.Faults) + 1, Kind: faults.Wipe, Target: target})
			}
		}), "faults: 3 of 5 brokers may lose what they held: more than 2, and what a majority loses is lost; only no-data-corruption can be required"},
	} {
		if err := c.plan.Validate(); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: error\n got %v\nwant … %s", c.name, err, c.want)
		}
	}
}

// side makes the first partition of the plan one of the leader.
func side(p *Plan, shape faults.Shape, names ...string) {
	for i := range p.Faults {
		if f := &p.Faults[i]; f.Kind == faults.Partition {
			f.Target, f.Shape, f.Side = faults.Leader, shape, names
			return
		}
	}
}
