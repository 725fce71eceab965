package core

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"pestle/sim/random"
)

// overheard is one frame that nodes have told each other, without its checksum.
type overheard struct {
	to    uint64
	frame []byte
	items int // where they begin
}

func overhear(e Effect) overheard {
	frame := bytes.Clone(e.Data[:len(e.Data)-4])
	d := decoder{in: frame[2:]}
	d.uint()
	d.fixed64()
	d.uint()
	d.fixed64()
	d.bytes()
	return overheard{e.Node, frame, len(frame) - len(d.in)}
}

// errand runs a cluster through everything that has an item of its own: what is
// forwarded, a snapshot with bodies, other leaders, a node that is replaced.
// Each frame passes by.
func errand(t testing.TB, pass func(Effect) Effect) *cluster {
	c := newCluster(t, 3, Config{LogBytes: 1 << 10, FileSize: 16 << 10, CacheBytes: 1})
	c.carry = func(_ uint64, told []Effect) []Effect {
		for i := range told {
			told[i] = pass(told[i])
		}
		return told
	}
	p := c.nodes[2].dial()
	for i := range 20 {
		if i == 5 {
			c.kill(3)
		}
		p.Publish("t", fmt.Append(nil, i, strings.Repeat("x", 100)))
		c.pass(50 * millisecond)
		if i == 1 {
			c.consumer(1, 0)
		}
	}
	c.start(3)
	c.pass(2 * second)
	c.nodes[1].request(Request{Kind: ReqTransfer, Group: AllGroups, Node: 3})
	c.pass(second)
	c.kill(2)
	cfg := c.cfg
	cfg.Join, cfg.Cluster = true, append(slices.Clone(cfg.Cluster), Member{ID: 4, Address: "node-4"})
	c.boot(4, cfg)
	c.pass(second)
	c.nodes[1].request(Request{Kind: ReqReplace, Node: 2, NewNode: 4, Address: "node-4"})
	c.pass(3 * second)
	c.carry = nil
	return c
}

// eavesdrop returns a few frames of each make-up.
func eavesdrop(t testing.TB) (*cluster, []overheard) {
	var heard []overheard
	seen := map[string]int{}
	c := errand(t, func(e Effect) Effect {
		if kinds := fmt.Sprint(e.Node, string(itemKinds(e.Data))); seen[kinds] < 3 {
			seen[kinds]++
			heard = append(heard, overhear(e))
		}
		return e
	})
	return c, heard
}

// tell hands a frame to a node and lets everything come of it that will; it
// must not panic.
func (c *cluster) tell(to uint64, frame []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.t.Fatalf("frame %x to node %d: panic: %v\n%s", frame, to, p, debug.Stack())
		}
	}()
	c.nodes[to].step(Event{Kind: EvTold, Data: sealFrame(bytes.Clone(frame))})
	c.pass(100 * millisecond)
}

// A frame that was damaged on its way changes nothing.
func TestDamagedFrames(t *testing.T) {
	c, heard := eavesdrop(t)
	for _, h := range heard {
		r := c.nodes[h.to]
		if r == nil {
			continue // it was replaced
		}
		lines, told, changes := len(r.logs), len(r.told), len(r.changes)
		frame := sealFrame(bytes.Clone(h.frame))
		for i := range frame {
			bad := bytes.Clone(frame)
			bad[i] ^= 1 << (i % 8)
			r.step(Event{Kind: EvTold, Data: bad})
			r.step(Event{Kind: EvTold, Data: frame[:i]})
		}
		if len(r.logs)-lines != 2*len(frame) || len(r.told) != told || len(r.changes) != changes {
			t.Fatalf("damaged frames: %d of %d are told of; %d answers, %d writes", len(r.logs)-lines, 2*len(frame), len(r.told)-told, len(r.changes)-changes)
		}
	}
	c.publish(1, "OK", "last")
	c.same()
}

// Frames that come late, again, and out of order are harmless.
func TestFramesComeAgain(t *testing.T) {
	c, heard := eavesdrop(t)
	for _, h := range slices.Backward(heard) {
		if c.nodes[h.to] == nil {
			continue // it was replaced
		}
		c.tell(h.to, h.frame)
		if why := c.nodes[h.to].core.Quarantined(); why != "" {
			t.Fatalf("items %v of long ago: %s", itemKinds(sealFrame(bytes.Clone(h.frame))), why)
		}
	}
	c.pass(3 * second)
	for _, id := range sortedKeys(c.nodes) {
		c.publish(id, "OK", fmt.Sprint("last-", id))
	}
	c.pass(second)
	c.same()
}

// lenient is a testing.TB for a cluster of which anything may become.
type lenient struct{ testing.TB }

type gaveUp struct{}

func (lenient) Helper()               {}
func (lenient) Fatal(...any)          { panic(gaveUp{}) }
func (lenient) Fatalf(string, ...any) { panic(gaveUp{}) }
func (lenient) Errorf(string, ...any) {}

// tampered runs the errand with the items of one frame changed; no node may
// panic, whatever else becomes of it.
func tampered(t testing.TB, at int, change func(items []byte) []byte) (frames int) {
	var bad []byte
	defer func() {
		if p := recover(); p != nil && p != (gaveUp{}) {
			t.Errorf("items %x: panic: %v\n%s", bad, p, debug.Stack())
		}
	}()
	errand(lenient{t}, func(e Effect) Effect {
		if frames++; frames > 20_000 {
			panic(gaveUp{}) // two nodes contradict each other, on and on
		}
		if frames-1 == at {
			h := overhear(e)
			bad = change(h.frame[h.items:])
			e.Data = sealFrame(append(h.frame[:h.items:h.items], bad...))
		}
		return e
	})
	return frames
}

// A frame of which one byte is another, and the checksum made anew, makes no
// node panic.
func TestItemsThatCannotBe(t *testing.T) {
	draw := random.New(1)
	frames := tampered(t, -1, nil)
	for range 100 {
		tampered(t, int(draw.Below(int64(frames))), func(items []byte) []byte {
			if len(items) > 0 {
				items[draw.Below(int64(len(items)))] = byte(draw.Uint64())
			}
			return items
		})
		if t.Failed() {
			return
		}
	}
}

// Whatever a node is told under another one's name, it does not panic.
func FuzzFrame(f *testing.F) {
	_, heard := eavesdrop(f)
	for n, h := range heard {
		f.Add(uint16(n), h.frame[h.items:])
	}
	f.Fuzz(func(t *testing.T, n uint16, items []byte) {
		tampered(t, int(n), func([]byte) []byte { return items })
		c := newCluster(t, 3, Config{})
		c.tell(1, items)
	})
}
