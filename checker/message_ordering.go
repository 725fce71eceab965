package checker

import (
	"fmt"

	"pestle/history"
)

// messageOrdering: if A was acked before B was attempted, A is first delivered
// before B, on every stream that one consumer reads, within one partition.
//
// It is judged when A comes: the latest attempt among the messages that were
// first delivered before it is enough to know, so one number per partition
// decides. Only first deliveries count: the first consume of an id on the
// stream, with attempts = 1. What is never held against a target:
//
//   - a message first consumed with attempts > 1: its first delivery went to
//     a handler that never ran, and the order of that is not known;
//   - a line rebuilt from a state file: attempts is not known;
//   - an id of which another try than the acked one may have landed: the copy
//     that comes late may be the unknown one;
//   - a message that was requeued: it was consumed before;
//   - a deferred message, and one that passed a deferred message: the target
//     was asked for it.
type messageOrdering struct {
	*run
	findings
	streams   [][]partitionOrder // by stream, partition
	judged    int64
	separated int64
}

// partitionOrder is what the first deliveries of one partition of one stream
// were so far.
type partitionOrder struct {
	any       bool
	latest    messageID // first delivered, attempted last
	attempted int64     // when latest was attempted
	delivered int64     // when latest was first delivered

	anyAcked   bool
	firstAcked int64 // earliest ack among them
	separated  int64 // time of the last fault that is counted in separated
}

func (p *messageOrdering) firstConsume(m *message, s *stream, e history.Event) {
	if p.cfg.Order != OrderPartition || s.consumers != 1 || e.Attempts != 1 || m.deferral > 0 {
		return
	}
	o := p.orderOf(s, p.partition(s, e.Pos))
	p.judged++
	p.separate(o, m)
	if o.any && m.onlyAckedTryLanded() && m.ackedAt < o.attempted {
		p.add(Violation{
			ID: e.ID, Channel: s.channel, Pos: e.Pos, T: e.T,
			Cause: "first delivered after a message that was sent after its ack",
			Detail: fmt.Sprintf("%s, acked at %s, was first delivered on %s at %s; %s, sent only at %s, had been first delivered at %s",
				e.ID, p.at(m.ackedAt), s, p.at(e.T), o.latest, p.at(o.attempted), p.at(o.delivered)),
		})
	}
	if sent := m.firstAttempt(); !o.any || sent > o.attempted {
		o.any, o.latest, o.attempted, o.delivered = true, m.messageID, sent, e.T
	}
	if m.onlyAckedTryLanded() && (!o.anyAcked || m.ackedAt < o.firstAcked) {
		o.anyAcked, o.firstAcked = true, m.ackedAt
	}
}

// separate counts the last fault if it came between the ack of a message that
// was delivered earlier and the delivery of m, and the two are ordered.
func (p *messageOrdering) separate(o *partitionOrder, m *message) {
	fault := p.faults.lastEffective
	if p.faults.effective > 0 && fault > o.separated && o.anyAcked &&
		o.firstAcked < fault && o.firstAcked < m.firstAttempt() {
		o.separated = fault
		p.separated++
	}
}

func (p *messageOrdering) orderOf(s *stream, index int) *partitionOrder {
	for len(p.streams) <= int(s.index) {
		p.streams = append(p.streams, nil)
	}
	for len(p.streams[s.index]) <= index {
		p.streams[s.index] = append(p.streams[s.index], partitionOrder{})
	}
	return &p.streams[s.index][index]
}

// passedOver returns a message that was sent after m's ack and is first
// delivered on s already: m, not yet consumed there, is a suspect.
func (p *messageOrdering) passedOver(m *message, s *stream) (messageID, bool) {
	if int(s.index) >= len(p.streams) || !m.onlyAckedTryLanded() || m.deferral > 0 {
		return messageID{}, false
	}
	for i := range p.streams[s.index] {
		if o := &p.streams[s.index][i]; o.any && m.ackedAt < o.attempted {
			return o.latest, true
		}
	}
	return messageID{}, false
}

func (p *messageOrdering) judge() judgement {
	j := judgement{findings: p.clone(), exposure: Exposure{
		"first deliveries compared":             p.judged,
		"faults that separated an ordered pair": p.separated,
	}}
	switch {
	case p.judged == 0:
		j.missing = append(j.missing, "no first delivery was seen on a channel with one consumer")
	case p.separated == 0:
		j.missing = append(j.missing, "no fault separated two messages in order")
	}
	return j
}
