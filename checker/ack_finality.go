package checker

import (
	"fmt"

	"pestle/history"
)

// ledgerBound is how long a target may take to begin to write a finish down,
// in nanoseconds of its own clock.
const ledgerBound = 20_000_000

// ackFinality: a finish that had to be durable before its owner went down is
// final on its channel.
//
// A finish line says only that the client was about to send FIN. That FIN was
// not lost on its way, and that the target has written it down, is proven by
// what the target did later:
//
//  1. It was served. The finishing consumer has consumed, over the same
//     connection, one message more after it than its RDY allows. Had FIN not
//     been served when the last of them was sent, the finished one and all of
//     them would have been in flight at once; and no lease that would have made
//     room can have run out, since the message timeout has not passed since
//     the finished message was first attempted. As many as RDY allows would
//     do, but a target that overruns it by one shall not be accused of this.
//  2. It is in the ledger. A message that was first sent the ledger bound
//     later was acked, and then one that was sent after that ack. By the first
//     one the finish, or the entry before it, was handed to the journal; by the
//     second one it was synced, for a journal is written in order.
//
// A broker that goes down before both takes the finish with it; a fault of a
// clock stretches the ledger bound, so that counting begins anew at its end.
//
// A delivery breaks the promise only if it was sent after the proof: over a
// connection that was made later, or after a message that was attempted later.
// So deliveries that were on their way, and leases that ran out, accuse nobody.
type ackFinality struct {
	*run
	findings
	each   []answering // by consumer
	served []finish    // and not known to be in the ledger
	final  finalTimes

	latest  int64 // latest start of an acked send
	round   int64 // finishes served the ledger bound before it are proven by an ack of a send …
	roundAt int64 // … that was started after this

	proven, provenBeforeDown int64
	downs                    int64
}

// answering is one consumer's side.
type answering struct {
	consumes int64    // so far
	handed   finish   // what it consumed last; without a stream: nothing that counts
	id, pos  string   // of handed
	sent     []finish // and not known to be served, in order
}

// finish is one message on its way to being final on a stream.
type finish struct {
	id        messageID
	stream    *stream
	attempted int64 // first attempt of the message
	proof     int64 // number of the consume that proves it served
	servedAt  int64 // when that came
}

// consumed notes a delivery to by, and judges it.
func (p *ackFinality) consumed(m *message, s *stream, by *consumer, position uint64, e history.Event) {
	if e.Attempts == 0 { // rebuilt: when it was consumed, and after what, is lost
		return
	}
	original := m.positions[0] == position
	if at, ok := p.final.at(m.messageID, s); ok && original && by.sentSince >= at {
		p.add(Violation{
			ID: e.ID, Channel: s.channel, Pos: e.Pos, T: e.T,
			Cause: "delivered again after its finish had to be durable",
			Detail: fmt.Sprintf("%s was delivered to %s on %s at %s from position %.80q (attempts %d), although its finish there was proven durable by %s and this delivery was sent later, after %s",
				e.ID, e.Src, s, p.at(e.T), e.Pos, e.Attempts, p.at(at), p.at(by.sentSince)),
		})
	}
	a := &p.each[by.index]
	a.consumes++
	for len(a.sent) > 0 && a.sent[0].proof <= a.consumes {
		f := a.sent[0]
		a.sent = a.sent[1:]
		if p.leased(f.attempted) {
			f.servedAt = p.now
			p.served = append(p.served, f)
		}
	}
	a.handed = finish{}
	if original {
		a.handed = finish{id: m.messageID, stream: s, attempted: m.firstAttempt()}
		a.id, a.pos = e.ID, e.Pos
	}
}

// finished notes that by confirms what it was handed last.
func (p *ackFinality) finished(s *stream, by *consumer, e history.Event) {
	a := &p.each[by.index]
	if by.ready > 0 && a.handed.stream == s && a.id == e.ID && a.pos == e.Pos {
		a.handed.proof = a.consumes + by.ready + 1
		a.sent = append(a.sent, a.handed)
	}
	a.handed = finish{}
}

// renewed notes that by is about to be served over another connection.
func (p *ackFinality) renewed(by *consumer) {
	a := &p.each[by.index]
	a.handed, a.sent = finish{}, a.sent[:0]
}

// ackedTry takes the ack of a send that was started at started.
func (p *ackFinality) ackedTry(started int64) {
	if !p.faults.clocksRightSince(started - ledgerBound) {
		return
	}
	p.latest = max(p.latest, started)
	if started < p.roundAt {
		return
	}
	kept := p.served[:0]
	for _, f := range p.served {
		if f.servedAt+ledgerBound > p.round {
			kept = append(kept, f)
		} else if p.final.set(f.id, f.stream) {
			p.proven++
		}
	}
	p.served = kept
	p.round, p.roundAt = p.latest, p.now
}

// wentDown notes that a broker ended, whether it was made to or not.
func (p *ackFinality) wentDown() {
	p.downs++
	p.provenBeforeDown = p.proven
	p.served = p.served[:0]
	for i := range p.each {
		p.each[i].handed, p.each[i].sent = finish{}, p.each[i].sent[:0]
	}
}

func (p *ackFinality) judge() judgement {
	j := judgement{findings: p.clone(), exposure: Exposure{
		"finishes proven durable":                       p.proven,
		"finishes proven durable before a broker ended": p.provenBeforeDown,
	}}
	switch {
	case p.proven == 0:
		j.missing = append(j.missing, "no finish was proven to be durable")
	case p.downs > 0 && p.provenBeforeDown == 0:
		j.missing = append(j.missing, "no finish was proven to be durable before a broker ended")
	}
	return j
}

// finalTimes knows since when the finish of a message on a stream is final: 4
// bytes for each, in blocks of neighbouring counters.
type finalTimes struct {
	*run
	blocks map[finalBlock]*[blockSize]uint32 // in sentUnit since the first event, rounded up; 0: not final
}

type finalBlock struct {
	producer int
	stream   int32
	number   uint64
}

// set notes that the finish is final from now on. It reports false when that
// was known, or when the time does not fit.
func (f *finalTimes) set(id messageID, s *stream) bool {
	units := (f.now-f.origin)/sentUnit + 1
	if units > 1<<32-1 {
		return false
	}
	key := finalBlock{id.producer.index, s.index, id.counter / blockSize}
	if f.blocks[key] == nil {
		f.blocks[key] = new([blockSize]uint32)
	}
	slot := &f.blocks[key][id.counter%blockSize]
	if *slot != 0 {
		return false
	}
	*slot = uint32(units)
	return true
}

// at returns since when the finish is final.
func (f *finalTimes) at(id messageID, s *stream) (int64, bool) {
	b := f.blocks[finalBlock{id.producer.index, s.index, id.counter / blockSize}]
	if b == nil || b[id.counter%blockSize] == 0 {
		return 0, false
	}
	return f.origin + int64(b[id.counter%blockSize])*sentUnit, true
}
