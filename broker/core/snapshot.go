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

// arrival is a snapshot on its way in.
type arrival struct {
	snap    *pb.Message // MsgSnap
	image   image
	missing int // stubs without a place
	source  uint64
	waited  int // ticks since bodies were asked for
	stepped bool
}

// snapshotArrives begins to fetch what a snapshot needs.
func (c *Core) snapshotArrives(s *seat, m *pb.Message, fx *Effects) error {
	if a := s.arrival; a != nil && (c.installing(s) || a.snap.GetSnapshot().GetMetadata().GetIndex() >= m.GetSnapshot().GetMetadata().GetIndex() && !a.stepped) {
		return nil
	}
	if m.GetSnapshot().GetMetadata().GetIndex() <= s.applied || m.GetTerm() < s.log.Hard.Term {
		s.group.Step(m) // which answers that it is not needed
		return nil
	}
	im, err := readImage(s.id, m.GetSnapshot().GetData(), false)
	if err != nil {
		return fmt.Errorf("a snapshot of group %d: %w", s.id, err)
	}
	fx.point(PointSnapshotReceived)
	old := s.arrival
	s.arrival = &arrival{snap: m, image: im, source: m.GetFrom()}
	c.findBodies(s, old)
	if old != nil {
		c.letGo(old)
	}
	c.goOnArriving(s, fx)
	return nil
}

// installing reports that a snapshot of the group is on its way into the
// journal.
func (c *Core) installing(s *seat) bool {
	for i := range c.queue {
		if c.queue[i].seat == s && c.queue[i].Snapshot != nil {
			return true
		}
	}
	for i := range c.held {
		if c.held[i].seat == s && c.held[i].installed != nil {
			return true
		}
	}
	return false
}

// findBodies finds the bodies that this node has, from before or for an
// earlier snapshot.
func (c *Core) findBodies(s *seat, old *arrival) {
	a := s.arrival
	fetched := map[bodyKey]journal.Position{}
	if old != nil {
		old.image.each(func(partition uint32, x *stub) {
			if x.have {
				fetched[bodyKey{partition, x.offset, x.sum}] = x.where
			}
		})
	}
	a.image.each(func(partition uint32, x *stub) {
		where, have := fetched[bodyKey{partition, x.offset, x.sum}]
		if p := c.group(s.id).partition(partition); !have && p != nil {
			if m := p.log.at(x.offset); m != nil && m.sum == x.sum && m.size == x.size && !m.rotten {
				where, have = m.where, true
			}
		}
		if have {
			c.keepBody(x, where)
			return
		}
		a.missing++
	})
}

type bodyKey struct {
	partition uint32
	offset    uint64
	sum       uint32
}

// keepBody notes where a body is, and keeps that file.
func (c *Core) keepBody(x *stub, where journal.Position) {
	x.where, x.have = where, true
	c.writer.stored(&x.message)
}

// letGo gives up on what was kept for a snapshot.
func (c *Core) letGo(a *arrival) {
	a.image.each(func(_ uint32, x *stub) {
		if x.have {
			c.writer.forgot(&x.message)
		}
	})
}

// goOnArriving asks for the next bodies, or lets the snapshot in.
func (c *Core) goOnArriving(s *seat, fx *Effects) {
	a := s.arrival
	if a.stepped {
		return
	}
	if a.missing == 0 {
		a.stepped = true
		s.group.Step(a.snap)
		return
	}
	a.waited = 0
	c.tellFetch(s)
}

const (
	fetchMost  = 64        // bodies asked for at once …
	fetchBytes = 256 << 10 // … and bytes of them, but for one larger
	fetchTicks = 12        // until they are asked for again, of another node
)

// tellFetch asks for the first bodies that are missing: partition, number, and
// the gaps between their offsets.
func (c *Core) tellFetch(s *seat) {
	a := s.arrival
	var body []byte
	partition, n, size, from := uint32(0), 0, uint64(0), uint64(0)
	a.image.each(func(in uint32, x *stub) {
		if x.have || x.gone || n > 0 && in != partition || n == fetchMost || n > 0 && size+uint64(x.size) > fetchBytes {
			return
		}
		partition, n, size = in, n+1, size+uint64(x.size)
		body, from = appendUint(body, x.offset-from), x.offset+1
	})
	head := appendUint(appendUint(appendUint(nil, uint64(s.id)), uint64(partition)), uint64(n))
	c.item(a.source, itemFetch, append(head, body...))
}

// fetchAgain asks somebody else for bodies that do not come. A snapshot that
// raft did not take is let go: the log has come as far without it.
func (c *Core) fetchAgain(s *seat, fx *Effects) {
	a := s.arrival
	if a != nil && a.stepped && !c.installing(s) {
		s.arrival = nil
		c.letGo(a)
	}
	if a == nil || a.stepped {
		return
	}
	if a.waited++; a.waited < fetchTicks {
		return
	}
	a.waited = 0
	fx.point(PointFetchedAgain)
	a.source = c.nextSource(s, a.source)
	c.tellFetch(s)
}

func (c *Core) nextSource(s *seat, after uint64) uint64 {
	return c.nextOf(s.arrival.snap.GetSnapshot().GetMetadata().GetConfState().GetVoters(), after)
}

// nextOf is the next voter but this node, round and round.
func (c *Core) nextOf(voters []uint64, after uint64) uint64 {
	first, next := uint64(0), uint64(0)
	for _, id := range voters {
		if id == c.cfg.Node {
			continue
		}
		if first == 0 || id < first {
			first = id
		}
		if id > after && (next == 0 || id < next) {
			next = id
		}
	}
	if next == 0 {
		next = first
	}
	return next
}

