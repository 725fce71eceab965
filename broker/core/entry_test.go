package core

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pestle/broker/journal"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The bytes of the entries are fixed: journals outlive programs.
func TestBytesOfEntries(t *testing.T) {
	for _, test := range []struct {
		name  string
		entry interface{ encode() []byte }
		want  string
	}{
		{"topic-create", topicCreate{"orders"}, "01 06 6f7264657273"},
		{"channel-create", channelCreate{"t", "ch"}, "01 01 74 02 6368"},
		{"channel-delete", channelDelete{"t", 300}, "01 01 74 ac02"},
		{"partition-open", partitionOpen{7, "t"}, "01 07 01 74"},
		{"channel-open", channelOpen{7, 2, "ch"}, "01 07 02 02 6368"},
		{"channel-close", channelClose{7, 2}, "01 07 02"},
		{"publish", publish{partition: 7, log: 5, delay: 300, messages: []published{{body: []byte("a")}, {body: []byte("bc")}}},
			"01 0500000000000000 07 ac02 02 01 3043d0c1 61 02 ac022e24 6263"},
		{"ledger", ledger{
			partition: 7, channel: 2, asOf: 9, watermark: 300,
			finished: []span{{10, 12}, {15, 16}},
			attempts: []deliveries{{12, 2}, {14, 65535}},
			due:      []dueTime{{14, 300}},
		}, "01 07 02 09 ac02 02 0a02 0301 02 0c02 01ffff03 01 0eac02"},
	} {
		if got, want := fmt.Sprintf("%x", test.entry.encode()), strings.ReplaceAll(test.want, " ", ""); got != want {
			t.Errorf("%s is %s, want %s", test.name, got, want)
		}
	}
}

