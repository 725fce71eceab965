package core

import (
	"encoding/binary"
	"fmt"

	"pestle/broker/journal"
)

// Kinds of entries, which are the journal's record kinds too; the first two are
// those of package replica. What an entry holds is one version byte and then the fields of its struct in order: numbers as uvarints, names
// and bodies with their length before them.
const (
	kindTopicCreate   = 2 // group 0
	kindChannelCreate = 3 // group 0
	kindChannelDelete = 4 // group 0
	kindPartitionOpen = 5
	kindChannelOpen   = 6
	kindChannelClose  = 7
	kindPublish       = 8
	kindLedger        = 9
	kindMembers       = 10 // group 0
)

// topicCreate makes a topic of one partition. It does nothing when there is
// one of the name.
type topicCreate struct{ name string }

func (e topicCreate) encode() []byte { return appendWord([]byte{entryVersion}, e.name) }

func decodeTopicCreate(in []byte) (topicCreate, error) {
	d := newDecoder(in)
	e := topicCreate{name: d.word()}
	return e, d.end()
}

// membersChange changes who is in the cluster, or who may lead. It does nothing
// when that is so already.
type membersChange struct {
	verb    uint8
	node    uint64
	newNode uint64 // memberReplace: who comes instead; 0: nobody
	address string // of newNode
}

// The verbs of a membersChange.
const (
	memberReplace = 1
	memberDrain   = 2
	memberServe   = 3 // the opposite
)

func (e membersChange) encode() []byte {
	dst := appendUint(appendUint([]byte{entryVersion, e.verb}, e.node), e.newNode)
	return appendWord(dst, e.address)
}

func decodeMembersChange(in []byte) (membersChange, error) {
	d := newDecoder(in)
	e := membersChange{verb: d.byte(), node: d.uint(), newNode: d.uint(), address: d.text(maxAddress)}
	if d.err == nil && (e.verb < memberReplace || e.verb > memberServe || e.node == 0) {
		d.fail(fmt.Errorf("it does %d to node %d, which there is not", e.verb, e.node))
	}
	return e, d.end()
}

// channelCreate gives a channel its id and its place in the topic's order. It
// does nothing when the topic has one of the name.
type channelCreate struct{ topic, name string }

func (e channelCreate) encode() []byte {
	return appendWord(appendWord([]byte{entryVersion}, e.topic), e.name)
}

func decodeChannelCreate(in []byte) (channelCreate, error) {
	d := newDecoder(in)
	e := channelCreate{topic: d.word(), name: d.word()}
	return e, d.end()
}

// channelDelete takes a channel off its topic. It does nothing when the topic
// has none of the id.
type channelDelete struct {
	topic   string
	channel uint32
}

func (e channelDelete) encode() []byte {
	return appendUint(appendWord([]byte{entryVersion}, e.topic), uint64(e.channel))
}

func decodeChannelDelete(in []byte) (channelDelete, error) {
	d := newDecoder(in)
	e := channelDelete{topic: d.word(), channel: d.uint32()}
	return e, d.end()
}

// partitionOpen makes a partition in the group it is proposed to. It does
// nothing when the group has it.
type partitionOpen struct {
	partition uint32
	topic     string
}

func (e partitionOpen) encode() []byte {
	return appendWord(appendUint([]byte{entryVersion}, uint64(e.partition)), e.topic)
}

func decodePartitionOpen(in []byte) (partitionOpen, error) {
	d := newDecoder(in)
	e := partitionOpen{partition: d.uint32(), topic: d.word()}
	return e, d.end()
}

// channelOpen starts a channel in a partition: the first one at the beginning of
// what is stored, any other behind it. It does nothing when the partition has it.
type channelOpen struct {
	partition uint32
	channel   uint32
	name      string
}

func (e channelOpen) encode() []byte {
	dst := appendUint(appendUint([]byte{entryVersion}, uint64(e.partition)), uint64(e.channel))
	return appendWord(dst, e.name)
}

func decodeChannelOpen(in []byte) (channelOpen, error) {
	d := newDecoder(in)
	e := channelOpen{partition: d.uint32(), channel: d.uint32(), name: d.word()}
	return e, d.end()
}

// channelClose ends a channel in a partition; what only it needed is
// forgotten. It does nothing when the partition has no such channel.
type channelClose struct{ partition, channel uint32 }

func (e channelClose) encode() []byte {
	return appendUint(appendUint([]byte{entryVersion}, uint64(e.partition)), uint64(e.channel))
}

func decodeChannelClose(in []byte) (channelClose, error) {
	d := newDecoder(in)
	e := channelClose{partition: d.uint32(), channel: d.uint32()}
	return e, d.end()
}

// publish stores messages, all of one PUB, MPUB or DPUB. The log time stands
// first, in 8 bytes, for the leader to write. Each message has its length, the
// CRC-32C of its body (4 bytes) and its body.
type publish struct {
	partition uint32
	log       int64 // log time at which the leader took it, ns: the messages' timestamp
	delay     int64 // that long after it they are delivered, ns; 0: at once
	messages  []published
}

// publishBody is where a publish goes on behind its log time.
const publishBody = 1 + 8

// due is the log time before which the messages are not delivered; 0: at once.
func (e publish) due() int64 {
	if e.delay == 0 {
		return 0
	}
	return e.log + e.delay
}

// published is one message of a publish entry.
type published struct {
	body []byte
	sum  uint32
	at   int // where the body stands in the entry; set by decoding
}

