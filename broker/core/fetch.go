package core

import (
	"fmt"

	"pestle/broker/journal"
)

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
	state  byte             // what is known of it
	where  journal.Position // that it is read from
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
	x := fetched{offset: m.offset, log: m.log, sum: m.sum, where: m.where}
	switch {
	case m.body != nil:
		x.state, x.body = bodyHere, m.body
	case !m.rotten && m.where.Before(c.writer.durable):
		c.readFor(fetchRead{f, len(f.items)}, m, fx)
	}
	f.items = append(f.items, x)
}

func (c *Core) readFor(r fetchRead, m *message, fx *Effects) {
	token := c.token()
	c.peerReads[token] = r
	r.left++
	fx.add(Effect{Kind: FxRead, File: m.where.File, Offset: m.where.Offset, N: int64(m.size), Token: token})
}

func (c *Core) peerBodyRead(ev Event, fx *Effects) {
	r := c.peerReads[ev.Token]
	delete(c.peerReads, ev.Token)
	x := &r.items[r.item]
	r.left--
	if !ev.Failed && journal.Sum(ev.Data) == x.sum {
		x.state, x.body = bodyHere, append([]byte(nil), ev.Data...)
	} else if p := c.group(r.group).partition(r.partition); p != nil {
		if m := p.log.at(x.offset); m != nil && m.where != x.where && m.where.Before(c.writer.durable) {
			x.where = m.where // it was moved meanwhile, and the file may be another one
			c.readFor(r, m, fx)
		}
	}
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
