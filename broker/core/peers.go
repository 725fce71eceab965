package core

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/plant"
	"pestle/broker/replica"
)

// What one node tells another is a frame: everything that came up for it in
// one step, so that the heartbeats of all groups are one. Numbers are uvarints
// where no width is given, else little-endian.
//
//	magic, 1 byte · version, 1 byte
//	from · instance of the sender, 8 bytes
//	to · instance by which the sender durably knows the receiver, 8 bytes; 0: it does not
//	length and bytes of the sender's address
//	items, each: kind, 1 byte · length · bytes
//	CRC-32C of all before it, 4 bytes
const (
	frameMagic   = 'P'
	frameVersion = 1
)

// The kinds of items.
const (
	itemHello    = 1  // nothing: the sender wants to be remembered
	itemRaft     = 2  // group · ns that an answer to entries took · message, see package replica
	itemForward  = 3  // group · term · number · life, 8 bytes · ticket · kind, 1 byte · essential, 1 byte · payload
	itemAccepted = 4  // group · term · number · life, 8 bytes
	itemRefused  = 5  // group · term · number · life, 8 bytes · text
	itemFetch    = 6  // see fetch.go
	itemBodies   = 7  // see fetch.go
	itemTransfer = 8  // group · node that is to lead
	itemWelcome  = 9  // nothing: the answer to itemHello; the frame's head says it all
	itemRetired  = 10 // nothing: the receiver is no member of any group any more
)

// maxAddress is the longest address of a node in bytes.
const maxAddress = 255

// item adds one item to what is told to a node at the end of the step.
func (c *Core) item(to uint64, kind byte, body []byte) {
	if c.out == nil {
		c.out = map[uint64][]byte{}
	}
	dst := appendUint(append(c.out[to], kind), uint64(len(body)))
	c.out[to] = append(dst, body...)
}

// flushPeers sends what was gathered. A node in quarantine says nothing, also
// not what it has put off until now.
func (c *Core) flushPeers(fx *Effects) {
	if c.quarantine != "" {
		clear(c.out)
	}
	for _, to := range sortedKeys(c.out) {
		address := c.addressOf(to)
		if address == "" {
			continue
		}
		data := append(make([]byte, 0, 64+len(c.out[to])), frameMagic, frameVersion)
		data = binary.LittleEndian.AppendUint64(appendUint(data, c.cfg.Node), c.identity.instance)
		data = binary.LittleEndian.AppendUint64(appendUint(data, to), c.instanceOf(to))
		data = appendWord(data, c.addressOf(c.cfg.Node))
		data = append(data, c.out[to]...)
		data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
		fx.add(Effect{Kind: FxTell, Node: to, Text: address, Data: data})
	}
	clear(c.out)
}

// addressOf is where a node is reached: as the metadata say, or the
// configuration, or itself.
func (c *Core) addressOf(node uint64) string {
	if m := c.meta.member(node); m != nil && m.address != "" {
		return m.address
	}
	for _, m := range c.cfg.Cluster {
		if m.ID == node {
			return m.Address
		}
	}
	return c.addresses[node]
}

// frame is what stands before the items.
type frame struct {
	from, instance uint64
	to, known      uint64
	address        string
	items          []byte
}

func decodeFrame(in []byte) (frame, error) {
	if len(in) < 2+4 || in[0] != frameMagic || in[1] != frameVersion {
		return frame{}, fmt.Errorf("it does not begin like one of version %d", frameVersion)
	}
	body, sum := in[:len(in)-4], binary.LittleEndian.Uint32(in[len(in)-4:])
	if sum != crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) {
		return frame{}, fmt.Errorf("its checksum is wrong")
	}
	d := decoder{in: body[2:]}
	f := frame{from: d.uint(), instance: d.fixed64(), to: d.uint(), known: d.fixed64(), address: d.text(maxAddress)}
	f.items = d.in
	if d.err == nil && (f.from == 0 || f.instance == 0) {
		d.fail(fmt.Errorf("its sender has no number"))
	}
	return f, d.err
}

