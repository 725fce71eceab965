package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Any node takes a publish; the one that leads delivers it.
func TestAnyNodeServes(t *testing.T) {
	c := newCluster(t, 3, Config{})
	for id := range uint64(3) {
		c.publish(id+1, "OK", fmt.Sprint("from-", id+1))
	}
	c.same()
	cl := c.consumer(c.leader(1), 10)
	wantBodies(t, c.finishAll(cl), "from-1", "from-2", "from-3")
	c.same()
}

// The next leader goes on where the one before stopped: what was finished stays
// finished, what was in flight comes again with one attempt more.
func TestNextLeaderGoesOn(t *testing.T) {
	c := newCluster(t, 3, Config{})
	c.publish(1, "OK", "a", "b", "c", "d")
	lead := c.leader(1)
	cl := c.consumer(lead, 3)
	list := cl.deliveries()
	cl.Finish(list[0].ID)
	cl.Requeue(list[1].ID, 60_000)
	c.pass(second)
	c.kill(lead)
	c.pass(3 * second)
	next := c.leader(1)
	cl = c.consumer(next, 10)
	for _, n := range cl.deliveries() {
		if got := describe(n); got != "c/2" && got != "d/2" {
			t.Errorf("the next leader delivers %s", got)
		}
		cl.Finish(n.ID)
	}
	c.pass(60 * second)
	cl.want("b/2")
	c.start(lead)
	c.pass(3 * second)
	c.same()
}

// A leader that is cut off cannot acknowledge, and sends its consumers away.
func TestLeaderCutOff(t *testing.T) {
	c := newCluster(t, 3, Config{})
	c.publish(1, "OK", "a")
	lead := c.leader(1)
	cl := c.consumer(lead, 1)
	cl.want("a/1")
	c.cut = func(from, to uint64) bool { return from == lead || to == lead }
	p := c.nodes[lead].dial()
	p.Publish("t", []byte("lost"))
	c.pass(2 * second)
	if !cl.gone {
		t.Error("the consumer of a leader that is cut off stays")
	}
	c.publish(c.other(lead), "OK", "b")
	c.pass(4 * second)
	if got := fmt.Sprint(p.got()); !strings.Contains(got, "QUORUM_LOST") {
		t.Errorf("a publish at the node that is cut off: %s", got)
	}
	c.publish(lead, "E_PUB_FAILED READ_ONLY_DEGRADED", "refused")
	c.cut = nil
	c.pass(6 * second)
	c.same()
	cl = c.consumer(c.leader(1), 10)
	wantBodies(t, c.finishAll(cl), "a", "b")
}

// Two of three nodes down: the third refuses, tells what it knows, and goes on
// by itself when another one is back.
func TestTwoDown(t *testing.T) {
	c := newCluster(t, 3, Config{})
	c.publish(1, "OK", "a")
	lead := c.leader(1)
	one, two := c.other(lead), c.other(lead, c.other(lead))
	c.kill(lead)
	c.kill(one)
	c.pass(5 * second)
	c.publish(two, "E_PUB_FAILED READ_ONLY_DEGRADED", "refused")
	reply := c.nodes[two].request(Request{Kind: ReqRead, Topic: "t", Count: 10})
	if len(reply.Read) != 1 || string(reply.Read[0].Body) != "a" {
		t.Errorf("what is stored cannot be read: %+v", reply)
	}
	if s := c.nodes[two].core.Stats(); s.Groups[1].State != ReadOnly || !strings.Contains(s.Health, "read-only") {
		t.Errorf("state %v, health %q", s.Groups[1].State, s.Health)
	}
	c.start(one)
	c.pass(3 * second)
	c.publish(two, "OK", "b")
	c.same()
}

// A node that was away for more than the others keep in memory gets a snapshot,
// and can lead from it.
func TestCatchUpBySnapshot(t *testing.T) {
	c := newCluster(t, 3, Config{LogBytes: 2 << 10, FileSize: 16 << 10, CacheBytes: 1})
	c.publish(1, "OK", "first")
	lead := c.leader(1)
	away := c.other(lead)
	c.kill(away)
	var want []string
	for i := range 100 {
		body := fmt.Sprint(i, strings.Repeat("x", 100))
		c.publish(lead, "OK", body)
		want = append(want, body)
	}
	r := c.start(away)
	c.pass(5 * second)
	if r.points[PointSnapshotInstalled] == 0 || r.points[PointBodiesFetched] == 0 {
		t.Fatal("no snapshot was installed")
	}
	c.same()
	c.kill(away)
	c.start(away) // from its journal
	c.pass(2 * second)
	c.same()
	c.nodes[lead].request(Request{Kind: ReqTransfer, Group: 1, Node: away})
	c.pass(second)
	if c.leader(1) != away {
		t.Fatalf("node %d leads, want %d", c.leader(1), away)
	}
	wantBodies(t, c.finishAll(c.consumer(away, 1000)), append([]string{"first"}, want...)...)
}

