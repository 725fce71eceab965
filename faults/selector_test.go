package faults

import (
	"slices"
	"testing"
)

func TestSelectors(t *testing.T) {
	for word, want := range map[string]bool{
		"leader": true, "follower-1": true, "follower-12": true, "metadata-leader": true, "metadata-follower-2": true,
		Follower(3): true, MetadataFollower(1): true,
		"follower": false, "follower-": false, "follower-0": false, "follower-01": false, "follower-x": false,
		"leader-1": false, "metadata": false, "metadata-metadata-leader": false, "broker-1": false, "": false,
	} {
		if got := IsSelector(word); got != want {
			t.Errorf("%q is a selector: %v", word, got)
		}
		if role, ok := TargetRole(word); want && (role != Broker || !ok) {
			t.Errorf("%q stands for a %q", word, role)
		}
	}
}

// TestMeeting: faults that begin at different moments can meet wherever a
// selector is one of them; ends of one link are known to be apart by one leader
// only.
func TestMeeting(t *testing.T) {
	for _, c := range []struct {
		a, b            string
		mayMeet, aparts bool
	}{
		{"broker-1", "broker-1", true, false},
		{"broker-1", "broker-2", false, true},
		{"producer-1", "broker-1", false, true},
		{"leader", "leader", true, false},
		{"leader", "broker-1", true, false},
		{"leader", "producer-1", false, true},
		{"leader", "follower-1", true, true},
		{"follower-1", "follower-2", true, true},
		{"leader", "metadata-leader", true, false},
		{"leader", "metadata-follower-1", true, false},
		{"metadata-leader", "metadata-follower-1", true, true},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if got := MayMeet(pair[0], pair[1]); got != c.mayMeet {
				t.Errorf("%v may meet: %v", pair, got)
			}
			if got := Apart(pair[0], pair[1]); got != c.aparts {
				t.Errorf("%v are apart: %v", pair, got)
			}
		}
	}
}

func TestResolve(t *testing.T) {
	now := Cluster{Leader: "broker-3", Metadata: "broker-1", Brokers: []string{"broker-1", "broker-3", "broker-4"}} // broker-4 took the place of broker-2
	for _, c := range []struct {
		name     string
		fault    Fault
		cluster  Cluster
		target   string // "" where there is none
		peer     string
		side     []string
		severing string // one process that the target cannot reach
	}{
		{name: "a process is itself", fault: Fault{Target: "broker-2"}, target: "broker-2"},
		{name: "leader", fault: Fault{Target: Leader}, cluster: now, target: "broker-3"},
		{name: "followers count in order", fault: Fault{Target: Follower(1)}, cluster: now, target: "broker-1"},
		{name: "last follower", fault: Fault{Target: Follower(2)}, cluster: now, target: "broker-4"},
		{name: "one follower too many", fault: Fault{Target: Follower(3)}, cluster: now},
		{name: "metadata", fault: Fault{Target: MetadataLeader, Peer: MetadataFollower(1)}, cluster: now, target: "broker-1", peer: "broker-3"},
		{name: "peer of a client", fault: Fault{Target: "producer-1", Peer: Leader}, cluster: now, target: "producer-1", peer: "broker-3"},
		{name: "nobody leads", fault: Fault{Target: Leader}, cluster: Cluster{Metadata: "broker-1", Brokers: now.Brokers}},
		{name: "nobody leads the peer", fault: Fault{Target: "producer-1", Peer: Leader}, cluster: Cluster{Brokers: now.Brokers}},
		{name: "who leads is no member", fault: Fault{Target: Leader}, cluster: Cluster{Leader: "broker-2", Brokers: now.Brokers}},
		{
			name: "a side", fault: Fault{Target: Leader, Shape: Minority, Among: Broker, Side: []string{Leader}},
			cluster: now, target: "broker-3", side: []string{"broker-3"}, severing: "broker-4",
		},
		{
			name: "a ring", fault: Fault{Target: Follower(2), Shape: Bridge, Among: Broker, Side: []string{Follower(1)}},
			cluster: now, target: "broker-4", side: []string{"broker-1"},
		},
		{
			name: "a side whose member left", fault: Fault{Target: Leader, Shape: Majority, Among: Broker, Side: []string{Leader, Follower(2)}},
			cluster: Cluster{Leader: "broker-1", Brokers: []string{"broker-1", "broker-2"}}, target: "broker-1", side: []string{"broker-1"}, severing: "broker-2",
		},
	} {
		planned := slices.Clone(c.fault.Side)
		got, ok := Resolve(c.fault, c.cluster)
		if ok != (c.target != "") {
			t.Errorf("%s: found: %v", c.name, ok)
		}
		if !ok {
			continue
		}
		if got.Target != c.target || got.Peer != c.peer || !slices.Equal(got.Side, c.side) {
			t.Errorf("%s: %s, peer %q, side %q", c.name, got.Target, got.Peer, got.Side)
		}
		if c.severing != "" && (!got.Severs(c.target, c.severing) || !got.Severs(c.severing, c.target)) {
			t.Errorf("%s: %s reaches %s", c.name, c.target, c.severing)
		}
		if !slices.Equal(c.fault.Side, planned) {
			t.Errorf("%s: the plan became %q", c.name, c.fault.Side)
		}
	}
}

// TestAmongBrokers: clients stand on no side of a split of the brokers.
func TestAmongBrokers(t *testing.T) {
	for _, f := range []Fault{
		{Shape: Isolate}, {Shape: OneWay}, {Shape: Halves, Side: []string{"broker-1"}}, {Shape: Bridge, Side: []string{"broker-2"}},
		{Shape: Majority, Side: []string{"broker-1", "broker-2"}}, {Shape: Minority, Side: []string{"broker-1"}},
		{Shape: Ring, Side: []string{"broker-1", "broker-2", "broker-3"}},
	} {
		f.Kind, f.Target, f.Among = Partition, "broker-1", Broker
		for _, broker := range []string{"broker-1", "broker-2", "broker-3"} {
			if f.Severs("producer-1", broker) || f.Severs(broker, "producer-1") || f.Severs("consumer-a-1", "producer-1") {
				t.Errorf("%s: a client does not reach %s", f.Shape, broker)
			}
		}
		if got := f.Severs("broker-1", "broker-3"); got == (f.Shape == Bridge || f.Shape == Ring) {
			t.Errorf("%s: broker-1 is cut from broker-3: %v", f.Shape, got)
		}
	}
	bridge := Fault{Shape: Bridge, Target: "broker-1", Among: Broker, Side: []string{"broker-2"}}
	if !bridge.Severs("broker-2", "broker-3") {
		t.Error("the halves of a bridge reach each other")
	}
}
