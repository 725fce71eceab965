package replica

import (
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/journal"
)

// Hard is what must be durable before a node answers for it.
type Hard struct {
	Term   uint64
	Vote   uint64 // node that got the vote of Term; 0: none
	Commit uint64
}

// Conf is who the members of a group are.
type Conf struct {
	Voters         []uint64
	Learners       []uint64
	VotersOutgoing []uint64 // of the configuration that is being left
	LearnersNext   []uint64
	AutoLeave      bool
}

func (c Conf) toState() *pb.ConfState {
	return &pb.ConfState{
		Voters: c.Voters, Learners: c.Learners, VotersOutgoing: c.VotersOutgoing,
		LearnersNext: c.LearnersNext, AutoLeave: new(c.AutoLeave),
	}
}

// ConfOf is who raft says the members are.
func ConfOf(s *pb.ConfState) Conf {
	return Conf{
		Voters: slices.Clone(s.GetVoters()), Learners: slices.Clone(s.GetLearners()),
		VotersOutgoing: slices.Clone(s.GetVotersOutgoing()), LearnersNext: slices.Clone(s.GetLearnersNext()),
		AutoLeave: s.GetAutoLeave(),
	}
}

// Has reports whether a node is a member in any way.
func (c Conf) Has(node uint64) bool {
	return slices.Contains(c.Voters, node) || slices.Contains(c.Learners, node) ||
		slices.Contains(c.VotersOutgoing, node) || slices.Contains(c.LearnersNext, node)
}

// Log is the part of a replicated log that this node keeps in memory: what has
// a place in its journal, from some index on. The zero value is that of a node
// that has never heard of the group.
type Log struct {
	Hard Hard
	Conf Conf

	base     uint64 // index before the first entry
	baseTerm uint64
	entries  []*pb.Entry
	where    []journal.Position // of their records' payloads
	size     int64              // bytes of memory the entries take, about
}

// Reset forgets all entries: the log goes on behind an index.
func (l *Log) Reset(index, term uint64) {
	l.base, l.baseTerm = index, term
	l.entries, l.where, l.size = nil, nil, 0
	l.Hard.Commit = max(l.Hard.Commit, index)
}

// Base is the index before the first entry, and its term.
func (l *Log) Base() (index, term uint64) { return l.base, l.baseTerm }

// Last is the index of the last entry.
func (l *Log) Last() uint64 { return l.base + uint64(len(l.entries)) }

// Term returns the term of an index from Base to Last.
func (l *Log) Term(index uint64) (uint64, bool) {
	switch {
	case index == l.base:
		return l.baseTerm, true
	case index < l.base || index > l.Last():
		return 0, false
	}
	return l.entries[index-l.base-1].GetTerm(), true
}

// Put gives an entry its place: after those before it, instead of itself and
// all behind it, if there are any. An error says that it leaves a gap.
func (l *Log) Put(e *pb.Entry, where journal.Position) error {
	at := e.GetIndex()
	if at <= l.base || at > l.Last()+1 {
		return fmt.Errorf("entry %d does not follow entries %d to %d", at, l.base, l.Last())
	}
	if at <= l.Last() {
		l.truncate(at)
	}
	l.entries = append(l.entries, e)
	l.where = append(l.where, where)
	l.size += sizeOf(e)
	return nil
}

// truncate drops the entries from an index on.
func (l *Log) truncate(from uint64) {
	keep := from - l.base - 1
	for _, e := range l.entries[keep:] {
		l.size -= sizeOf(e)
	}
	// Raft may still hold slices of what is dropped: a new array for what follows.
	l.entries = l.entries[:keep:keep]
	l.where = l.where[:keep]
}

// sizeOf is about what an entry takes in memory, in bytes.
func sizeOf(e *pb.Entry) int64 { return int64(len(e.GetData())) + 128 }

// Move notes that an entry stands somewhere else from now on.
func (l *Log) Move(index uint64, where journal.Position) { l.where[index-l.base-1] = where }

// Record returns the journal record of an index behind Base.
func (l *Log) Record(group uint32, index uint64) journal.Record {
	return ToRecord(group, l.entries[index-l.base-1])
}

// Entry returns what an index behind Base says.
func (l *Log) Entry(index uint64) (Entry, error) {
	return decode(l.entries[index-l.base-1], l.where[index-l.base-1])
}

// Trim drops entries up to an index when all take much more than limit bytes,
// until they take no more.
func (l *Log) Trim(limit int64, upTo uint64) (trimmed bool) {
	n := 0
	if l.size < limit+limit/4 {
		return false
	}
	for n < len(l.entries) && l.size > limit && l.entries[n].GetIndex() <= upTo {
		l.size -= sizeOf(l.entries[n])
		n++
	}
	if n == 0 {
		return false
	}
	l.base, l.baseTerm = l.entries[n-1].GetIndex(), l.entries[n-1].GetTerm()
	l.entries = slices.Clone(l.entries[n:])
	l.where = slices.Clone(l.where[n:])
	return true
}

// storage shows a Log to raft.
type storage struct {
	log      *Log
	snapshot func() (data []byte, index uint64)
}

func (s storage) InitialState() (*pb.HardState, *pb.ConfState, error) {
	h := s.log.Hard
	return &pb.HardState{Term: new(h.Term), Vote: new(h.Vote), Commit: new(h.Commit)}, s.log.Conf.toState(), nil
}

func (s storage) Entries(lo, hi, limit uint64) ([]*pb.Entry, error) {
	switch {
	case lo <= s.log.base:
		return nil, raft.ErrCompacted
	case hi > s.log.Last()+1:
		return nil, raft.ErrUnavailable
	}
	list := s.log.entries[lo-s.log.base-1 : hi-s.log.base-1]
	size, n := uint64(0), 0
	for n < len(list) {
		size += uint64(len(list[n].GetData())) + entryOverhead
		if n > 0 && size > limit {
			break
		}
		n++
	}
	return list[:n:n], nil
}

// entryOverhead is about what an entry's other fields take on the wire.
const entryOverhead = 16

func (s storage) Term(index uint64) (uint64, error) {
	if index < s.log.base {
		return 0, raft.ErrCompacted
	}
	term, ok := s.log.Term(index)
	if !ok {
		return 0, raft.ErrUnavailable
	}
	return term, nil
}

func (s storage) FirstIndex() (uint64, error) { return s.log.base + 1, nil }
func (s storage) LastIndex() (uint64, error)  { return s.log.Last(), nil }

func (s storage) Snapshot() (*pb.Snapshot, error) {
	data, index := s.snapshot()
	term, ok := s.log.Term(index)
	if !ok {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return &pb.Snapshot{Data: data, Metadata: &pb.SnapshotMetadata{
		ConfState: s.log.Conf.toState(), Index: new(index), Term: new(term),
	}}, nil
}
