package core

import (
	"fmt"

	"pestle/broker/journal"
)

const (
	maxPartition = 1<<20 - 1 // a message id has 20 bits for the partition …
	maxOffset    = 1 << 44   // … and 44 for the offset
	maxAttempts  = 1<<16 - 1 // the protocol has 16 bits; the count stays there
)

// keeper learns which messages the replicated state holds, to hold what they
// need on this node.
type keeper interface {
	stored(m *message, body []byte)
	forgot(m *message)
}

// dataGroup is the replicated state of one group of partitions.
type dataGroup struct {
	log        int64        // latest log time that an entry carries, ns
	partitions []*partition // by id, ascending
	keep       keeper
}

// partition is one log of messages and the channels that read it.
type partition struct {
	id       uint32
	topic    string
	next     uint64 // offset of the next message
	bytes    int64  // of all bodies ever stored
	keepFrom uint64 // without channels, every message from here on is stored for the first to come
	channels []*channelState
	log      messageLog
}

// channelState is the replicated part of a channel: what has been finished,
// and what a new owner has to know about the rest.
type channelState struct {
	id        uint32
	name      string
	start     uint64 // offset of the first message it gets
	watermark uint64 // see ledger
	asOf      int64  // see ledger
	finished  offsets
	attempts  map[uint64]uint16 // of unfinished messages, where 2 or more
	due       map[uint64]int64  // of unfinished messages that were requeued
}

func (g *dataGroup) partition(id uint32) *partition {
	i := searchPartition(g.partitions, id)
	if i < len(g.partitions) && g.partitions[i].id == id {
		return g.partitions[i]
	}
	return nil
}

