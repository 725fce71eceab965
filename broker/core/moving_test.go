package core

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pestle/broker/journal"
)

// pass so much through a topic of its own that so many files are begun.
func (r *rig) traffic(files uint64) {
	r.t.Helper()
	c, p := r.consumer("traffic", "ch", 100), r.dial()
	for until := r.core.writer.current().seq + files; r.core.writer.current().seq < until; {
		p.publish("traffic", strings.Repeat("x", 100))
		finishAll(c)
	}
	c.hangUp()
	p.hangUp()
	r.pass(second)
}

// bodies drains a channel and returns the bodies in the order they came.
func (r *rig) bodies(topic, channel string) (list []string) {
	r.t.Helper()
	c := r.consumer(topic, channel, 1)
	for {
		got := finishAll(c)
		if len(got) == 0 {
			c.hangUp()
			r.pass(second)
			return list
		}
		list = append(list, got...)
	}
}

// A few messages that nobody takes do not hold the journal back: they move on,
// over and over, and are there whenever somebody comes, after any restart.
func TestNeededMessagesMove(t *testing.T) {
	for name, slow := range map[string]bool{"a slow channel": true, "a topic without channels": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{FileSize: 4 << 10})
			if slow {
				r.consumer("kept", "slow", 0).hangUp()
			}
			want := []string{"first", strings.Repeat("second", 20), "third"}
			r.dial().publish("kept", want...)
			for round := range 6 {
				r.traffic(5)
				if files := sortedKeys(r.disk); files[0] == 1 || len(files) > moveFiles+2 {
					t.Fatalf("round %d: files on disk: %v", round, files)
				}
				switch round % 3 {
				case 1:
					r.restart()
				case 2:
					r.powerLoss(func(int) int { return 0 })
					r.start()
				}
			}
			if r.points[PointBodyMoved] < 9 {
				t.Errorf("%d times a message was moved: nothing was tested", r.points[PointBodyMoved])
			}
			c := r.consumer("kept", "slow", 1)
			wantBodies(t, finishAll(c), want[0])
			c.hangUp()
			r.pass(second)
			r.restart()
			r.restart() // the journal knows that it is finished
			if got, left := r.core.writer.needed, int64(len(want[1])+len(want[2])+2*indexCost); got != left {
				t.Errorf("%d bytes count as needed, want %d", got, left)
			}
			if got := r.bodies("kept", "slow"); !slices.Equal(got, want[1:]) {
				t.Errorf("there are %q", got)
			}
			late := moving{group: 1, partition: 1} // on its way when it was finished
			late.size, late.sum = uint32(len(want[0])), journal.Sum([]byte(want[0]))
			r.core.move(late, []byte(want[0]))
			r.dial().publish("traffic", "x")
			r.restart()
			if got := r.bodies("kept", "slow"); len(got) > 0 || r.core.writer.needed != 1+indexCost {
				t.Errorf("when all is finished there are %q, and %d bytes count as needed", got, r.core.writer.needed)
			}
		})
	}
}

// What a message was published with moves along.
func TestDeferredMessageMoves(t *testing.T) {
	r := newRig(t, Config{FileSize: 4 << 10})
	c := r.consumer("kept", "ch", 0)
	c.DeferredPublish("kept", 600_000, []byte("late"))
	r.settle()
	r.traffic(8)
	r.restart()
	r.traffic(8)
	if r.points[PointBodyMoved] < 2 {
		t.Fatal("it was not moved: nothing was tested")
	}
	if got := r.bodies("kept", "ch"); len(got) > 0 {
		t.Errorf("it comes early: %q", got)
	}
	r.pass(600 * second)
	if got := r.bodies("kept", "ch"); !slices.Equal(got, []string{"late"}) {
		t.Errorf("there are %q", got)
	}
}

// Much that is needed stays where it is.
func TestBacklogIsNotMoved(t *testing.T) {
	r := newRig(t, Config{FileSize: 4 << 10})
	r.consumer("t", "slow", 0).hangUp()
	p := r.dial()
	for range 200 {
		p.publish("t", strings.Repeat("x", 100))
	}
	r.pass(second)
	if n := len(r.disk); n <= moveFiles+2 || r.points[PointBodyMoved] > 0 {
		t.Errorf("%d files, %d messages moved", n, r.points[PointBodyMoved])
	}
}

// A power loss at any step of a move loses nothing and brings nothing twice.
func TestPowerLossDuringMoves(t *testing.T) {
	const stories = 3000
	for stop := 0; stop < stories; stop += 3 {
		r := newRig(t, Config{FileSize: 4 << 10})
		r.consumer("kept", "slow", 0).hangUp()
		var want []string
		for i := range 4 {
			want = append(want, fmt.Sprintf("%d %s", i, strings.Repeat("k", 50)))
		}
		r.dial().publish("kept", want...)
		r.forget()
		c, p := r.consumer("t", "ch", 100), r.dial()
		for n := 0; n < stop && r.points[PointBodyMoved] < 9; n++ {
			if !r.work() {
				finishAll(c)
				p.Publish("t", []byte(strings.Repeat("x", 300)))
			}
		}
		over := r.points[PointBodyMoved] >= 9
		r.powerLoss(func(size int) int { return size / 2 })
		r.start()
		if got := r.bodies("kept", "slow"); !slices.Equal(got, want) {
			t.Fatalf("stopped at %d: there are %q", stop, got)
		}
		if over {
			return
		}
	}
	t.Fatalf("the story does not end within %d steps", stories)
}

