package core

import (
	"pestle/broker/journal"
	"pestle/broker/nsq"
)

// message is the index entry of one stored message. The body may be in
// memory; it is always in the journal.
type message struct {
	offset uint64
	log    int64 // log time at its publish, ns: its timestamp
	due    int64 // log time before which it is not delivered; 0: at once
	needs  int32 // channels that have not finished it
	size   uint32
	sum    uint32           // CRC-32C of the body
	where  journal.Position // of the body
	body   []byte           // nil: not in memory
	rotten bool             // the journal gave back something else: never to be delivered
	pinned bool             // body came from another node and stays
	astray bool             // where is not in the order of the offsets
	stored bool             // false: the slot is empty

	newer, older *message // in the cache, while body is in memory
}

// is reports whether a body is the message's.
func (m *message) is(body []byte) bool {
	return uint64(len(body)) == uint64(m.size) && journal.Sum(body) == m.sum
}

// frameSize is how many bytes its delivery takes on the wire.
func (m *message) frameSize() int64 { return int64(m.size) + int64(nsq.MessageFrame) }

const chunkSize = 64 // messages; an idle topic costs one chunk

// chunk is a run of index entries that is dropped as a whole.
type chunk struct {
	live int
	slot [chunkSize]message
}

// messageLog finds the messages of a partition by their offset. What is
// forgotten in the middle costs a pointer for each chunk of it.
type messageLog struct {
	base   uint64 // offset of the first slot of chunks[0], a multiple of chunkSize
	chunks []*chunk
}

// at returns the message at an offset, nil when it is not stored (any more).
func (l *messageLog) at(offset uint64) *message {
	if offset < l.base {
		return nil
	}
	i := (offset - l.base) / chunkSize
	if i >= uint64(len(l.chunks)) || l.chunks[i] == nil {
		return nil
	}
	m := &l.chunks[i].slot[offset%chunkSize]
	if !m.stored {
		return nil
	}
	return m
}

// lacks reports that a message is stored and its body is not.
func (l *messageLog) lacks(offset uint64) bool {
	m := l.at(offset)
	return m != nil && m.where.File == 0
}

// put stores m, whose offset is above all stored before.
func (l *messageLog) put(m message) *message {
	if len(l.chunks) == 0 {
		l.base = m.offset - m.offset%chunkSize
	}
	for m.offset-l.base >= chunkSize*uint64(len(l.chunks)) {
		l.chunks = append(l.chunks, &chunk{})
		l.trim()
	}
	c := l.chunks[(m.offset-l.base)/chunkSize]
	c.live++
	slot := &c.slot[m.offset%chunkSize]
	*slot = m
	slot.stored = true
	return slot
}

// insert stores m, whose offset may be below that of others.
func (l *messageLog) insert(m message) *message {
	if len(l.chunks) == 0 || m.offset >= l.base+chunkSize*uint64(len(l.chunks)) {
		return l.put(m)
	}
	if m.offset < l.base {
		missing := (l.base - m.offset + chunkSize - 1) / chunkSize
		l.chunks = append(make([]*chunk, missing, missing+uint64(len(l.chunks))), l.chunks...)
		l.base -= missing * chunkSize
	}
	i := (m.offset - l.base) / chunkSize
	if l.chunks[i] == nil {
		l.chunks[i] = &chunk{}
	}
	l.chunks[i].live++
	slot := &l.chunks[i].slot[m.offset%chunkSize]
	*slot = m
	slot.stored = true
	return slot
}

// forget empties the slot of m.
func (l *messageLog) forget(m *message) {
	i := (m.offset - l.base) / chunkSize
	*m = message{}
	l.chunks[i].live--
	// The last chunk stays: the next messages go into it.
	if last := uint64(len(l.chunks)) - 1; l.chunks[i].live == 0 && i < last {
		l.chunks[i] = nil
		l.trim()
	}
}

// trim drops the empty chunks before the last one that stand at the front,
// and the one before the last, which was the last when it became empty.
func (l *messageLog) trim() {
	if n := len(l.chunks); n >= 2 && l.chunks[n-2] != nil && l.chunks[n-2].live == 0 {
		l.chunks[n-2] = nil
	}
	for len(l.chunks) > 1 && l.chunks[0] == nil {
		l.chunks = l.chunks[1:]
		l.base += chunkSize
	}
}

// first returns the lowest offset that is stored, or else none.
func (l *messageLog) first(none uint64) uint64 {
	for i, c := range l.chunks {
		if c == nil {
			continue
		}
		for j := range c.slot {
			if c.slot[j].stored {
				return l.base + uint64(i*chunkSize+j)
			}
		}
	}
	return none
}

// each calls do for every message that is stored, in the order of the offsets.
func (l *messageLog) each(do func(*message)) {
	l.upTo(func(m *message) bool { do(m); return true })
}

// upTo is each until do returns false.
func (l *messageLog) upTo(do func(*message) bool) {
	for _, c := range l.chunks {
		for j := 0; c != nil && j < chunkSize; j++ {
			if c.slot[j].stored && !do(&c.slot[j]) {
				return
			}
		}
	}
}

// count returns how many messages are stored.
func (l *messageLog) count() int {
	n := 0
	for _, c := range l.chunks {
		if c != nil {
			n += c.live
		}
	}
	return n
}

// cache keeps bodies in memory for their delivery, up to a size: the newest,
// because whoever keeps up with the publishers wants those, and whoever does
// not reads the journal anyway.
type cache struct {
	limit, size    int64 // bytes
	newest, oldest *message
}

// add keeps the body of m and lets go of the oldest ones above the limit. What
// is not durable cannot be read back and stays.
func (c *cache) add(m *message, body []byte, durable journal.Position) {
	m.body = body
	m.older = c.newest
	if c.newest != nil {
		c.newest.newer = m
	}
	c.newest = m
	if c.oldest == nil {
		c.oldest = m
	}
	c.size += int64(len(body))
	for c.oldest != nil && c.size > c.limit && c.oldest.where.Before(durable) {
		c.drop(c.oldest)
	}
}

// drop lets go of the body of m, if it is in memory.
func (c *cache) drop(m *message) {
	if m.body == nil || m.pinned {
		m.body, m.pinned = nil, false
		return
	}
	c.size -= int64(len(m.body))
	if m.newer != nil {
		m.newer.older = m.older
	} else {
		c.newest = m.older
	}
	if m.older != nil {
		m.older.newer = m.newer
	} else {
		c.oldest = m.newer
	}
	m.body, m.newer, m.older = nil, nil, nil
}