func (e publish) encode() []byte {
	size := 64
	for _, m := range e.messages {
		size += binary.MaxVarintLen32 + 4 + len(m.body)
	}
	dst := append(make([]byte, 0, size), entryVersion)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.log))
	dst = appendInt(appendUint(dst, uint64(e.partition)), e.delay)
	dst = appendUint(dst, uint64(len(e.messages)))
	for _, m := range e.messages {
		dst = appendUint(dst, uint64(len(m.body)))
		dst = binary.LittleEndian.AppendUint32(dst, journal.Sum(m.body))
		dst = append(dst, m.body...)
	}
	return dst
}

// decodePublish leaves the bodies where they are in the entry.
func decodePublish(in []byte) (publish, error) {
	d := newDecoder(in)
	e := publish{log: int64(d.fixed64()), partition: d.uint32(), delay: d.int()}
	if d.err == nil && (e.log < 0 || e.log+e.delay < e.log) {
		d.fail(fmt.Errorf("its log time is %d and its delay %d", e.log, e.delay))
	}
	n := d.count(5)
	e.messages = make([]published, 0, n)
	for range n {
		size, sum := d.uint(), d.fixed32()
		at := len(in) - len(d.in)
		e.messages = append(e.messages, published{body: d.take(size), sum: sum, at: at})
	}
	if d.err == nil && n == 0 {
		d.fail(fmt.Errorf("it has no messages"))
	}
	return e, d.end()
}

// ledger is what happened on one channel of a partition since its last
// ledger entry.
type ledger struct {
	partition uint32
	channel   uint32
	asOf      int64        // log time at which it was proposed, ns
	watermark uint64       // every message that was delivered once has a lower offset
	finished  []span       // ascending, as gaps and lengths
	attempts  []deliveries // ascending, as gaps; only where 2 or more
	due       []dueTime    // ascending, as gaps; of what was requeued
}

// deliveries is how often a message was delivered.
type deliveries struct {
	offset uint64
	count  uint16
}

// dueTime is when a requeued message is to be delivered, in log time.
type dueTime struct {
	offset uint64
	at     int64
}

func (e ledger) encode() []byte {
	dst := appendUint(appendUint([]byte{entryVersion}, uint64(e.partition)), uint64(e.channel))
	dst = appendUint(appendInt(dst, e.asOf), e.watermark)
	dst = appendSpans(dst, e.finished)
	dst = appendDeliveries(dst, e.attempts)
	return appendDueTimes(dst, e.due)
}

func decodeLedger(in []byte) (ledger, error) {
	d := newDecoder(in)
	e := ledger{partition: d.uint32(), channel: d.uint32(), asOf: d.int(), watermark: d.uint()}
	e.finished = d.spans()
	e.attempts = d.deliveries()
	e.due = d.dueTimes()
	return e, d.end()
}

func appendSpans(dst []byte, spans []span) []byte {
	dst = appendUint(dst, uint64(len(spans)))
	from := uint64(0)
	for _, s := range spans {
		dst = appendUint(appendUint(dst, s.lo-from), s.hi-s.lo)
		from = s.hi
	}
	return dst
}

func (d *decoder) spans() []span {
	n := d.count(2)
	spans := make([]span, 0, n)
	from := uint64(0)
	for i := range n {
		gap, length := d.uint(), d.uint()
		lo := from + gap
		hi := lo + length
		if d.err == nil && (lo < from || hi <= lo || i > 0 && gap == 0 || hi > maxOffset) {
			d.fail(fmt.Errorf("its spans of offsets are out of order or range"))
		}
		spans = append(spans, span{lo, hi})
		from = hi
	}
	return spans
}

// offset reads one of an ascending list of offsets, of which from-1 was the
// last.
func (d *decoder) offset(from uint64) uint64 {
	o := from + d.uint()
	if d.err == nil && (o < from || o >= maxOffset) {
		d.fail(fmt.Errorf("its offsets are out of order or range"))
	}
	return o
}

func appendDeliveries(dst []byte, list []deliveries) []byte {
	dst = appendUint(dst, uint64(len(list)))
	from := uint64(0)
	for _, x := range list {
		dst = appendUint(appendUint(dst, x.offset-from), uint64(x.count))
		from = x.offset + 1
	}
	return dst
}

func (d *decoder) deliveries() []deliveries {
	n := d.count(2)
	list := make([]deliveries, 0, n)
	from := uint64(0)
	for range n {
		o, count := d.offset(from), d.uint()
		if d.err == nil && (count < 2 || count > maxAttempts) {
			d.fail(fmt.Errorf("a number of attempts is %d, which is not in 2..%d", count, maxAttempts))
		}
		list = append(list, deliveries{o, uint16(count)})
		from = o + 1
	}
	return list
}

func appendDueTimes(dst []byte, list []dueTime) []byte {
	dst = appendUint(dst, uint64(len(list)))
	from := uint64(0)
	for _, x := range list {
		dst = appendInt(appendUint(dst, x.offset-from), x.at)
		from = x.offset + 1
	}
	return dst
}

func (d *decoder) dueTimes() []dueTime {
	n := d.count(2)
	list := make([]dueTime, 0, n)
	from := uint64(0)
	for range n {
		o := d.offset(from)
		list = append(list, dueTime{o, d.int()})
		from = o + 1
	}
	return list
}