// A message may move while it is being read for a delivery, and what is read
// then be anything: it is read again, where it is now.
func TestMoveDuringRead(t *testing.T) {
	r := newRig(t, Config{FileSize: 4 << 10})
	r.consumer("kept", "ch", 0).hangUp()
	r.dial().publish("kept", "kept")
	r.forget()
	late := r.consumer("kept", "ch", 0)
	late.Ready(1)
	for len(r.reads) == 0 {
		r.work()
	}
	held := r.reads[0]
	r.reads = nil
	for r.points[PointBodyMoved] == 0 || sortedKeys(r.disk)[0] <= held.File {
		r.traffic(1)
	}
	r.step(Event{Kind: EvRead, Token: held.Token, Data: bytes.Repeat([]byte{0xee}, int(held.N))})
	r.settle()
	late.want("kept/1")
}

// Nor is it read in its new place before it is there.
func TestReadDuringMove(t *testing.T) {
	for stop := 0; ; stop++ {
		r := newRig(t, Config{FileSize: 4 << 10})
		r.hasty = true
		r.consumer("kept", "ch", 0).hangUp()
		r.dial().publish("kept", "kept")
		c, p := r.consumer("t", "ch", 100), r.dial()
		for len(r.core.writer.files) < moveFiles {
			p.publish("t", strings.Repeat("x", 300))
			finishAll(c)
		}
		r.forget()
		for n := 0; n < stop && r.points[PointBodyMoved] == 0; n++ {
			if !r.work() {
				finishAll(c)
				p.Publish("t", []byte(strings.Repeat("x", 300)))
			}
		}
		over := r.points[PointBodyMoved] > 0
		r.forget()
		r.consumer("kept", "ch", 1).want("kept/1")
		if over {
			return
		}
	}
}

// One that cannot be read keeps its file and is tried again with the next.
func TestUnreadableMessageStays(t *testing.T) {
	r := newRig(t, Config{FileSize: 4 << 10})
	r.consumer("kept", "ch", 0).hangUp()
	r.dial().publish("kept", "kept")
	r.forget()
	healthy := bytes.Clone(r.disk[1].cached)
	at := bytes.Index(healthy, []byte("kept\x00"))
	for i := bytes.LastIndex(healthy, []byte("kept")); i >= at; i-- {
		if healthy[i] == 'k' {
			r.disk[1].cached[i] ^= 1
			break
		}
	}
	r.traffic(8)
	if sortedKeys(r.disk)[0] != 1 || r.points[PointBodyMoved] > 0 {
		t.Fatalf("files %v, %d moved", sortedKeys(r.disk), r.points[PointBodyMoved])
	}
	r.disk[1].cached = healthy
	r.traffic(2)
	if sortedKeys(r.disk)[0] == 1 {
		t.Errorf("files %v", sortedKeys(r.disk))
	}
	if got := r.bodies("kept", "ch"); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("there are %q", got)
	}
}

// What a snapshot brought moves like the rest, also when the place that the
// snapshot's record names is gone at the next start.
func TestMessagesOfASnapshotMove(t *testing.T) {
	c := newCluster(t, 3, Config{LogBytes: 2 << 10, FileSize: 8 << 10})
	lead := c.leader(1)
	away := c.other(lead)
	c.consumer(lead, 0).hangUp()
	c.publish(lead, "OK", "kept")
	c.kill(away)
	// Their bodies fill a file, before the snapshot is written down, and keep
	// that of the snapshot.
	for range 60 {
		c.publish(lead, "OK", strings.Repeat("k", 150))
	}
	c.start(away)
	c.pass(3 * second)
	r := c.nodes[away]
	if r.points[PointSnapshotInstalled] == 0 {
		t.Fatal("no snapshot was installed")
	}
	snapshot := r.core.writer.current().seq
	if where := r.core.group(1).partitions[0].log.at(0).where; where.File >= snapshot {
		t.Fatalf("the message is in file %d, and the snapshot in %d", where.File, snapshot)
	}
	// The story ends when the message's file is gone.
	c.over = func() bool { return r.disk[1] == nil }
	late := c.consumer(lead, 100)
	for i := 0; !c.over(); i++ {
		if i == 100 {
			t.Fatalf("nothing is moved: %d files, %d bytes needed", len(r.core.writer.files), r.core.writer.needed)
		}
		late.r.dial().Publish("t", []byte(strings.Repeat("x", 1000)))
		c.pass(100 * millisecond)
		for _, d := range late.deliveries() {
			if d.Body[0] != 'k' {
				late.Finish(d.ID)
			}
		}
		c.pass(100 * millisecond)
	}
	if r.disk[snapshot] == nil {
		t.Fatalf("the files are %v, the snapshot was in %d", sortedKeys(r.disk), snapshot)
	}
	c.over = nil
	c.kill(away)
	r = c.start(away)
	c.pass(3 * second)
	m := r.core.group(1).partitions[0].log.at(0)
	if m == nil || m.rotten || m.size != 4 {
		t.Fatalf("the message is %+v", m)
	}
	reply := r.request(Request{Kind: ReqRead, Topic: "t", Count: 1})
	if len(reply.Read) != 1 || string(reply.Read[0].Body) != "kept" {
		t.Errorf("it reads %+v", reply.Read)
	}
}
