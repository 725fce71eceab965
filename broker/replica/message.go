package replica

import (
	"encoding/binary"
	"errors"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"
)

// A message between nodes, numbers as uvarints:
//
//	type, 1 byte · flags, 1 byte (1: reject, 2: a snapshot follows)
//	from · to · term · log term · index · commit · vote · reject hint
//	length and bytes of the context
//	number of entries, each: term · index · type (1 byte) · length · bytes
//	the snapshot: index · term · members (see AppendConf) · length · bytes
const (
	flagReject   = 1
	flagSnapshot = 2
)

var errShort = errors.New("it ends too early")

// AppendMessage appends m, which must be one for another node.
func AppendMessage(dst []byte, m *pb.Message) []byte {
	flags := byte(0)
	if m.GetReject() {
		flags |= flagReject
	}
	snapshot := m.GetType() == pb.MsgSnap
	if snapshot {
		flags |= flagSnapshot
	}
	dst = append(dst, byte(m.GetType()), flags)
	for _, x := range [...]uint64{
		m.GetFrom(), m.GetTo(), m.GetTerm(), m.GetLogTerm(), m.GetIndex(), m.GetCommit(), m.GetVote(), m.GetRejectHint(),
	} {
		dst = binary.AppendUvarint(dst, x)
	}
	dst = appendBytes(dst, m.GetContext())
	dst = binary.AppendUvarint(dst, uint64(len(m.GetEntries())))
	for _, e := range m.GetEntries() {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, e.GetTerm()), e.GetIndex())
		dst = appendBytes(append(dst, byte(e.GetType())), e.GetData())
	}
	if snapshot {
		s := m.GetSnapshot()
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, s.GetMetadata().GetIndex()), s.GetMetadata().GetTerm())
		dst = AppendConf(dst, ConfOf(s.GetMetadata().GetConfState()))
		dst = appendBytes(dst, s.GetData())
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// AppendConf appends who the members are: four lists, each a number and so
// many ids, and one byte that says whether the last change ends by itself.
func AppendConf(dst []byte, c Conf) []byte {
	for _, list := range [...][]uint64{c.Voters, c.Learners, c.VotersOutgoing, c.LearnersNext} {
		dst = binary.AppendUvarint(dst, uint64(len(list)))
		for _, id := range list {
			dst = binary.AppendUvarint(dst, id)
		}
	}
	if c.AutoLeave {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// CutConf reads what AppendConf wrote and returns what follows it.
func CutConf(in []byte) (Conf, []byte, error) {
	d := decoder{in: in}
	c := d.conf()
	return c, d.in, d.err
}

// DecodeMessage reads a message of another node. What it returns shares in. An
// error says what is wrong with it.
func DecodeMessage(in []byte) (*pb.Message, error) {
	d := decoder{in: in}
	kind, flags := pb.MessageType(d.byte()), d.byte()
	if d.err == nil && !fromPeer(kind) {
		return nil, fmt.Errorf("a message of type %d is not one for another node", kind)
	}
	m := &pb.Message{
		Type: kind.Enum(), From: new(d.uint()), To: new(d.uint()), Term: new(d.uint()), LogTerm: new(d.uint()),
		Index: new(d.uint()), Commit: new(d.uint()), Vote: new(d.uint()), RejectHint: new(d.uint()),
		Reject: new(flags&flagReject != 0), Context: d.bytes(),
	}
	if len(m.Context) == 0 {
		m.Context = nil
	}
	for n := d.count(4); n > 0 && d.err == nil; n-- {
		m.Entries = append(m.Entries, d.entry())
	}
	if flags&flagSnapshot != 0 {
		index, term := d.uint(), d.uint()
		conf := d.conf()
		m.Snapshot = &pb.Snapshot{Data: d.bytes(), Metadata: &pb.SnapshotMetadata{
			Index: new(index), Term: new(term), ConfState: conf.toState(),
		}}
	}
	switch {
	case d.err != nil:
		return nil, d.err
	case len(d.in) > 0:
		return nil, fmt.Errorf("%d bytes follow its end", len(d.in))
	case flags&^(flagReject|flagSnapshot) != 0 || (kind == pb.MsgSnap) != (m.Snapshot != nil):
		return nil, fmt.Errorf("its flags are %#x, which do not fit type %d", flags, kind)
	}
	return m, nil
}

// fromPeer reports whether one node says such a thing to another.
func fromPeer(kind pb.MessageType) bool {
	switch kind {
	case pb.MsgApp, pb.MsgAppResp, pb.MsgVote, pb.MsgVoteResp, pb.MsgPreVote, pb.MsgPreVoteResp,
		pb.MsgSnap, pb.MsgHeartbeat, pb.MsgHeartbeatResp, pb.MsgTimeoutNow:
		return true
	}
	return false
}

// decoder reads a message. After the first error everything it returns is
// zero, and err stays.
type decoder struct {
	in  []byte
	err error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.in = nil
}

func (d *decoder) byte() byte {
	if len(d.in) == 0 {
		d.fail(errShort)
		return 0
	}
	b := d.in[0]
	d.in = d.in[1:]
	return b
}

func (d *decoder) uint() uint64 {
	x, n := binary.Uvarint(d.in)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.in = d.in[n:]
	return x
}

func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.in)) {
		d.fail(errShort)
		return nil
	}
	b := d.in[:n:n]
	d.in = d.in[n:]
	return b
}

// count reads how many elements follow, each of at least size bytes.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.in)/size) {
		d.fail(errShort)
		return 0
	}
	return int(n)
}

func (d *decoder) entry() *pb.Entry {
	e := &pb.Entry{Term: new(d.uint()), Index: new(d.uint())}
	kind := pb.EntryType(d.byte())
	if d.err == nil && kind != pb.EntryNormal && kind != pb.EntryConfChangeV2 {
		d.fail(fmt.Errorf("an entry has type %d, which there is not", kind))
	}
	e.Type, e.Data = kind.Enum(), d.bytes()
	if len(e.Data) == 0 {
		e.Data = nil
	}
	return e
}

func (d *decoder) conf() Conf {
	var c Conf
	for _, list := range [...]*[]uint64{&c.Voters, &c.Learners, &c.VotersOutgoing, &c.LearnersNext} {
		for n := d.count(1); n > 0; n-- {
			*list = append(*list, d.uint())
		}
	}
	c.AutoLeave = d.byte() != 0
	return c
}
