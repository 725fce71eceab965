package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// isolate cuts a node off from all others.
func (c *cluster) isolate(node uint64) {
	c.cut = func(from, to uint64) bool { return from == node || to == node }
}

// answers takes what a client got and counts what begins with prefix.
func answers(cl *client, prefix string) (n int) {
	for _, line := range cl.got() {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// itemKinds lists the kinds of the items of a frame.
func itemKinds(data []byte) (kinds []byte) {
	f, err := decodeFrame(data)
	if err != nil {
		panic(err)
	}
	d := decoder{in: f.items}
	for len(d.in) > 0 {
		kinds = append(kinds, d.byte())
		d.bytes()
	}
	return kinds
}

// A topic that could not be made in time is made for who asks next.
func TestTopicIsMadeAfterItWasGivenUp(t *testing.T) {
	for name, leads := range map[string]bool{"a follower wanted it": false, "a leader without a majority took it": true} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 3, Config{})
			c.publish(1, "OK", "a")
			node := c.leader(0)
			if !leads {
				node = c.other(node)
			}
			c.isolate(node)
			for !leads && c.nodes[node].core.seats[0].open != 0 {
				c.pass(25 * millisecond) // until it is known that nobody leads
			}
			p := c.nodes[node].dial()
			p.Publish("new", []byte("b"))
			c.pass(7 * second)
			if got := fmt.Sprint(p.got()); !strings.Contains(got, "READ_ONLY_DEGRADED") {
				t.Errorf("a publish that was not even proposed: %s", got)
			}
			c.cut = nil
			c.pass(3 * second)
			p = c.nodes[node].dial()
			p.Publish("new", []byte("c"))
			c.pass(6 * second)
			if got := p.got(); fmt.Sprint(got) != "[OK]" {
				t.Errorf("a publish to the topic, once there is a majority: %q", got)
			}
			c.same()
		})
	}
}

// A forwarded publish that was lost is sent again also while others follow it
// all the time.
func TestLostForwardUnderLoad(t *testing.T) {
	c := newCluster(t, 3, Config{})
	c.publish(1, "OK", "first")
	from := c.other(c.leader(1))
	p := c.nodes[from].dial()
	c.isolate(from)
	p.Publish("t", []byte("lost"))
	c.settle()
	c.cut = nil
	for i := range 20 {
		p.Publish("t", fmt.Append(nil, i))
		c.pass(100 * millisecond)
	}
	if n := answers(p, "OK"); n != 21 {
		t.Errorf("%d of 21 publishes are acknowledged", n)
	}
}

// A publish that was forwarded and lost holds up nothing that is forwarded
// behind a snapshot.
func TestForwardsGoOnBehindASnapshot(t *testing.T) {
	c := newCluster(t, 3, Config{LogBytes: 2 << 10, FileSize: 16 << 10})
	c.publish(1, "OK", "first")
	lead := c.leader(1)
	from := c.other(lead)
	term := c.nodes[lead].core.View(1).Term
	c.isolate(from)
	p := c.nodes[from].dial()
	p.Publish("t", []byte("lost"))
	c.pass(6 * second)
	if n := answers(p, "E_PUB_FAILED QUORUM_LOST"); n != 1 {
		t.Fatalf("%d answers to a publish that was forwarded and lost", n)
	}
	for i := range 40 {
		c.publish(lead, "OK", fmt.Sprint(i, strings.Repeat("x", 100)))
	}
	c.cut = nil
	c.carry = func(_ uint64, told []Effect) []Effect {
		return slices.DeleteFunc(told, func(e Effect) bool { return slices.Contains(itemKinds(e.Data), itemForward) })
	}
	c.pass(second)
	if c.nodes[from].points[PointSnapshotInstalled] == 0 || c.nodes[lead].core.View(1).Term != term {
		t.Fatal("no snapshot is installed, or another node leads: nothing is tested")
	}
	c.carry = nil
	c.publish(from, "OK", "next")
	c.pass(second)
	c.same()
}

// However much waits for a leader that does not hear, what is sent again fits
// into a frame; and all of it arrives once the leader hears.
func TestMuchIsForwardedAgain(t *testing.T) {
	c := newCluster(t, 3, Config{FileSize: 1 << 20})
	c.publish(1, "OK", "first")
	from := c.other(c.leader(1))
	largest := 0
	c.carry = func(_ uint64, told []Effect) []Effect {
		return slices.DeleteFunc(told, func(e Effect) bool {
			lost := slices.Contains(itemKinds(e.Data), itemForward)
			if lost && c.nodes[from].points[PointForwardedAgain] > 0 {
				largest = max(largest, len(e.Data))
			}
			return lost
		})
	}
	var clients []*client
	for range 40 {
		p := c.nodes[from].dial()
		p.Publish("t", make([]byte, 200<<10))
		clients = append(clients, p)
	}
	c.pass(second)
	if most := repeatBytes + 300<<10; largest == 0 || largest > most {
		t.Errorf("a frame of %d bytes, want at most %d", largest, most)
	}
	c.carry = nil
	c.pass(3500 * millisecond)
	for _, p := range clients {
		if got := fmt.Sprint(p.got()); got != "[OK]" {
			t.Fatalf("a publish that waited: %s", got)
		}
	}
	c.same()
}
