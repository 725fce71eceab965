package core

import (
	"strings"
	"testing"
)

// A machine whose clock says that it is before 1970 has a broker all the same.
func TestWallClockBeforeTheEpoch(t *testing.T) {
	r := &rig{
		t: t, cfg: Config{FileSize: 64 << 10}, now: Time{Mono: 1e9, Wall: -5 * second},
		disk: map[uint64]*diskFile{}, clients: map[ConnID]*client{}, replies: map[RequestID]*Reply{},
	}
	r.start()
	r.dial().publish("t", "a")
	r.restart()
	r.consumer("t", "ch", 1).want("a/1")
}

// A number of groups that a restart would refuse is refused at the first start.
func TestTooManyGroups(t *testing.T) {
	r := &rig{t: t, cfg: Config{DataGroups: maxGroups + 1}}
	if err := r.tryStart(); err == nil || !strings.Contains(err.Error(), "at most 255 data groups") {
		t.Errorf("got %v", err)
	}
}

// Between a channel's creation and its place in the partition the disk may be
// full and the topic's other channel go. What is published then is the new
// channel's, and its file goes when that has finished it.
func TestChannelOpensOnAPartitionThatLostItsOthers(t *testing.T) {
	r := newRig(t, Config{FileSize: 4 << 10})
	other := r.consumer("t", "other#ephemeral", 0)
	p := r.dial()
	c := r.dial()
	c.Subscribe("t", "ch")
	refuseChannelOpen(r, "ch")
	other.hangUp()
	r.settle()
	p.publish("t", "a", "b")
	c = r.consumer("t", "ch", 1)
	wantBodies(t, finishAll(c), "a")
	wantBodies(t, finishAll(c), "b")
	r.pass(second)
	if live := r.core.writer.files[0].live; live != 0 {
		t.Errorf("%d messages keep the file", live)
	}
}

// A topic's first channel is the first on the partition too, though its
// opening was refused and another came meanwhile.
func TestChannelsOpenInTheOrderOfTheirCreation(t *testing.T) {
	r := newRig(t, Config{FileSize: 4 << 10})
	p := r.dial()
	p.publish("t", "a")
	first := r.dial()
	first.Subscribe("t", "first")
	refuseChannelOpen(r, "first")
	r.consumer("t", "second", 1).want()
	r.consumer("t", "first", 1).want("a/1")
}

// refuseChannelOpen lets a SUB come to the point where its channel is created,
// and has the channel-open that follows refused as on a full disk.
func refuseChannelOpen(r *rig, name string) {
	r.t.Helper()
	w := r.core.writer
	for r.core.works["t"] == nil || len(r.core.works["t"].channels) == 0 {
		if !r.work() {
			r.t.Fatal("no channel-create is proposed")
		}
	}
	size := w.current().size
	w.why, w.current().size = "no space left on device", w.at
	r.settle()
	w.why, w.current().size = "", size
	_, created := r.core.meta.byName["t"].channel(name)
	for _, ch := range r.core.groups[0].partitions[0].channels {
		if !created || ch.name == name {
			r.t.Fatal("the channel was to be created and not opened")
		}
	}
}
