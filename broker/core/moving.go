package core

import (
	"fmt"

	"pestle/broker/journal"
)

// A message that is still needed keeps its journal file, and with it every
// later one. When most of what the files hold is not needed any more, what is
// needed in the oldest is written once more at the end of the journal: the body
// and all that its publish said, since that goes with the file. The message is
// in its new place once that is durable.

const (
	moveFiles = 4         // with so many files or fewer nothing is moved
	moveShare = 4         // nor while more than 1 of so many bytes is needed
	moveMost  = 64        // messages moved at once …
	moveBytes = 256 << 10 // … and bytes of them, but for one larger
	indexCost = 64        // bytes that a message is counted with beside its body
)

// burdened reports that the files hold little that is needed.
func (w *writer) burdened() bool {
	return len(w.files) > moveFiles && int64(len(w.files)-1)*w.fileSize > moveShare*w.needed
}

// mover moves messages out of the oldest journal file.
type mover struct {
	reads   map[uint64]moving // by token: bodies that are being read
	written []moving          // in their new place, which is not durable yet
	stalled uint64            // the file that was written to when no more could be moved: the next one is waited for
}

// moving is a message on its way.
type moving struct {
	group, partition uint32
	message          // with its new place, once it has one
	from             journal.Position
	batch            uint64 // that its new place is in
}

// moveOn moves the next messages, when those before are in their new place.
func (c *Core) moveOn(fx *Effects) {
	v := &c.mover
	c.moved(fx)
	if len(v.reads) > 0 || len(v.written) > 0 || c.stopping != serving || c.quarantine != "" ||
		v.stalled == c.writer.current().seq || !c.writer.burdened() || c.writer.files[0].live == 0 {
		return
	}
	found, size := 0, int64(0)
	for i, g := range c.groups {
		for _, p := range g.partitions {
			p.log.upTo(func(m *message) bool {
				if m.where.File != c.writer.files[0].seq {
					return m.astray // the others come in the order of the journal
				}
				if m.rotten || m.body == nil && !m.where.Before(c.writer.durable) {
					return true
				}
				if found == moveMost || found > 0 && size+int64(m.size) > moveBytes {
					return false
				}
				found, size = found+1, size+int64(m.size)
				x := moving{group: uint32(i + 1), partition: p.id, from: m.where}
				x.message = message{offset: m.offset, log: m.log, due: m.due, size: m.size, sum: m.sum}
				if m.body != nil {
					c.move(x, m.body)
					return true
				}
				token := c.token()
				v.reads[token] = x
				fx.add(Effect{Kind: FxRead, File: m.where.File, Offset: m.where.Offset, N: int64(m.size), Token: token})
				return true
			})
		}
	}
	if found == 0 {
		v.stalled = c.writer.current().seq // a snapshot needs it, or it cannot be read
	}
}

// moveRead writes a message that was read.
func (c *Core) moveRead(ev Event) {
	x := c.mover.reads[ev.Token]
	delete(c.mover.reads, ev.Token)
	if ev.Failed || !x.is(ev.Data) {
		c.mover.stalled = c.writer.current().seq
		return
	}
	c.move(x, ev.Data)
}

// move writes a message at the end of the journal.
func (c *Core) move(x moving, body []byte) {
	w, v := c.writer, &c.mover
	head := appendUint([]byte{entryVersion}, uint64(x.partition))
	from := uint64(0)
	head = x.appendStub(head, &from)
	record := journal.Record{Group: x.group, Kind: recordMoved, Payload: append(head, body...)}
	size := journal.RecordSize(len(record.Payload))
	if v.stalled == w.current().seq || w.ahead == nil && w.room() < size+w.reserve() {
		v.stalled = w.current().seq
		return
	}
	where, ok := w.put(record)
	if !ok {
		v.stalled, c.wantsFile = w.current().seq, true
		return
	}
	x.where = journal.Position{File: where.File, Offset: where.Offset + int64(len(head))}
	x.batch = w.batch
	w.stored(&x.message)
	v.written = append(v.written, x)
}

// moved lets messages be where they were moved to, once that is durable.
func (c *Core) moved(fx *Effects) {
	v, n := &c.mover, 0
	for _, x := range v.written {
		if x.batch > c.writer.durableBatch {
			break
		}
		n++
		var m *message
		if p := c.group(x.group).partition(x.partition); p != nil {
			m = p.log.at(x.offset)
		}
		if m == nil || m.where != x.from {
			c.writer.forgot(&x.message) // it was finished, or is another place's
			continue
		}
		fx.point(PointBodyMoved)
		c.writer.forgot(m)
		m.where, m.astray = x.where, true
	}
	rest := copy(v.written, v.written[n:])
	clear(v.written[rest:])
	v.written = v.written[:rest]
}

// movedMessage is what a journal says of a message that was moved.
type movedMessage struct {
	group, partition uint32
	message
}

func decodeMoved(group uint32, in []byte, at journal.Position) (movedMessage, error) {
	d := newDecoder(in)
	x := movedMessage{group: group, partition: d.uint32()}
	x.offset = d.offset(0)
	x.log, x.due, x.size, x.sum = d.int(), d.int(), d.uint32(), d.fixed32()
	if d.err == nil && uint64(len(d.in)) != uint64(x.size) {
		d.fail(fmt.Errorf("it holds %d bytes of a body of %d", len(d.in), x.size))
	}
	x.where = journal.Position{File: at.File, Offset: at.Offset + int64(len(in)) - int64(x.size)}
	return x, d.err
}

// findMoved lets messages be where they were moved to. The publish of one whose
// file is gone is not in the journal any more; one that is not known to be
// committed yet will bring its own place.
func (r *Recovery) findMoved() {
	c := r.c
	for _, x := range r.moved {
		if x.group >= uint32(len(c.seats)) {
			continue
		}
		p := c.group(x.group).partition(x.partition)
		if p == nil || x.offset >= p.next {
			continue
		}
		m := p.log.at(x.offset)
		if m == nil && p.needs(x.offset) {
			c.stored(p.restore(x.message), nil)
			continue
		}
		if m == nil || m.sum != x.sum || m.size != x.size {
			continue
		}
		c.writer.forgot(m)
		m.where, m.rotten, m.astray = x.where, false, true
		c.writer.stored(m)
	}
}

// needs reports whether a message is stored for a channel, or for one to come.
func (p *partition) needs(offset uint64) bool {
	for _, ch := range p.channels {
		if ch.unfinished(offset) {
			return true
		}
	}
	return len(p.channels) == 0 && offset >= p.keepFrom
}