// A node that has lost its data does not come back under its id; a new one takes
// its place, and the old id is let go.
func TestWipedAndReplaced(t *testing.T) {
	c := newCluster(t, 3, Config{LogBytes: 2 << 10})
	c.publish(1, "OK", "a", "b", "c")
	gone := c.other(c.leader(0))
	c.kill(gone)
	before := c.disks[gone]
	r := c.boot(gone, c.cfg)
	c.pass(3 * second)
	if why := r.core.Quarantined(); !strings.Contains(why, "an id is used once") {
		t.Fatalf("a wiped node goes on: %q", why)
	}
	c.publish(c.leader(0), "OK", "d")
	c.kill(gone)
	c.disks[gone] = before
	cfg := c.cfg
	cfg.Join = true
	cfg.Cluster = append(slices.Clone(cfg.Cluster), Member{ID: 4, Address: "node-4"})
	c.boot(4, cfg)
	c.pass(second)
	lead := c.leader(0)
	reply := c.nodes[lead].request(Request{Kind: ReqReplace, Node: gone, NewNode: 4, Address: "node-4"})
	if reply != nil && reply.Code != "" {
		t.Fatalf("replace: %+v", reply)
	}
	c.pass(10 * second)
	c.same()
	for g := range c.nodes[lead].core.Groups() {
		conf := c.nodes[lead].core.seats[g].log.Conf
		if slices.Contains(conf.Voters, gone) || !slices.Contains(conf.Voters, uint64(4)) || len(conf.Learners) > 0 {
			t.Errorf("group %d has %+v", g, conf)
		}
	}
	// Should the old one come back with its data, it is told.
	old := c.start(gone)
	c.pass(3 * second)
	if why := old.core.Quarantined(); !strings.Contains(why, "was replaced or removed") {
		t.Errorf("a node that was replaced comes back: %q", why)
	}
	c.kill(gone)
	// With the new node one more may be lost.
	c.kill(c.other(4))
	c.pass(3 * second)
	c.publish(4, "OK", "e")
}

// A stop hands over first: no publish is refused for longer than that takes.
func TestRollingRestart(t *testing.T) {
	c := newCluster(t, 3, Config{})
	c.publish(1, "OK", "a")
	for id := uint64(1); id <= 3; id++ {
		c.nodes[id].step(Event{Kind: EvStop})
		c.pass(500 * millisecond)
		if !c.nodes[id].stopped {
			t.Fatalf("node %d does not stop", id)
		}
		c.kill(id)
		c.publish(c.other(), "OK", fmt.Sprint("without-", id))
		c.start(id)
		c.pass(2 * second)
	}
	c.same()
}

// The parts of a publish's way are measured, and fit together.
func TestSpans(t *testing.T) {
	c := newCluster(t, 3, Config{})
	lead := c.leader(1)
	c.publish(lead, "OK", "a")
	seen := map[Segment]int64{}
	r := c.nodes[lead]
	p := r.dial()
	p.Publish("t", []byte("b"))
	for range 40 { // a hundred microseconds between any two things that happen
		for _, id := range sortedKeys(c.nodes) {
			n := c.nodes[id]
			n.now.Mono = c.now.Mono
			n.work()
			for _, s := range n.fx.Spans {
				if id == lead {
					seen[s.Segment] = s.NS
				}
			}
			n.fx.Spans = nil
			told := n.told
			n.told = nil
			for _, e := range told {
				to := c.nodes[e.Node]
				to.now.Mono = c.now.Mono
				to.step(Event{Kind: EvTold, Data: e.Data})
				for _, s := range to.fx.Spans {
					if e.Node == lead {
						seen[s.Segment] = s.NS
					}
				}
			}
			c.now.Mono += 100_000
		}
	}
	for s := range SegmentCount {
		if _, ok := seen[s]; !ok {
			t.Errorf("%s is not measured", s)
		}
	}
	if seen[SegmentAppend] <= 0 || seen[SegmentFollower] <= 0 {
		t.Errorf("nothing takes time: %v", seen)
	}
}