func TestEntriesThatAreNoEntries(t *testing.T) {
	ledgerOf := func(rest ...byte) []byte { return append([]byte{1, 7, 2, 9, 99}, rest...) }
	for _, test := range []struct {
		name string
		kind uint8
		in   []byte
		want string
	}{
		{"nothing", kindPublish, nil, "it ends too early"},
		{"a newer version", kindPublish, []byte{2}, "its version is 2 and this program reads 1"},
		{"bytes left over", kindPartitionOpen, []byte{1, 7, 1, 't', 0}, "1 bytes follow its end"},
		{"a name too long", kindPartitionOpen, append([]byte{1, 7, 65}, make([]byte, 65)...), "a name has 65 bytes"},
		{"a name cut short", kindPartitionOpen, []byte{1, 7, 9, 't'}, "it ends too early"},
		{"no messages", kindPublish, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0}, "it has no messages"},
		{"more messages than bytes", kindPublish, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 200, 1}, "it ends too early"},
		{"a body longer than the entry", kindPublish, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 1, 9, 0, 0, 0, 0, 'x'}, "it ends too early"},
		{"an endless number", kindPublish, append([]byte{1}, bytes.Repeat([]byte{0xff}, 11)...), "it ends too early"},
		{"an empty span", kindLedger, ledgerOf(1, 3, 0, 0, 0), "its spans of offsets are out of order or range"},
		{"spans that touch", kindLedger, ledgerOf(2, 3, 1, 0, 1, 0, 0), "its spans of offsets are out of order or range"},
		{"attempts of 1", kindLedger, ledgerOf(0, 1, 3, 1, 0), "a number of attempts is 1"},
		{"a log time before the epoch", kindPublish, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0x80, 7, 0, 1, 0, 0, 0, 0, 0}, "its log time is"},
		{"no data groups", kindTopicCreate, []byte{1, 1, 't'}, "there are no data groups"},
		{"members of no verb", kindMembers, []byte{1, 9, 1, 0, 0}, "which there is not"},
	} {
		_, err := (&dataGroup{}).apply(test.kind, test.in, journal.Position{})
		if test.kind == kindTopicCreate || test.kind == kindMembers {
			_, err = newMetadata().apply(test.kind, test.in)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// Entries that cannot be true are refused by the state they meet.
func TestEntriesThatCannotBeTrue(t *testing.T) {
	g := &dataGroup{keep: noKeeper{}}
	apply := func(kind uint8, e interface{ encode() []byte }) error {
		_, err := g.apply(kind, e.encode(), journal.Position{File: 1})
		return err
	}
	three := publish{partition: 1, messages: []published{{body: []byte("a")}, {body: []byte("b")}, {body: []byte("c")}}}
	for i, err := range []error{
		apply(kindPartitionOpen, partitionOpen{1, "t"}),
		apply(kindChannelOpen, channelOpen{1, 2, "other"}),
		apply(kindPublish, three),
		apply(kindChannelOpen, channelOpen{1, 1, "ch"}),
		apply(kindPublish, three),
		apply(kindLedger, ledger{partition: 1, channel: 1, asOf: 5, watermark: 5, finished: []span{{4, 5}}}),
		apply(kindLedger, ledger{partition: 1, channel: 9}), // closed meanwhile
		apply(kindChannelClose, channelClose{2, 1}),         // of a partition that was never opened
	} {
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	for name, e := range map[string]ledger{
		"finished twice":               {watermark: 5, finished: []span{{4, 5}}},
		"finished before the channel":  {watermark: 5, finished: []span{{2, 3}}},
		"finished before it exists":    {watermark: 5, finished: []span{{5, 7}}},
		"watermark goes back":          {watermark: 4},
		"watermark beyond the end":     {watermark: 7},
		"attempts of what is finished": {watermark: 5, attempts: []deliveries{{4, 2}}},
		"due time of what is finished": {watermark: 5, due: []dueTime{{4, 2}}},
		"due time of nothing":          {watermark: 5, due: []dueTime{{6, 2}}},
	} {
		e.partition, e.channel, e.asOf = 1, 1, 5
		if err := apply(kindLedger, e); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, err := range map[string]error{
		"publish to no partition":  apply(kindPublish, publish{partition: 2, messages: three.messages}),
		"ledger of no partition":   apply(kindLedger, ledger{partition: 2}),
		"channel on no partition":  apply(kindChannelOpen, channelOpen{partition: 2}),
		"metadata in a data group": apply(kindTopicCreate, topicCreate{"t"}),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

type noKeeper struct{}

func (noKeeper) stored(*message, []byte) {}
func (noKeeper) forgot(*message)         {}

// Entries are idempotent where a crash may have them proposed again.
func TestMakingTwice(t *testing.T) {
	m := newMetadata()
	m.groups = 1
	g := &dataGroup{keep: noKeeper{}}
	for range 2 {
		for _, e := range []struct {
			kind  uint8
			entry interface{ encode() []byte }
		}{
			{kindTopicCreate, topicCreate{"t"}},
			{kindChannelCreate, channelCreate{"t", "one"}},
			{kindChannelCreate, channelCreate{"t", "two"}},
			{kindPartitionOpen, partitionOpen{1, "t"}},
			{kindChannelOpen, channelOpen{1, 1, "one"}},
		} {
			var err error
			if e.kind < kindPartitionOpen {
				_, err = m.apply(e.kind, e.entry.encode())
			} else {
				_, err = g.apply(e.kind, e.entry.encode(), journal.Position{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []channelInfo{{1, "one"}, {2, "two"}}
	if diff := cmp.Diff(want, m.topics[0].channels, cmp.AllowUnexported(channelInfo{})); diff != "" || len(m.topics) != 1 {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if len(g.partitions) != 1 || len(g.partitions[0].channels) != 1 {
		t.Errorf("partitions: %+v", g.partitions)
	}
	for range 2 {
		if _, err := m.apply(kindChannelDelete, channelDelete{"t", 1}.encode()); err != nil {
			t.Fatal(err)
		}
		if _, err := g.apply(kindChannelClose, channelClose{1, 1}.encode(), journal.Position{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.topics[0].channels) != 1 || len(g.partitions[0].channels) != 0 {
		t.Error("a channel is not deleted")
	}
}

func TestNoPartitionIDLeft(t *testing.T) {
	r := newRig(t, Config{})
	r.core.meta.partitions = maxPartition
	p := r.dial()
	p.Publish("t", []byte("a"))
	p.want("E_PUB_FAILED no partition id is left for another topic")
}

// A checkpoint holds the whole state: loaded and written again it is the same.
func TestCheckpointIsTheState(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newStory(failer{t, rt}, Config{DataGroups: 3})
		for _, a := range rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) action {
			return action{rapid.IntRange(0, 9).Draw(rt, "kind"), rapid.IntRange(0, 99).Draw(rt, "a"), rapid.IntRange(0, 99).Draw(rt, "b")}
		}), 1, 60).Draw(rt, "actions") {
			s.act(a)
		}
		meta := s.core.meta.checkpoint()
		again, err := loadMetadata(meta)
		if err != nil || !bytes.Equal(again.checkpoint(), meta) {
			rt.Fatalf("metadata: %v\n%x\n%x", err, meta, again.checkpoint())
		}
		for _, g := range s.core.groups {
			state := g.checkpoint()
			again, err := loadDataGroup(state, noKeeper{})
			if err != nil || !bytes.Equal(again.checkpoint(), state) {
				rt.Fatalf("data group: %v\n%x\n%x", err, state, again.checkpoint())
			}
		}
	})
}

// What replay makes of a journal is what its writer had.
func TestReplayMakesTheSameState(t *testing.T) {
	s := newRig(t, Config{FileSize: 2 << 10})
	c := s.consumer("t", "ch", 10)
	s.consumer("t", "other#ephemeral", 0).hangUp()
	for range 50 {
		s.dial().publish("t", strings.Repeat("x", 50))
		finishAll(c)
		s.pass(ledgerDelay)
	}
	s.dial().publish("t", "a", "b", "c", "d")
	list := c.deliveries()
	c.Finish(list[2].ID)
	c.Requeue(list[3].ID, 7000)
	c.Requeue(list[1].ID, 0)
	s.pass(second)
	before := [][]byte{s.core.meta.checkpoint(), s.core.groups[0].checkpoint()}
	if sortedKeys(s.disk)[0] < 2 {
		t.Fatal("no file was removed, so no checkpoint is read")
	}
	s.restart()
	after := [][]byte{s.core.meta.checkpoint(), s.core.groups[0].checkpoint()}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("state (-before +after):\n%s", diff)
	}
}

func FuzzEntries(f *testing.F) {
	for _, e := range []interface{ encode() []byte }{
		topicCreate{"t"}, channelCreate{"t", "c"}, channelDelete{"t", 1}, partitionOpen{1, "t"},
		channelOpen{1, 1, "c"}, channelClose{1, 1},
		publish{partition: 1, log: 1, delay: 2, messages: []published{{body: []byte("abc")}}},
		ledger{partition: 1, channel: 1, asOf: 1, watermark: 3, finished: []span{{0, 1}}, attempts: []deliveries{{1, 2}}, due: []dueTime{{1, 9}}},
	} {
		for kind := uint8(0); kind <= kindMembers; kind++ {
			f.Add(kind, e.encode())
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, in []byte) {
		m := newMetadata()
		m.groups = 1
		m.createTopic(topicCreate{"t"})
		_, _ = m.apply(kind, in)
		g := &dataGroup{keep: noKeeper{}}
		g.openPartition(partitionOpen{1, "t"})
		g.partitions[0].channels = []*channelState{{id: 1, name: "c", attempts: map[uint64]uint16{}, due: map[uint64]int64{}}}
		for range 3 {
			g.partitions[0].log.put(message{offset: g.partitions[0].next, needs: 1})
			g.partitions[0].next++
		}
		if _, err := g.apply(kind, in, journal.Position{}); err == nil {
			if state := g.checkpoint(); !reloads(state) {
				t.Errorf("entry %d %x leads to a state that cannot be loaded: %x", kind, in, state)
			}
		}
		_ = reloads(in)
		if m, err := loadMetadata(in); err == nil {
			if again, err := loadMetadata(m.checkpoint()); err != nil || !bytes.Equal(again.checkpoint(), m.checkpoint()) {
				t.Errorf("metadata %x do not come back: %v", in, err)
			}
		}
	})
}

// reloads reports whether a state is loaded, and written again as it was.
func reloads(state []byte) bool {
	g, err := loadDataGroup(state, noKeeper{})
	return err == nil && bytes.Equal(g.checkpoint(), state)
}
