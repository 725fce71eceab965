package replica

import (
	"bytes"
	"encoding/hex"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/journal"

	"pgregory.net/rapid"
)

// An entry comes out of the log, and out of the journal, as it went in; and its
// payload stands in the record where it says.
func TestEntriesComeOutAsTheyWentIn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.Uint8Range(2, 31).Draw(rt, "kind")
		origin := Origin{Node: *anyNumber(rt, "node"), Life: *anyNumber(rt, "life"), Ticket: *anyNumber(rt, "ticket")}
		payload := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(rt, "payload")
		e := &pb.Entry{
			Index: anyNumber(rt, "index"), Term: anyNumber(rt, "term"), Type: pb.EntryNormal.Enum(),
			Data: EncodeEntry(kind, origin, payload),
		}
		record := ToRecord(7, e)
		if back := FromRecord(record); !proto.Equal(back, e) {
			rt.Fatalf("%v comes out of the journal as %v", e, back)
		}
		got, err := decode(e, journal.Position{File: 3, Offset: 1000})
		if err != nil || got.Kind != kind || got.Origin != origin || !bytes.Equal(got.Payload, payload) || got.Index != e.GetIndex() || got.Term != e.GetTerm() {
			rt.Fatalf("%v comes out as %+v, %v", e, got, err)
		}
		if at := int(got.Where.Offset) - 1000; got.Where.File != 3 || !bytes.Equal(record.Payload[at:], payload) {
			rt.Fatalf("the payload does not stand at %+v", got.Where)
		}
		size := len(e.Data) - len(payload)
		for n := 1; n < size; n++ {
			if _, _, _, err := cutHeader(e.Data[:n]); err == nil {
				rt.Fatalf("%d of %d bytes of a header are one", n, size)
			}
		}
	})
}

// What raft itself puts into the log comes out of the journal too.
func TestEntriesOfRaft(t *testing.T) {
	for name, e := range map[string]*pb.Entry{
		"the first of a leader":         {Index: new(uint64(5)), Term: new(uint64(2)), Type: pb.EntryNormal.Enum()},
		"a change of the members":       {Index: new(uint64(6)), Term: new(uint64(2)), Type: pb.EntryConfChangeV2.Enum(), Data: []byte{1, 2}},
		"a change that changes nothing": {Index: new(uint64(6)), Term: new(uint64(2)), Type: pb.EntryConfChangeV2.Enum()},
	} {
		if back := FromRecord(ToRecord(1, e)); back.GetType() != e.GetType() || back.GetIndex() != e.GetIndex() || back.GetTerm() != e.GetTerm() || !bytes.Equal(back.GetData(), e.GetData()) {
			t.Errorf("%s: %v comes out as %v", name, e, back)
		}
	}
}

// The bytes of an entry stay: they are in journals.
func TestGoldenEntry(t *testing.T) {
	got := hex.EncodeToString(EncodeEntry(8, Origin{Node: 3, Life: 0x0102030405060708, Ticket: 300}, []byte("xy")))
	if want := "0803" + "0807060504030201" + "ac02" + "7879"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Whatever an entry holds, it is read or an error.
func FuzzEntry(f *testing.F) {
	f.Add(EncodeEntry(8, Origin{Node: 3, Life: 9, Ticket: 300}, []byte("xy")))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		e := &pb.Entry{Index: new(uint64(1)), Term: new(uint64(1)), Type: pb.EntryNormal.Enum(), Data: data}
		got, err := decode(e, journal.Position{})
		if err != nil || len(data) == 0 {
			return
		}
		again, err := decode(&pb.Entry{Data: EncodeEntry(got.Kind, got.Origin, got.Payload)}, journal.Position{})
		if err != nil || again.Kind != got.Kind || again.Origin != got.Origin || !bytes.Equal(again.Payload, got.Payload) {
			t.Errorf("%+v comes out as %+v, %v", got, again, err)
		}
	})
}
