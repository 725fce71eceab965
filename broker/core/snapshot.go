package core

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/journal"
	"pestle/broker/replica"
)

// A node that lacks more than the leader keeps in memory gets the leader's
// state instead. The state says of each stored message all but its body; the
// node fetches the bodies that it has not got, writes them to its journal, and
// only then lets its copy of the log jump to the state. So it never
// acknowledges what it could not deliver.
//
// A snapshot on the wire is an entry version, the chain (8 bytes), the length
// of the state and the state, and for each partition in it the number of its
// messages and of each: gap to the offset before · log time · due time · size
// · sum (4 bytes). In the journal the members stand behind the version, and
// each message has its place, file · offset, behind its sum.

// stub is all that a snapshot says of a message.
type stub struct {
	message
	have bool // where is the place of its body
	gone bool // every channel has finished it meanwhile
}

// image is a snapshot, taken apart.
type image struct {
	conf  replica.Conf // only of one of this node's journal
	chain uint64
	state []byte
	parts []imagePart
}

// imagePart is what a snapshot says of a partition's messages.
type imagePart struct {
	id    uint32
	stubs []stub
}

// each calls do for every message.
func (im *image) each(do func(partition uint32, x *stub)) {
	for i := range im.parts {
		for j := range im.parts[i].stubs {
			do(im.parts[i].id, &im.parts[i].stubs[j])
		}
	}
}

// stub returns what it says of one message; nil: nothing.
func (im *image) stub(partition uint32, offset uint64) *stub {
	for _, part := range im.parts {
		if part.id != partition {
			continue
		}
		i, found := slices.BinarySearchFunc(part.stubs, offset, func(x stub, offset uint64) int { return cmp.Compare(x.offset, offset) })
		if found {
			return &part.stubs[i]
		}
	}
	return nil
}

// snapshot is the state of a group for another node.
func (c *Core) snapshot(s *seat) []byte {
	state := c.stateOf(s)
	dst := binary.LittleEndian.AppendUint64([]byte{entryVersion}, s.chain)
	dst = append(appendUint(dst, uint64(len(state))), state...)
	if s.id == 0 {
		return dst
	}
	for _, p := range c.group(s.id).partitions {
		dst = appendUint(dst, uint64(p.log.count()))
		from := uint64(0)
		p.log.each(func(m *message) {
			dst = m.appendStub(dst, &from)
		})
	}
	return dst
}

func (m *message) appendStub(dst []byte, from *uint64) []byte {
	dst = appendInt(appendInt(appendUint(dst, m.offset-*from), m.log), m.due)
	dst = binary.LittleEndian.AppendUint32(appendUint(dst, uint64(m.size)), m.sum)
	*from = m.offset + 1
	return dst
}

// readImage takes a snapshot apart; local: one of this node's journal.
func readImage(group uint32, in []byte, local bool) (image, error) {
	d := newDecoder(in)
	var im image
	if local {
		im.conf = d.conf()
	}
	im.chain, im.state = d.fixed64(), d.bytes()
	if d.err == nil && group == 0 {
		_, d.err = loadMetadata(im.state)
	}
	if d.err != nil || group == 0 {
		return im, d.end()
	}
	g, err := loadDataGroup(im.state, nil)
	if err != nil {
		return im, err
	}
	for _, p := range g.partitions {
		part, from := imagePart{id: p.id}, uint64(0)
		for n := d.count(8); n > 0 && d.err == nil; n-- {
			x := stub{}
			x.offset = d.offset(from)
			x.log, x.due, x.size, x.sum = d.int(), d.int(), d.uint32(), d.fixed32()
			if local {
				x.where = journal.Position{File: d.uint(), Offset: d.int()}
				x.have = x.where.File != 0
			}
			from = x.offset + 1
			part.stubs = append(part.stubs, x)
		}
		im.parts = append(im.parts, part)
	}
	return im, d.end()
}

// snapshotRecord is a snapshot as this node writes it down.
func (c *Core) snapshotRecord(s *seat, snap *pb.Snapshot) journal.Record {
	a := s.arrival
	meta := snap.GetMetadata()
	if a == nil || a.snap.GetSnapshot().GetMetadata().GetIndex() != meta.GetIndex() {
		panic(fmt.Sprintf("core: group %d goes over to a snapshot at %d that did not arrive", s.id, meta.GetIndex()))
	}
	dst := replica.AppendConf([]byte{entryVersion}, replica.ConfOf(meta.GetConfState()))
	dst = binary.LittleEndian.AppendUint64(dst, a.image.chain)
	dst = append(appendUint(dst, uint64(len(a.image.state))), a.image.state...)
	for _, part := range a.image.parts {
		dst = part.append(dst)
	}
	return journal.Record{Group: s.id, Kind: recordSnapshot, Index: meta.GetIndex(), Term: meta.GetTerm(), Payload: dst}
}

// append appends a partition's messages. Those that are gone have no place;
// entries to come say that every channel has finished them.
func (part *imagePart) append(dst []byte) []byte {
	dst = appendUint(dst, uint64(len(part.stubs)))
	from := uint64(0)
	for i := range part.stubs {
		x := &part.stubs[i]
		dst = x.appendStub(dst, &from)
		dst = appendInt(appendUint(dst, x.where.File), x.where.Offset)
	}
	return dst
}
