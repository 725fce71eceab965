package replica

import (
	"encoding/binary"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/journal"
)

// Kinds of entries that are this package's own. The others are the caller's,
// from 2 to 31.
const (
	KindEmpty uint8 = 0 // the first entry of a leader
	KindConf  uint8 = 1 // a change of the members
)

// Origin says whose proposal an entry is: the node, the life it was in, and
// the number it gave it there.
type Origin struct {
	Node   uint64
	Life   uint64
	Ticket uint64
}

// Entry is one committed entry.
type Entry struct {
	Index   uint64
	Term    uint64
	Kind    uint8
	Origin  Origin
	Payload []byte
	Where   journal.Position // of Payload in this node's journal
}

// EncodeEntry returns the bytes of an entry that is to be proposed.
func EncodeEntry(kind uint8, o Origin, payload []byte) []byte {
	data := make([]byte, 0, 1+2*binary.MaxVarintLen64+8+len(payload))
	data = binary.AppendUvarint(append(data, kind), o.Node)
	data = binary.LittleEndian.AppendUint64(data, o.Life)
	return append(binary.AppendUvarint(data, o.Ticket), payload...)
}

// cutHeader returns what stands before the payload, and how long it is.
func cutHeader(data []byte) (kind uint8, o Origin, size int, err error) {
	if len(data) == 0 {
		return KindEmpty, Origin{}, 0, nil
	}
	kind, rest := data[0], data[1:]
	node, n := binary.Uvarint(rest)
	if n <= 0 || len(rest) < n+8 {
		return 0, Origin{}, 0, fmt.Errorf("the header of an entry of kind %d ends too early", kind)
	}
	life := binary.LittleEndian.Uint64(rest[n:])
	ticket, t := binary.Uvarint(rest[n+8:])
	if t <= 0 {
		return 0, Origin{}, 0, fmt.Errorf("the header of an entry of kind %d ends too early", kind)
	}
	return kind, Origin{Node: node, Life: life, Ticket: ticket}, 1 + n + 8 + t, nil
}

// ToRecord is the record that an entry becomes in the journal.
func ToRecord(group uint32, e *pb.Entry) journal.Record {
	r := journal.Record{Group: group, Index: e.GetIndex(), Term: e.GetTerm()}
	switch {
	case e.GetType() != pb.EntryNormal:
		r.Kind, r.Payload = KindConf, e.GetData()
	case len(e.GetData()) > 0:
		r.Kind, r.Payload = e.GetData()[0], e.GetData()[1:]
	}
	return r
}

// FromRecord is the inverse of ToRecord.
func FromRecord(r journal.Record) *pb.Entry {
	e := &pb.Entry{Index: new(r.Index), Term: new(r.Term), Type: pb.EntryNormal.Enum()}
	switch {
	case r.Kind == KindConf:
		e.Type, e.Data = pb.EntryConfChangeV2.Enum(), r.Payload
	case r.Kind != KindEmpty:
		e.Data = append([]byte{r.Kind}, r.Payload...)
	}
	return e
}

// decode turns an entry into what the caller applies; record is where its
// record's payload stands.
func decode(e *pb.Entry, record journal.Position) (Entry, error) {
	out := Entry{Index: e.GetIndex(), Term: e.GetTerm(), Where: record}
	if e.GetType() != pb.EntryNormal {
		out.Kind, out.Payload = KindConf, e.GetData()
		return out, nil
	}
	kind, origin, size, err := cutHeader(e.GetData())
	if err != nil {
		return Entry{}, err
	}
	out.Kind, out.Origin, out.Payload = kind, origin, e.GetData()[size:]
	if size > 0 {
		out.Where.Offset += int64(size - 1) // the kind stands in the record's header
	}
	return out, nil
}