// What the leader's disk has spoilt comes from another node, in its order.
func TestLeaderRepairsWhatItCannotRead(t *testing.T) {
	for name, bad := range map[string]func(data []byte) (failed bool){
		"rot":        func(data []byte) bool { data[0] ^= 1; return false },
		"read error": func([]byte) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 3, Config{})
			c.publish(1, "OK", "a", "b", "c")
			r := c.nodes[c.leader(1)]
			r.forget()
			r.badRead = func(_ uint64, _ int64, data []byte) bool {
				return string(data) == "b" && bad(data)
			}
			cl := c.consumer(c.leader(1), 10)
			c.pass(100 * millisecond)
			cl.want("a/1", "b/1", "c/1")
			if r.points[PointRepaired] != 1 {
				t.Errorf("%d bodies were repaired", r.points[PointRepaired])
			}
		})
	}
}

// Statistics that are asked for in the step in which a leader gives up fit
// together. (Found by seed 395 of everything.)
func TestStatsWhileTheLeadIsLost(t *testing.T) {
	c := newCluster(t, 3, Config{})
	c.publish(1, "OK", "a")
	lead := c.leader(1)
	c.cut = func(uint64, uint64) bool { return true }
	r := c.nodes[lead]
	for range 100 {
		due, _ := r.core.NextDeadline()
		c.now.Mono = max(due, c.now.Mono)
		r.now = c.now
		s := r.request(Request{Kind: ReqStats}).Stats // comes with what is due
		if s.Topics[0].Leads && s.Groups[s.Topics[0].Group].Role != Leader {
			t.Fatalf("it leads a topic and is %s of its group", s.Groups[1].Role)
		}
		if !s.Topics[0].Leads {
			return
		}
	}
	t.Error("the leader never gives up")
}

// A cluster that has not begun does not look healthy.
func TestBeforeBirth(t *testing.T) {
	c := &cluster{t: t, nodes: map[uint64]*rig{}, disks: map[uint64]*rig{}, now: Time{Mono: 1e9, Wall: 1_700_000_000e9}}
	for id := uint64(1); id <= 3; id++ {
		c.cfg.Cluster = append(c.cfg.Cluster, Member{ID: id, Address: fmt.Sprintf("node-%d", id)})
	}
	c.boot(1, c.cfg)
	c.boot(2, c.cfg) // one of three is missing: nobody is born
	c.pass(second)
	for _, g := range c.nodes[1].core.Stats().Groups {
		if g.State != Electing || g.Lead != 0 {
			t.Errorf("group %d is %s with leader %d", g.Group, g.State, g.Lead)
		}
	}
	c.boot(3, c.cfg)
	c.pass(2 * second)
	c.publish(1, "OK", "a")
}

// A data directory is one node's, and what is wrong with it is not mended with
// a copy.
func TestAnotherNodesJournal(t *testing.T) {
	c := newCluster(t, 3, Config{})
	r := c.nodes[2]
	c.kill(2)
	r.cfg.Node = 1
	if err := r.tryStart(); err == nil || !strings.Contains(err.Error(), "is that of node 2, and this is to be node 1; give it its own data directory") {
		t.Errorf("node 1 on node 2's journal: %v", err)
	}
	r.cfg.Node = 2
	r.disk[1].cached[100] ^= 1
	if err := r.tryStart(); err == nil || !strings.Contains(err.Error(), "restore no copy, start a new node") {
		t.Errorf("node 2 on a rotten journal: %v", err)
	}
}

// Who was replaced once is not replaced again.
func TestReplacedTwice(t *testing.T) {
	c := newCluster(t, 3, Config{})
	lead := c.leader(0)
	gone := c.other(lead)
	r := c.nodes[lead]
	for _, want := range []string{"", "", "NODE_GONE"} {
		next := uint64(4)
		if want != "" {
			next = 5
		}
		id := r.lastReq + 1
		r.request(Request{Kind: ReqReplace, Node: gone, NewNode: next, Address: fmt.Sprintf("node-%d", next)})
		c.pass(second)
		if reply := r.replies[id]; reply == nil || reply.Code != want {
			t.Errorf("replace node %d by %d: %+v, want %q", gone, next, reply, want)
		}
	}
}

// A cluster that keeps its messages in memory is one all the same: who is in it
// is durable, and what it acknowledged goes with the power.
func TestClusterInMemory(t *testing.T) {
	c := newCluster(t, 3, Config{Durability: Memory})
	c.publish(1, "OK", "a")
	for id := range uint64(3) {
		c.nodes[id+1].powerLoss(func(int) int { return 0 })
		c.nodes[id+1].told = nil
		delete(c.nodes, id+1)
	}
	for id := range uint64(3) {
		c.start(id + 1)
	}
	c.pass(3 * second)
	c.publish(1, "OK", "b")
	got := c.finishAll(c.consumer(c.leader(1), 10))
	if !slices.Equal(got, []string{"b"}) {
		t.Errorf("after the power was lost there are %q", got)
	}
}