// fetcher names who is sent a snapshot of which group.
type fetcher struct {
	node  uint64
	group uint32
}

// fetch is an answer in the making: to another node, or to a call.
type fetch struct {
	to        uint64
	request   RequestID // with to 0
	group     uint32
	partition uint32
	items     []fetched
	left      int // reads outstanding
}

// fetched is one body of an answer.
type fetched struct {
	offset uint64
	log    int64
	sum    uint32
	body   []byte
	state  byte // what is known of it
}

const (
	bodyUnknown = 0
	bodyHere    = 1
	bodyGone    = 2
)

// fetchRead is a body that is being read for an answer.
type fetchRead struct {
	*fetch
	item int
}

// toldFetch answers with the bodies that are asked for.
func (c *Core) toldFetch(from uint64, group uint32, d *decoder, fx *Effects) error {
	f := &fetch{to: from, group: group, partition: d.uint32()}
	n := d.count(1)
	if n > fetchMost {
		return fmt.Errorf("it asks for %d bodies at once", n)
	}
	if group == 0 || group >= uint32(len(c.seats)) {
		return d.err
	}
	if key := (fetcher{from, group}); c.fetchers[key] > 0 {
		c.fetchers[key] = 1 // it is alive
	}
	p := c.group(group).partition(f.partition)
	after := uint64(0)
	for range n {
		offset := d.offset(after)
		after = offset + 1
		if d.err != nil || p == nil {
			return d.err
		}
		m := p.log.at(offset)
		switch {
		case m != nil:
			c.fetchBody(f, m, fx)
		case offset < p.next:
			f.items = append(f.items, fetched{offset: offset, state: bodyGone})
		}
	}
	c.answerFetch(f, fx)
	return d.err
}

// fetchBody adds a message to an answer: from memory, or as soon as it is read.
func (c *Core) fetchBody(f *fetch, m *message, fx *Effects) {
	x := fetched{offset: m.offset, log: m.log, sum: m.sum}
	switch {
	case m.body != nil:
		x.state, x.body = bodyHere, m.body
	case !m.rotten && m.where.Before(c.writer.durable):
		token := c.token()
		c.peerReads[token] = fetchRead{f, len(f.items)}
		f.left++
		fx.add(Effect{Kind: FxRead, File: m.where.File, Offset: m.where.Offset, N: int64(m.size), Token: token})
	}
	f.items = append(f.items, x)
}

func (c *Core) peerBodyRead(ev Event, fx *Effects) {
	r := c.peerReads[ev.Token]
	delete(c.peerReads, ev.Token)
	x := &r.items[r.item]
	if !ev.Failed && journal.Sum(ev.Data) == x.sum {
		x.state, x.body = bodyHere, append([]byte(nil), ev.Data...)
	}
	r.left--
	c.answerFetch(r.fetch, fx)
}

// answerFetch sends the bodies once all are there.
func (c *Core) answerFetch(f *fetch, fx *Effects) {
	if f.left > 0 {
		return
	}
	if f.to == 0 {
		c.answerRead(f, fx)
		return
	}
	body := appendUint(appendUint(nil, uint64(f.group)), uint64(f.partition))
	body = appendUint(body, uint64(len(f.items)))
	after := uint64(0)
	for _, x := range f.items {
		body = append(appendUint(body, x.offset-after), x.state)
		body = append(appendUint(body, uint64(len(x.body))), x.body...)
		after = x.offset + 1
	}
	c.item(f.to, itemBodies, body)
}

// toldBodies writes bodies that were asked for to the journal.
func (c *Core) toldBodies(_ uint64, group uint32, d *decoder, fx *Effects) error {
	partition := d.uint32()
	n := d.count(3)
	if group == 0 || group >= uint32(len(c.seats)) {
		return d.err
	}
	s := c.seats[group]
	a := s.arrival
	if a == nil {
		return c.toldRepairs(s, partition, n, d, fx)
	}
	moved := false
	after := uint64(0)
	for range n {
		offset := d.offset(after)
		state, body := d.byte(), d.bytes()
		after = offset + 1
		x := a.image.stub(partition, offset)
		if d.err != nil || x == nil || x.have || x.gone || a.stepped {
			continue
		}
		switch state {
		case bodyGone:
			x.gone = true
		case bodyHere:
			if journal.Sum(body) != x.sum || uint64(len(body)) != uint64(x.size) {
				continue
			}
			where, ok := c.writer.put(journal.Record{Group: group, Kind: recordBodies, Payload: body})
			if !ok {
				c.wantsFile = true
				continue
			}
			fx.point(PointBodiesFetched)
			c.keepBody(x, where)
			s.placed = c.writer.batch
		default:
			continue
		}
		moved = true
		a.missing--
	}
	if moved {
		c.goOnArriving(s, fx)
	}
	return d.err
}

// toldRepairs takes bodies for messages that this node cannot read.
func (c *Core) toldRepairs(s *seat, partition uint32, n int, d *decoder, fx *Effects) error {
	after := uint64(0)
	for range n {
		offset := d.offset(after)
		state, body := d.byte(), d.bytes()
		after = offset + 1
		if d.err == nil && state == bodyHere {
			c.repaired(s, partition, offset, body, fx)
		}
	}
	return d.err
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
