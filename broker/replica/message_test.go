package replica

import (
	"bytes"
	"encoding/hex"
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "go.etcd.io/raft/v3/raftpb"

	"pgregory.net/rapid"
)

var messageTypes = []pb.MessageType{
	pb.MsgApp, pb.MsgAppResp, pb.MsgVote, pb.MsgVoteResp, pb.MsgPreVote, pb.MsgPreVoteResp,
	pb.MsgSnap, pb.MsgHeartbeat, pb.MsgHeartbeatResp, pb.MsgTimeoutNow,
}

func anyNumber(rt *rapid.T, name string) *uint64 {
	return new(rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64()).Draw(rt, name))
}

func anyIDs(rt *rapid.T, name string) []uint64 {
	return rapid.SliceOfN(rapid.Uint64(), 0, 4).Draw(rt, name)
}

func anyMessage(rt *rapid.T) *pb.Message {
	kind := rapid.SampledFrom(messageTypes).Draw(rt, "type")
	m := &pb.Message{
		Type: kind.Enum(), From: anyNumber(rt, "from"), To: anyNumber(rt, "to"), Term: anyNumber(rt, "term"),
		LogTerm: anyNumber(rt, "log term"), Index: anyNumber(rt, "index"), Commit: anyNumber(rt, "commit"),
		Vote: anyNumber(rt, "vote"), RejectHint: anyNumber(rt, "hint"), Reject: new(rapid.Bool().Draw(rt, "reject")),
		Context: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(rt, "context"),
	}
	for range rapid.IntRange(0, 4).Draw(rt, "entries") {
		m.Entries = append(m.Entries, &pb.Entry{
			Term: anyNumber(rt, "entry term"), Index: anyNumber(rt, "entry index"),
			Type: rapid.SampledFrom([]pb.EntryType{pb.EntryNormal, pb.EntryConfChangeV2}).Draw(rt, "entry type").Enum(),
			Data: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(rt, "entry data"),
		})
	}
	if kind == pb.MsgSnap {
		conf := Conf{
			Voters: anyIDs(rt, "voters"), Learners: anyIDs(rt, "learners"), VotersOutgoing: anyIDs(rt, "outgoing"),
			LearnersNext: anyIDs(rt, "next"), AutoLeave: rapid.Bool().Draw(rt, "leave"),
		}
		m.Snapshot = &pb.Snapshot{Data: rapid.SliceOfN(rapid.Byte(), 0, 99).Draw(rt, "state"), Metadata: &pb.SnapshotMetadata{
			Index: anyNumber(rt, "snapshot index"), Term: anyNumber(rt, "snapshot term"), ConfState: conf.toState(),
		}}
	}
	return m
}

// same reports whether two messages say the same: what is empty is not there.
func same(a, b *pb.Message) bool {
	clean := func(m *pb.Message) *pb.Message {
		m = proto.CloneOf(m)
		if len(m.Context) == 0 {
			m.Context = nil
		}
		for _, e := range m.Entries {
			if len(e.Data) == 0 {
				e.Data = nil
			}
		}
		if m.Snapshot != nil && len(m.Snapshot.Data) == 0 {
			m.Snapshot.Data = nil
		}
		return m
	}
	return proto.Equal(clean(a), clean(b))
}

// A message comes out as it went in; cut off anywhere, or with anything behind
// it, it is an error.
func TestMessagesComeOutAsTheyWentIn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := anyMessage(rt)
		in := AppendMessage(nil, m)
		got, err := DecodeMessage(in)
		if err != nil || !same(got, m) {
			rt.Fatalf("%v comes out as %v, %v", m, got, err)
		}
		for n := range in {
			if got, err := DecodeMessage(in[:n]); err == nil {
				rt.Fatalf("%d of %d bytes of %v are %v", n, len(in), m, got)
			}
		}
		if _, err := DecodeMessage(append(slices.Clone(in), 0)); err == nil {
			rt.Fatal("a byte behind a message is overlooked")
		}
	})
}