// searchPartition returns where in list id is or would be.
func searchPartition(list []*partition, id uint32) int {
	lo, hi := 0, len(list)
	for lo < hi {
		if mid := (lo + hi) / 2; list[mid].id < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (p *partition) channel(id uint32) *channelState {
	for _, ch := range p.channels {
		if ch.id == id {
			return ch
		}
	}
	return nil
}

// unfinished reports whether the channel still needs the message at an offset.
func (ch *channelState) unfinished(offset uint64) bool {
	return offset >= ch.start && !ch.finished.contains(offset)
}

// floor is the ack floor: every offset below it is finished, or was before
// the channel's time.
func (ch *channelState) floor() uint64 { return ch.finished.next(ch.start) }

// applied is what an entry did.
type applied struct {
	partition *partition
	from      uint64 // offset of the first message it stored
}

// apply enacts one entry. where is the place of the payload in the journal.
func (g *dataGroup) apply(kind uint8, payload []byte, where journal.Position) (applied, error) {
	switch kind {
	case kindPartitionOpen:
		e, err := decodePartitionOpen(payload)
		if err != nil {
			return applied{}, fmt.Errorf("partition-open entry: %w", err)
		}
		return applied{partition: g.openPartition(e)}, nil
	case kindChannelOpen:
		e, err := decodeChannelOpen(payload)
		if err != nil {
			return applied{}, fmt.Errorf("channel-open entry: %w", err)
		}
		return g.openChannel(e)
	case kindChannelClose:
		e, err := decodeChannelClose(payload)
		if err != nil {
			return applied{}, fmt.Errorf("channel-close entry: %w", err)
		}
		return g.closeChannel(e)
	case kindPublish:
		e, err := decodePublish(payload)
		if err != nil {
			return applied{}, fmt.Errorf("publish entry: %w", err)
		}
		return g.publish(e, where)
	case kindLedger:
		e, err := decodeLedger(payload)
		if err != nil {
			return applied{}, fmt.Errorf("ledger entry: %w", err)
		}
		return g.settle(e)
	}
	return applied{}, fmt.Errorf("entry of kind %d is not one of a data group", kind)
}

func (g *dataGroup) openPartition(e partitionOpen) *partition {
	i := searchPartition(g.partitions, e.partition)
	if i < len(g.partitions) && g.partitions[i].id == e.partition {
		return g.partitions[i]
	}
	p := &partition{id: e.partition, topic: e.topic}
	g.partitions = append(g.partitions, nil)
	copy(g.partitions[i+1:], g.partitions[i:])
	g.partitions[i] = p
	return p
}

func (g *dataGroup) openChannel(e channelOpen) (applied, error) {
	p := g.partition(e.partition)
	if p == nil {
		return applied{}, fmt.Errorf("channel-open entry: partition %d does not exist", e.partition)
	}
	if p.channel(e.channel) != nil {
		return applied{partition: p}, nil
	}
	ch := &channelState{
		id: e.channel, name: e.name, start: p.next,
		attempts: map[uint64]uint16{}, due: map[uint64]int64{},
	}
	if len(p.channels) == 0 {
		ch.start = p.keepFrom
	}
	for o := ch.start; o < p.next; o++ {
		if m := p.log.at(o); m != nil {
			m.needs++
		}
	}
	p.channels = append(p.channels, ch)
	return applied{partition: p}, nil
}

func (g *dataGroup) closeChannel(e channelClose) (applied, error) {
	p := g.partition(e.partition)
	if p == nil {
		return applied{}, nil // whoever proposed it could not know
	}
	for i, ch := range p.channels {
		if ch.id != e.channel {
			continue
		}
		p.channels = append(p.channels[:i], p.channels[i+1:]...)
		for o := ch.floor(); o < p.next; o = ch.finished.next(o + 1) {
			g.release(p, o)
		}
		if len(p.channels) == 0 {
			p.keepFrom = p.next
		}
		break
	}
	return applied{partition: p}, nil
}

// release notes that one channel less needs the message at an offset. During a
// replay the message may be unknown: its file is gone, and the entries that
// allowed it to go, like this one, come later in the journal.
func (g *dataGroup) release(p *partition, offset uint64) {
	m := p.log.at(offset)
	if m == nil {
		return
	}
	m.needs--
	if m.needs < 0 {
		panic(fmt.Sprintf("core: message %d of partition %d is needed by %d channels", offset, p.id, m.needs))
	}
	if m.needs == 0 {
		g.keep.forgot(m)
		p.log.forget(m)
	}
}

func (g *dataGroup) publish(e publish, where journal.Position) (applied, error) {
	p := g.partition(e.partition)
	if p == nil {
		return applied{}, fmt.Errorf("publish entry: partition %d does not exist", e.partition)
	}
	if p.next+uint64(len(e.messages)) > maxOffset {
		return applied{}, fmt.Errorf("publish entry: partition %d is full", e.partition)
	}
	g.log = max(g.log, e.log)
	from := p.next
	for _, x := range e.messages {
		m := p.log.put(message{
			offset: p.next,
			log:    e.log,
			due:    e.due(),
			needs:  int32(len(p.channels)),
			size:   uint32(len(x.body)),
			sum:    x.sum,
			where:  journal.Position{File: where.File, Offset: where.Offset + int64(x.at)},
		})
		p.next++
		p.bytes += int64(len(x.body))
		body := x.body
		if len(e.messages) > 1 {
			// One unfinished message must not keep its whole batch in memory.
			body = append([]byte(nil), body...)
		}
		g.keep.stored(m, body)
	}
	return applied{partition: p, from: from}, nil
}

// settle enacts a ledger entry.
func (g *dataGroup) settle(e ledger) (applied, error) {
	p := g.partition(e.partition)
	if p == nil {
		return applied{}, fmt.Errorf("ledger entry: partition %d does not exist", e.partition)
	}
	ch := p.channel(e.channel)
	if ch == nil {
		return applied{partition: p}, nil // it was closed meanwhile
	}
	if err := ch.check(e, p.next); err != nil {
		return applied{}, fmt.Errorf("ledger entry of channel %d, partition %d: %w", e.channel, e.partition, err)
	}
	ch.watermark, ch.asOf = e.watermark, e.asOf
	g.log = max(g.log, e.asOf)
	for _, x := range e.attempts {
		ch.attempts[x.offset] = x.count
	}
	for _, x := range e.due {
		ch.due[x.offset] = x.at
	}
	for _, s := range e.finished {
		ch.finished.add(s)
		for o := s.lo; o < s.hi; o++ {
			delete(ch.attempts, o)
			delete(ch.due, o)
			g.release(p, o)
		}
	}
	return applied{partition: p}, nil
}

// check looks whether an entry can be true.
func (ch *channelState) check(e ledger, next uint64) error {
	if e.watermark < ch.watermark || e.watermark > next || e.asOf < ch.asOf {
		return fmt.Errorf("watermark %d of log time %d follows %d of %d, where %d messages are stored", e.watermark, e.asOf, ch.watermark, ch.asOf, next)
	}
	for _, s := range e.finished {
		if s.lo < ch.start || s.hi > next || ch.finished.overlaps(s) {
			return fmt.Errorf("offsets %d to %d are finished twice or do not exist", s.lo, s.hi-1)
		}
	}
	for _, x := range e.attempts {
		if x.offset >= next || !ch.unfinished(x.offset) {
			return fmt.Errorf("offset %d has attempts and is not waiting", x.offset)
		}
	}
	for _, x := range e.due {
		if x.offset >= next || !ch.unfinished(x.offset) {
			return fmt.Errorf("offset %d has a due time and is not waiting", x.offset)
		}
	}
	return nil
}

// checkpoint is the whole state as an entry.
func (g *dataGroup) checkpoint() []byte {
	dst := appendUint(appendInt([]byte{entryVersion}, g.log), uint64(len(g.partitions)))
	for _, p := range g.partitions {
		dst = appendWord(appendUint(dst, uint64(p.id)), p.topic)
		dst = appendUint(appendInt(appendUint(dst, p.next), p.bytes), p.keepFrom)
		dst = appendUint(dst, uint64(len(p.channels)))
		for _, ch := range p.channels {
			dst = ch.encode(dst)
		}
	}
	return dst
}

func (ch *channelState) encode(dst []byte) []byte {
	dst = appendWord(appendUint(dst, uint64(ch.id)), ch.name)
	dst = appendInt(appendUint(appendUint(dst, ch.start), ch.watermark), ch.asOf)
	dst = appendSpans(dst, ch.finished.spans)
	var counts []deliveries
	for _, o := range sortedKeys(ch.attempts) {
		counts = append(counts, deliveries{o, ch.attempts[o]})
	}
	var due []dueTime
	for _, o := range sortedKeys(ch.due) {
		due = append(due, dueTime{o, ch.due[o]})
	}
	return appendDueTimes(appendDeliveries(dst, counts), due)
}

func loadDataGroup(in []byte, keep keeper) (*dataGroup, error) {
	g := &dataGroup{keep: keep}
	d := newDecoder(in)
	g.log = d.int()
	for range d.count(6) {
		p := &partition{id: d.uint32(), topic: d.word(), next: d.uint(), bytes: d.int(), keepFrom: d.uint()}
		if last := len(g.partitions); last > 0 && g.partitions[last-1].id >= p.id {
			d.fail(fmt.Errorf("its partitions are out of order"))
		}
		for range d.count(8) {
			p.channels = append(p.channels, d.channelState())
		}
		g.partitions = append(g.partitions, p)
	}
	if err := d.end(); err != nil {
		return nil, fmt.Errorf("checkpoint of a data group: %w", err)
	}
	return g, nil
}

func (d *decoder) channelState() *channelState {
	ch := &channelState{
		id: d.uint32(), name: d.word(), start: d.uint(), watermark: d.uint(), asOf: d.int(),
		attempts: map[uint64]uint16{}, due: map[uint64]int64{},
	}
	ch.finished.spans = d.spans()
	for _, x := range d.deliveries() {
		ch.attempts[x.offset] = x.count
	}
	for _, x := range d.dueTimes() {
		ch.due[x.offset] = x.at
	}
	return ch
}