// told takes a frame of another node. One that makes no sense is dropped with
// a line for the operator: whatever it was is sent again.
func (c *Core) told(now Time, data []byte, fx *Effects) {
	if !c.ready || c.quarantine != "" {
		return
	}
	f, err := decodeFrame(data)
	if err != nil {
		fx.log(Warn, "something arrived as if from another node and is dropped: %v", err)
		return
	}
	if f.to != c.cfg.Node || f.from == c.cfg.Node {
		fx.log(Warn, "node %d sends to node %d, which this one is not, at this one's address; look at the addresses of the cluster", f.from, f.to)
		return
	}
	if f.known != 0 && f.known != c.identity.instance {
		if c.doubted(f.from, fx); !c.cfg.Plant.Is(plant.WipedNodeVotes) {
			return
		}
		f.known = 0
	}
	c.addresses[f.from], c.heard[f.from] = f.address, c.ticks
	if !c.meet(f.from, f.instance, fx) {
		// It is told by which instance it is known here, if it is.
		if c.instanceOf(f.from) != 0 {
			fx.point(PointImpostor)
			c.item(f.from, itemHello, nil)
		}
		return
	}
	if f.known != 0 {
		c.remembered(f.from, fx)
	}
	if c.released(f.from) {
		c.item(f.from, itemRetired, nil)
		return
	}
	d := decoder{in: f.items}
	for len(d.in) > 0 && c.quarantine == "" {
		kind := d.byte()
		body := d.bytes()
		err := d.err
		if err == nil {
			err = c.toldItem(now, f.from, kind, body, fx)
		}
		if err != nil {
			fx.log(Warn, "node %d sends an item of kind %d that is dropped: %v", f.from, kind, err)
			return
		}
	}
}

// released reports that a node was replaced and that no group needs it any
// more, as far as this node knows all groups.
func (c *Core) released(node uint64) bool {
	if m := c.meta.member(node); m == nil || !m.retired || uint32(len(c.seats)) <= c.meta.groups {
		return false
	}
	for _, s := range c.seats {
		if s.log.Conf.Has(node) || len(s.log.Conf.Voters) == 0 {
			return false
		}
	}
	return true
}

func (c *Core) toldItem(now Time, from uint64, kind byte, body []byte, fx *Effects) error {
	if kind == itemHello {
		c.item(from, itemWelcome, nil)
		return nil
	}
	if kind == itemWelcome || !c.identity.born {
		return nil
	}
	if kind == itemRetired {
		c.quarantineWith(fmt.Sprintf("node %d was replaced or removed, says node %d", c.cfg.Node, from), "stop it for ever, nobody needs its data", fx)
		return nil
	}
	d := decoder{in: body}
	group := d.uint32()
	if d.err == nil && group > maxGroups {
		d.fail(fmt.Errorf("there is no group %d", group))
	}
	if d.err != nil {
		return d.err
	}
	switch kind {
	case itemRaft:
		took := d.int()
		if d.err != nil {
			return d.err
		}
		return c.toldRaft(from, group, took, d.in, fx)
	case itemForward:
		return c.toldForward(now, from, group, &d, fx)
	case itemAccepted, itemRefused:
		term, seq, life := d.uint(), d.uint(), d.fixed64()
		if d.err != nil || life != c.cfg.Salt {
			return d.err
		}
		if s := c.seat(group); kind == itemAccepted {
			s.proposed.accepted(term, seq)
		} else {
			c.refused(s, term, seq, string(d.in), fx)
		}
	case itemFetch:
		return c.toldFetch(from, group, &d, fx)
	case itemBodies:
		return c.toldBodies(from, group, &d, fx)
	case itemTransfer:
		if s, to := c.seat(group), d.uint(); d.err == nil && s.leads {
			s.group.Transfer(to)
		}
	default:
		return fmt.Errorf("there is no such kind")
	}
	return d.err
}

func (c *Core) tellRaft(s *seat, m *pb.Message, fx *Effects) {
	switch m.GetType() {
	case pb.MsgVoteResp:
		if !m.GetReject() {
			s.gaveTerm, s.gave = m.GetTerm(), m.GetTo()
			fx.point(PointVoteGranted)
		}
	case pb.MsgHeartbeat:
		if c.cfg.Plant.Is(plant.PriorTermCommit) {
			m = c.commitEarly(s, m)
		}
	case pb.MsgPreVote:
		fx.point(PointPreVoteAsked)
	case pb.MsgVote:
		fx.point(PointVoteAsked)
	case pb.MsgSnap:
		fx.point(PointSnapshotSent)
	case pb.MsgAppResp:
		if m.GetReject() {
			fx.point(PointAppendRejected)
		}
	case pb.MsgTimeoutNow:
		fx.point(PointTimeoutNow)
	}
	took := int64(0)
	if m.GetType() == pb.MsgAppResp && s.asked != 0 {
		took, s.asked = c.now.Mono-s.asked, 0
	}
	c.item(m.GetTo(), itemRaft, replica.AppendMessage(appendInt(appendUint(nil, uint64(s.id)), took), m))
}

