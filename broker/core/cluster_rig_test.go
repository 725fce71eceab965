package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// cluster is several rigs that tell each other. Messages arrive in the order
// they were sent, but for what cut keeps back.
type cluster struct {
	t     testing.TB
	nodes map[uint64]*rig // that are up
	cfg   Config
	now   Time
	cut   func(from, to uint64) bool                // nil: nothing
	twice bool                                      // every frame comes twice
	carry func(from uint64, told []Effect) []Effect // what of it arrives now, in which order; nil: everything
	disks map[uint64]*rig                           // of all that ever were
	over  func() bool                               // nothing happens any more; nil: it goes on
	salt  uint64
}

func newCluster(t testing.TB, n int, cfg Config) *cluster {
	c := &cluster{t: t, nodes: map[uint64]*rig{}, disks: map[uint64]*rig{}, cfg: cfg, now: Time{Mono: 1e9, Wall: 1_700_000_000e9}}
	for id := uint64(1); id <= uint64(n); id++ {
		c.cfg.Cluster = append(c.cfg.Cluster, Member{ID: id, Address: fmt.Sprintf("node-%d", id)})
	}
	for id := uint64(1); id <= uint64(n); id++ {
		c.boot(id, c.cfg)
	}
	c.pass(3 * second)
	return c
}

// boot starts a node that has never been.
func (c *cluster) boot(id uint64, cfg Config) *rig {
	cfg.Node = id
	if cfg.FileSize == 0 {
		cfg.FileSize = 64 << 10
	}
	c.salt += 1000
	cfg.Salt = c.salt
	r := &rig{
		t: c.t, cfg: cfg, now: c.now, disk: map[uint64]*diskFile{},
		clients: map[ConnID]*client{}, replies: map[RequestID]*Reply{},
	}
	c.nodes[id], c.disks[id] = r, r
	r.start()
	return r
}

// kill ends a node, and start begins its next life.
func (c *cluster) kill(id uint64) {
	c.nodes[id].kill()
	c.nodes[id].told = nil
	delete(c.nodes, id)
}

func (c *cluster) start(id uint64) *rig {
	c.t.Helper()
	r := c.disks[id]
	r.now, r.told = c.now, nil
	c.nodes[id] = r
	r.start()
	return r
}

// settle works until nothing is outstanding anywhere.
func (c *cluster) settle() {
	c.t.Helper()
	for n := 0; ; n++ {
		if n > 1_000_000 {
			c.t.Fatal("the cluster does not come to rest")
		}
		moved := false
		for _, id := range sortedKeys(c.nodes) {
			r := c.nodes[id]
			for !(c.over != nil && c.over()) && r.work() {
				moved = true
			}
			told := r.told
			r.told = nil
			if c.carry != nil {
				told = c.carry(id, told)
			}
			for _, e := range told {
				to := c.nodes[e.Node]
				if to == nil || c.cut != nil && c.cut(id, e.Node) {
					continue
				}
				moved = true
				to.step(Event{Kind: EvTold, Data: e.Data})
				if c.twice {
					to.step(Event{Kind: EvTold, Data: e.Data})
				}
			}
		}
		if !moved {
			return
		}
	}
}

// pass lets time pass everywhere.
func (c *cluster) pass(ns int64) {
	c.t.Helper()
	end := c.now.Mono + ns
	for {
		c.settle()
		next := end
		for _, id := range sortedKeys(c.nodes) {
			if due, ok := c.nodes[id].core.NextDeadline(); ok && c.nodes[id].exited == "" && !c.nodes[id].stopped {
				next = min(next, max(due, c.now.Mono))
			}
		}
		step := next - c.now.Mono
		c.now.Mono, c.now.Wall = next, c.now.Wall+step
		for _, id := range sortedKeys(c.nodes) {
			r := c.nodes[id]
			r.now = c.now
			if due, ok := r.core.NextDeadline(); ok && due <= next && r.exited == "" && !r.stopped {
				r.step(Event{Kind: EvTimer})
			}
		}
		if next >= end {
			c.settle()
			return
		}
	}
}

// leader is the node that leads a group.
func (c *cluster) leader(group uint32) uint64 {
	c.t.Helper()
	for _, id := range sortedKeys(c.nodes) {
		if c.nodes[id].core.View(group).Leads {
			return id
		}
	}
	c.t.Fatalf("nobody leads group %d", group)
	return 0
}

func (c *cluster) other(than ...uint64) uint64 {
	for _, id := range sortedKeys(c.nodes) {
		if !slices.Contains(than, id) {
			return id
		}
	}
	return 0
}

// publish publishes at a node and checks the answer.
func (c *cluster) publish(at uint64, want string, bodies ...string) {
	c.t.Helper()
	p := c.nodes[at].dial()
	for _, b := range bodies {
		p.Publish("t", []byte(b))
		c.pass(100 * millisecond)
		if got := strings.Join(p.got(), " "); !strings.HasPrefix(got, want) || want == "" && got != "" {
			c.t.Errorf("publish %q at node %d: %q, want %q", b, at, got, want)
		}
	}
}

// consumer subscribes at a node.
func (c *cluster) consumer(at uint64, ready int64) *client {
	cl := c.nodes[at].dial()
	cl.Subscribe("t", "ch")
	cl.Ready(ready)
	c.pass(100 * millisecond)
	return cl
}

func (c *cluster) finishAll(cl *client) (bodies []string) {
	for {
		list := cl.deliveries()
		if len(list) == 0 {
			c.pass(100 * millisecond)
			return bodies
		}
		for _, n := range list {
			bodies = append(bodies, string(n.Body))
			cl.Finish(n.ID)
		}
		c.settle()
	}
}

// same checks that all nodes have applied the same.
func (c *cluster) same() {
	c.t.Helper()
	ids := sortedKeys(c.nodes)
	first := c.nodes[ids[0]].core
	for _, id := range ids[1:] {
		for g := range first.Groups() {
			a, b := first.View(uint32(g)), c.nodes[id].core.View(uint32(g))
			if a.Applied != b.Applied || a.Chain != b.Chain {
				c.t.Errorf("group %d: node %d has %d %x, node %d has %d %x", g, ids[0], a.Applied, a.Chain, id, b.Applied, b.Chain)
			}
		}
	}
}