// The bytes of messages stay: nodes of two versions must understand each other
// while one after another is replaced.
func TestGoldenMessages(t *testing.T) {
	for name, test := range map[string]struct {
		message *pb.Message
		want    string
	}{
		"entries": {&pb.Message{
			Type: pb.MsgApp.Enum(), From: new(uint64(1)), To: new(uint64(2)), Term: new(uint64(3)),
			LogTerm: new(uint64(2)), Index: new(uint64(300)), Commit: new(uint64(299)),
			Entries: []*pb.Entry{
				{Term: new(uint64(3)), Index: new(uint64(301)), Type: pb.EntryNormal.Enum(), Data: []byte("ab")},
				{Term: new(uint64(3)), Index: new(uint64(302)), Type: pb.EntryConfChangeV2.Enum()},
			},
		}, "0300 01 02 03 02 ac02 ab02 00 00 00 02 03 ad02 00 02 6162 03 ae02 02 00"},
		"a vote that is denied": {&pb.Message{
			Type: pb.MsgVoteResp.Enum(), From: new(uint64(1)), To: new(uint64(2)), Term: new(uint64(3)), Reject: new(true), RejectHint: new(uint64(7)),
		}, "0601 01 02 03 00 00 00 00 07 00 00"},
		"a snapshot": {&pb.Message{
			Type: pb.MsgSnap.Enum(), From: new(uint64(1)), To: new(uint64(2)), Term: new(uint64(3)),
			Snapshot: &pb.Snapshot{Data: []byte("s"), Metadata: &pb.SnapshotMetadata{
				Index: new(uint64(9)), Term: new(uint64(2)),
				ConfState: &pb.ConfState{Voters: []uint64{1, 2}, Learners: []uint64{4}, AutoLeave: new(true)},
			}},
		}, "0702 01 02 03 00 00 00 00 00 00 00 09 02 020102 0104 00 00 01 01 73"},
	} {
		got := AppendMessage(nil, test.message)
		want, err := hex.DecodeString(strings.ReplaceAll(test.want, " ", ""))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, want %x, %v", name, got, want, err)
		}
	}
}

// What a message says of how much follows is not believed before it is there.
func TestCountsAreNotBelieved(t *testing.T) {
	head := []byte{byte(pb.MsgApp), 0, 1, 1, 1, 1, 1, 1, 1, 1}
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	snap := []byte{byte(pb.MsgSnap), flagSnapshot, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1}
	for name, in := range map[string][]byte{
		"context":   append(slices.Clone(head), huge...),
		"entries":   append(append(slices.Clone(head), 0), huge...),
		"entry":     append(append(slices.Clone(head), 0, 1, 1, 1, 0), huge...),
		"members":   append(slices.Clone(snap), huge...),
		"the state": append(append(slices.Clone(snap), 0, 0, 0, 0, 0), huge...),
	} {
		in = append(in, make([]byte, 64)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := DecodeMessage(in)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 64<<10 {
			t.Errorf("%s: error %v, %d bytes of memory", name, err, took)
		}
	}
}

// Whatever arrives is a message that says the same when it is written again,
// or an error.
func FuzzMessage(f *testing.F) {
	f.Add(AppendMessage(nil, &pb.Message{Type: pb.MsgApp.Enum(), Entries: []*pb.Entry{{Data: []byte("x"), Type: pb.EntryNormal.Enum()}}}))
	f.Add(AppendMessage(nil, &pb.Message{Type: pb.MsgSnap.Enum(), Snapshot: &pb.Snapshot{Metadata: &pb.SnapshotMetadata{ConfState: Conf{Voters: []uint64{1}}.toState()}}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := DecodeMessage(in)
		if err != nil {
			return
		}
		again, err := DecodeMessage(AppendMessage(nil, m))
		if err != nil || !same(again, m) {
			t.Errorf("%v comes out as %v, %v", m, again, err)
		}
	})
}