func (c *Core) toldRaft(from uint64, group uint32, took int64, body []byte, fx *Effects) error {
	m, err := replica.DecodeMessage(body)
	if err != nil {
		return err
	}
	if m.GetFrom() != from || m.GetTo() != c.cfg.Node {
		return fmt.Errorf("a message from node %d to %d comes from node %d", m.GetFrom(), m.GetTo(), from)
	}
	if group >= uint32(len(c.seats)) && group > c.meta.groups && c.meta.groups != 0 {
		return fmt.Errorf("there is no group %d", group)
	}
	s := c.seat(group)
	if s.group == nil {
		c.sit(s)
	}
	switch m.GetType() {
	case pb.MsgSnap:
		return c.snapshotArrives(s, m, fx)
	case pb.MsgApp:
		if len(m.GetEntries()) > 0 {
			fx.point(PointAppendReceived)
			if s.asked == 0 {
				s.asked = c.now.Mono
			}
		}
	case pb.MsgVote, pb.MsgPreVote:
		if term, ok := s.log.Term(s.log.Last()); ok && m.GetLogTerm() < term && m.GetIndex() > s.log.Last() {
			fx.point(PointLongerLogLoses)
		}
	}
	s.probe.answered(c.now, m, took, fx)
	s.group.Step(m)
	return nil
}

func (c *Core) tellForward(s *seat, p *proposal) {
	body := appendUint(appendUint(appendUint(nil, uint64(s.id)), p.term), p.seq)
	body = appendUint(binary.LittleEndian.AppendUint64(body, c.cfg.Salt), p.ticket)
	essential := byte(0)
	if p.essential {
		essential = 1
	}
	body = append(append(body, p.kind, essential), p.payload...)
	c.item(s.lead, itemForward, body)
}

func (c *Core) toldForward(now Time, from uint64, group uint32, d *decoder, fx *Effects) error {
	term, seq, life := d.uint(), d.uint(), d.fixed64()
	p := proposal{group: group, ticket: d.uint(), kind: d.byte(), essential: d.byte() != 0}
	if d.err != nil {
		return d.err
	}
	p.payload = d.in
	if err := c.checkEntry(p.group, p.kind, p.payload); err != nil {
		return err
	}
	c.forwarded(now, stream{from, life}, group, term, seq, p, fx)
	return nil
}

// checkEntry looks whether an entry of another node is one at all: what is
// committed must be one.
func (c *Core) checkEntry(group uint32, kind uint8, payload []byte) error {
	var err error
	switch kind {
	case kindTopicCreate:
		_, err = decodeTopicCreate(payload)
	case kindChannelCreate:
		_, err = decodeChannelCreate(payload)
	case kindChannelDelete:
		_, err = decodeChannelDelete(payload)
	case kindMembers:
		_, err = decodeMembersChange(payload)
	case kindPartitionOpen:
		_, err = decodePartitionOpen(payload)
	case kindChannelOpen:
		var e channelOpen
		if e, err = decodeChannelOpen(payload); err == nil {
			err = c.checkPartition(group, e.partition)
		}
	case kindChannelClose:
		_, err = decodeChannelClose(payload)
	case kindPublish:
		var e publish
		if e, err = decodePublish(payload); err == nil {
			err = c.checkPartition(group, e.partition)
		}
		if longest := c.cfg.Limits.MaxDeferMS * millisecond; err == nil && e.delay > longest {
			err = fmt.Errorf("its delay is %d ns, which is more than %d", e.delay, longest)
		}
	default:
		err = fmt.Errorf("entries of kind %d are not forwarded", kind)
	}
	if meta := kind <= kindChannelDelete || kind == kindMembers; err == nil && meta != (group == 0) {
		err = fmt.Errorf("entries of kind %d are not for group %d", kind, group)
	}
	return err
}

// checkPartition looks whether a group has a partition: whoever proposes
// something for it has seen it open.
func (c *Core) checkPartition(group, partition uint32) error {
	if group == 0 || c.group(group).partition(partition) == nil {
		return fmt.Errorf("partition %d is not in group %d", partition, group)
	}
	return nil
}

func (c *Core) tellAccepted(s *seat, from stream, seq uint64) {
	c.tellTaken(s, itemAccepted, from, seq, "")
}

func (c *Core) tellRefused(s *seat, from stream, seq uint64, why string) {
	c.tellTaken(s, itemRefused, from, seq, why)
}

func (c *Core) tellTaken(s *seat, kind byte, from stream, seq uint64, why string) {
	body := appendUint(appendUint(appendUint(nil, uint64(s.id)), s.open), seq)
	c.item(from.node, kind, append(binary.LittleEndian.AppendUint64(body, from.life), why...))
}
