package core

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"pestle/broker/replica"
)

// frameFrom is a frame as a node would send it that is none of the cluster's.
func frameFrom(from, instance, to, known uint64, items ...[]byte) []byte {
	data := binary.LittleEndian.AppendUint64(appendUint([]byte{frameMagic, frameVersion}, from), instance)
	data = binary.LittleEndian.AppendUint64(appendUint(data, to), known)
	data = appendWord(data, "elsewhere")
	for _, item := range items {
		data = append(append(data, item[0]), appendWord(nil, string(item[1:]))...)
	}
	return sealFrame(data)
}

func sealFrame(data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// A node in quarantine says nothing any more under its id, also not what it has
// put off until it is durable.
func TestQuarantineIsSilent(t *testing.T) {
	c := newCluster(t, 3, Config{})
	c.publish(1, "OK", "a")
	lead := c.leader(1)
	node := c.other(lead)
	r := c.nodes[node]
	p := c.nodes[lead].dial()
	p.Publish("t", []byte("b"))
	for len(r.changes) == 0 { // until the entry is on its way into the journal
		c.step()
	}
	r.told = nil
	r.core.enterQuarantine("a test wants it", &r.fx)
	c.carry = func(from uint64, told []Effect) []Effect {
		for _, e := range told {
			if from == node {
				t.Errorf("a node in quarantine tells node %d items %v", e.Node, itemKinds(e.Data))
			}
		}
		return told
	}
	c.pass(second)
	if got := fmt.Sprint(p.got()); got != "[OK]" {
		t.Errorf("the others go on: %s", got)
	}
	if r.core.stats("", "").Quarantine == "" || r.exited != "" {
		t.Error("a node in quarantine does not tell why")
	}
	r.step(Event{Kind: EvStop})
	c.pass(3 * second)
	if !r.stopped {
		t.Error("a node in quarantine does not stop")
	}
}

// A node that knows nothing yet of a group does not tell another that no group
// needs it.
func TestNoGroupNeedsIt(t *testing.T) {
	c := newCluster(t, 3, Config{DataGroups: 2})
	c.publish(1, "OK", "a")
	r := c.nodes[1]
	members := r.core.meta
	members.changeMembers(membersChange{verb: memberReplace, node: 3, newNode: 4, address: "node-4"})
	drop := func(s *seat) {
		s.log.Conf.Voters = slices.DeleteFunc(slices.Clone(s.log.Conf.Voters), func(id uint64) bool { return id == 3 })
	}
	drop(r.core.seats[0])
	if r.core.released(3) {
		t.Error("node 3 is let go while groups 1 and 2 have it")
	}
	seats := r.core.seats
	r.core.seats = seats[:1]
	if r.core.released(3) {
		t.Error("node 3 is let go by a node that knows nothing of groups 1 and 2")
	}
	r.core.seats = []*seat{seats[0], {id: 1, log: &replica.Log{}}, {id: 2, log: &replica.Log{}}}
	if r.core.released(3) {
		t.Error("node 3 is let go by a node that does not know who is in groups 1 and 2")
	}
	r.core.seats = seats
	drop(seats[1])
	drop(seats[2])
	if !r.core.released(3) {
		t.Error("node 3 is not let go though no group has it")
	}
}

// Only who a new node's configuration names can attest that it is new.
func TestStrangersAttestNothing(t *testing.T) {
	r := newRig(t, Config{Node: 1, Cluster: []Member{{1, "a", false}, {2, "b", false}, {3, "c", false}}})
	instance := r.core.identity.instance
	for node := uint64(7); node < 12; node++ {
		for range 2 { // to be met, and then to attest
			r.step(Event{Kind: EvTold, Data: frameFrom(node, node, 1, instance, []byte{itemWelcome})})
			r.settle()
		}
	}
	r.pass(second)
	if r.core.identity.born {
		t.Error("strangers have attested that the node is new")
	}
	for node := uint64(2); node < 4; node++ {
		for range 2 {
			r.step(Event{Kind: EvTold, Data: frameFrom(node, node, 1, instance, []byte{itemWelcome})})
			r.settle()
		}
	}
	r.pass(second)
	if !r.core.identity.born {
		t.Error("all others have attested that the node is new, and it does not take part")
	}
}

// Two nodes under one id: the second is not listened to, and what the first
// does goes on.
func TestTwoNodesWithOneID(t *testing.T) {
	c := newCluster(t, 3, Config{})
	c.publish(1, "OK", "a")
	twin := &rig{
		t: t, cfg: c.cfg, now: c.now, disk: map[uint64]*diskFile{},
		clients: map[ConnID]*client{}, replies: map[RequestID]*Reply{},
	}
	twin.cfg.Node, twin.cfg.Salt, twin.cfg.FileSize = 2, 999_000, 64<<10
	twin.start()
	for range 40 {
		c.pass(50 * millisecond)
		twin.now = c.now
		twin.step(Event{Kind: EvTimer})
		twin.settle()
		for _, e := range twin.told {
			if to := c.nodes[e.Node]; to != nil && e.Node != 2 {
				to.step(Event{Kind: EvTold, Data: e.Data})
				// Node 2's address may be the twin's.
				for _, back := range to.told {
					if back.Node == 2 {
						twin.step(Event{Kind: EvTold, Data: back.Data})
					}
				}
			}
		}
		twin.told = nil
	}
	if twin.core.identity.born || !strings.Contains(twin.core.Quarantined(), "an id is used once") {
		t.Errorf("the twin of node 2 takes part: %q", twin.core.Quarantined())
	}
	c.publish(2, "OK", "b")
	c.same()
}

// Whoever is not the receiver's peer changes nothing, and no storm of them
// grows what a node keeps.
func TestFramesOfStrangers(t *testing.T) {
	c := newCluster(t, 3, Config{})
	c.publish(1, "OK", "a")
	r := c.nodes[1]
	instance := r.core.identity.instance
	state := r.core.stateOf(r.core.seats[0])
	for name, frame := range map[string][]byte{
		"to another node":              frameFrom(9, 9, 2, 0, []byte{itemHello}),
		"to another instance":          frameFrom(9, 9, 1, instance+1, []byte{itemHello}),
		"from this node":               frameFrom(1, 9, 1, 0, []byte{itemRetired}),
		"an impostor retires it":       frameFrom(2, 9, 1, instance, []byte{itemRetired}),
		"an impostor hands in a topic": frameFrom(2, 9, 1, instance, append([]byte{itemForward, 0}, topicCreate{"x"}.encode()...)),
	} {
		r.step(Event{Kind: EvTold, Data: frame})
		c.settle()
		if r.core.Quarantined() != "" || r.exited != "" || string(r.core.stateOf(r.core.seats[0])) != string(state) {
			t.Errorf("%s: the node is another: %q", name, r.core.Quarantined())
		}
	}
	if _, met := r.core.identity.known[9]; met {
		t.Error("the node remembers who was not speaking to it")
	}
	files := r.core.writer.current().seq
	for i := range uint64(2000) {
		r.step(Event{Kind: EvTold, Data: frameFrom(2, 100+i, 1, instance, []byte{itemHello})})
		r.step(Event{Kind: EvTold, Data: frameFrom(10, 10, 1, instance, []byte{itemHello})})
	}
	c.settle()
	if grown := r.core.writer.current().seq - files; grown > 1 || len(r.core.identity.known) > 3 {
		t.Errorf("a storm of hellos takes %d files, and %d nodes are remembered", grown, len(r.core.identity.known))
	}
	c.publish(1, "OK", "b")
	c.same()
}

// The table of quorum states has an answer to every sign, no state without a
// way back to health, and none that cannot be reached.
func TestQuorumTable(t *testing.T) {
	want := map[QuorumState][quorumSigns]QuorumState{ // lag, caught up, no leader, leader, waited
		Healthy:  {Degraded, Healthy, Electing, Healthy, ReadOnly},
		Degraded: {Degraded, Healthy, Electing, Degraded, ReadOnly},
		Electing: {Electing, Electing, Electing, Healthy, ReadOnly},
		ReadOnly: {ReadOnly, ReadOnly, ReadOnly, Healthy, ReadOnly},
	}
	reach := func(from QuorumState) map[QuorumState]bool {
		seen, next := map[QuorumState]bool{from: true}, []QuorumState{from}
		for len(next) > 0 {
			q := next[0]
			next = next[1:]
			for sign := range quorumSigns {
				if to := q.after(sign); !seen[to] {
					seen[to], next = true, append(next, to)
				}
			}
		}
		return seen
	}
	for state, row := range want {
		for sign := range quorumSigns {
			if got := state.after(sign); got != row[sign] {
				t.Errorf("%s at sign %d: %s, want %s", state, sign, got, row[sign])
			}
		}
		if n := len(reach(state)); n != len(want) {
			t.Errorf("from %s only %d of %d states can be reached", state, n, len(want))
		}
	}
}

// Whoever is new is remembered also when the journal file has no room for it
// and nothing else goes on.
func TestNodeIsMetWhenTheFileIsFull(t *testing.T) {
	r := newCluster(t, 3, Config{FileSize: 4 << 10}).nodes[1]
	for node := uint64(4); node < 60; node++ {
		for n := 0; r.core.instanceOf(node) == 0; n++ {
			if n > 10 {
				t.Fatalf("node %d is not remembered; file %d has room for %d bytes", node, r.core.writer.current().seq, r.core.writer.room())
			}
			r.step(Event{Kind: EvTold, Data: frameFrom(node, node, 1, 0, []byte{itemHello})})
			r.settle()
		}
	}
	if r.core.writer.current().seq < 2 {
		t.Error("one file had room for all: nothing is tested")
	}
}
