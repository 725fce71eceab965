package checker

import (
	"fmt"

	"pestle/history"
)

// noticeLag is how long after it had its consequence a cause may be recorded,
// in nanoseconds. A broker returns a dead consumer's messages at once, and
// another consumer may have them before the harness has seen the process
// gone, or the first has read that its connection is lost.
const noticeLag = 1_000_000_000

// failoverLag is the same after a failover: the new leader delivers before the
// old one, which hears of nothing, has missed its majority and closed its
// connections, or the client has given up on it.
const failoverLag = 5_000_000_000

// maxPositions is how many positions of one id are told apart. A target that
// makes more copies has long failed.
const maxPositions = 64

// deliveryGuarantee: no more deliveries than the two sides account for.
//
// Publishing: the distinct positions seen holding one id are at most its
// tries, and one at most once. An id whose every try failed for sure never
// appears.
//
// Consuming: the k-th consume of one position on one stream needs k-1 recorded
// causes that were not over when the message was first attempted:
//
//   - a requeue of that position on that stream;
//   - the lease: one for each message timeout since the first attempt;
//   - a restart, stop or unasked exit of a consumer of the stream, and any fault
//     on it;
//   - a connection that such a consumer lost to a broker which delivered the
//     position;
//   - a fault on such a broker, or its unasked exit; and any of the network.
//
// The brokers that delivered it are all that matter in a cluster: one of them
// had it in flight, and had to end, or lose its leadership, for another to
// deliver it; a leader that lost its leadership closes its connections. What
// befalls a broker that only follows explains nothing.
//
// One cause explains any number of messages, but one more delivery of each
// position. Causes are counted as recorded: a killed consumer that restarts
// has recorded two, which is generous. A cause is accepted until noticeLag
// after the consume or, when more than one broker delivered the position, until
// failoverLag after it.
type deliveryGuarantee struct {
	*run
	findings
	brokers  brokerCauses
	pending  unexplainedList
	failover unexplainedList // those that more than one broker delivered

	consumed   int64
	retries    int64
	copies     int64 // positions beyond the first of an id
	duplicates int64 // second and later consumes of one id on one stream
	explained  int64 // those of them that are accounted for
}

// unexplained is a consume that had too few causes when it came.
type unexplained struct {
	id       string
	pos      string
	stream   *stream
	at       int64
	attempts int
	nth      int64 // it is the nth consume of the position
	sent     int64 // first attempt
	own      int64 // requeues and leases
	brokers  brokerSet
}

// unexplainedList holds consumes by time; the first head are judged.
type unexplainedList struct {
	list []unexplained
	head int
}

func (l *unexplainedList) waiting() []unexplained { return l.list[l.head:] }

// next takes the first one out when it came so long before now.
func (l *unexplainedList) next(now, lag int64) (u unexplained, ok bool) {
	if l.head == len(l.list) || now <= l.list[l.head].at+lag {
		return unexplained{}, false
	}
	u = l.list[l.head]
	if l.head++; l.head > len(l.list)/2 { // else the judged ones would pile up
		l.list = append(l.list[:0], l.list[l.head:]...)
		l.head = 0
	}
	return u, true
}

// appeared judges the position of a consumed message on the publishing side.
// It reports whether the position was new, and whether it was allowed.
func (p *deliveryGuarantee) appeared(m *message, position uint64, e history.Event) (isNew, allowed bool) {
	if m.everyTryFailed() {
		p.refusedSeen(m, e)
	}
	for _, known := range m.positions {
		if known == position {
			return false, true
		}
	}
	most := len(m.tries)
	if p.cfg.AtMostOnce {
		most = 1
	}
	allowed = len(m.positions) < most
	if !allowed {
		p.add(Violation{
			ID: e.ID, Channel: e.Channel, Pos: e.Pos, T: e.T,
			Cause: "more positions hold one id than it had tries",
			Detail: fmt.Sprintf("%s was consumed from %s/%s at %s from position %.80q; %s held it before, and it had %s",
				e.ID, e.Topic, e.Channel, p.at(e.T), e.Pos, count(len(m.positions), "position", "positions"), count(len(m.tries), "try", "tries")),
		})
	} else if len(m.positions) > 0 {
		p.copies++
	}
	if len(m.positions) < maxPositions {
		m.positions = append(m.positions, position)
	}
	return true, allowed
}

// failedTry judges a send that was refused after its message had appeared.
func (p *deliveryGuarantee) failedTry(m *message, e history.Event) {
	if len(m.positions) > 0 && m.everyTryFailed() {
		p.refusedSeen(m, e)
	}
}

func (p *deliveryGuarantee) refusedSeen(m *message, e history.Event) {
	if m.refused {
		return
	}
	m.refused = true
	p.add(Violation{
		ID: e.ID, Channel: e.Channel, Pos: e.Pos, T: e.T,
		Cause: "a message appeared although every try of it failed",
		Detail: fmt.Sprintf("%s was consumed although the target had refused every try of it, %s since %s; proven at %s",
			e.ID, count(len(m.tries), "try", "tries"), p.at(m.firstAttempt()), p.at(e.T)),
	})
}

// delivered judges the consume of one position on the consuming side, after d
// has counted it. again says that the stream consumed the id before.
func (p *deliveryGuarantee) delivered(m *message, d *delivery, s *stream, e history.Event, again bool) {
	p.consumed++
	if !again {
		return
	}
	p.duplicates++
	u := unexplained{
		id: e.ID, pos: e.Pos, stream: s, at: e.T, attempts: e.Attempts,
		nth: int64(d.consumes), sent: m.firstAttempt(), own: int64(d.requeues), brokers: d.brokers,
	}
	if p.cfg.MsgTimeout > 0 {
		u.own += (u.at - u.sent) / p.cfg.MsgTimeout
	}
	if p.explains(&u) {
		p.explained++
		return
	}
	if u.brokers.several() {
		p.failover.list = append(p.failover.list, u)
	} else {
		p.pending.list = append(p.pending.list, u)
	}
}

// explains reports that the causes recorded so far account for u.
func (p *deliveryGuarantee) explains(u *unexplained) bool {
	return p.causesOf(u) >= u.nth-1
}

func (p *deliveryGuarantee) causesOf(u *unexplained) int64 {
	return u.own + u.stream.causes.since(u.sent) + u.stream.lost.since(u.brokers, u.sent) + p.brokers.since(u.brokers, u.sent)
}

// passed judges the consumes that no later cause can explain any more.
func (p *deliveryGuarantee) passed(now int64) {
	p.settle(&p.pending, now, noticeLag)
	p.settle(&p.failover, now, failoverLag)
}

func (p *deliveryGuarantee) settle(l *unexplainedList, now, lag int64) {
	for u, ok := l.next(now, lag); ok; u, ok = l.next(now, lag) {
		if p.explains(&u) {
			p.explained++
		} else {
			p.add(p.uncaused(&u))
		}
	}
}

func (p *deliveryGuarantee) uncaused(u *unexplained) Violation {
	return Violation{
		ID: u.id, Channel: u.stream.channel, Pos: u.pos, T: u.at,
		Cause: "a position was consumed again without a recorded cause",
		Detail: fmt.Sprintf("%s, sent at %s, was consumed on %s at %s from position %.80q (attempts %d) after %s of that position, which %s (requeue, lease, consumer or broker) cannot explain",
			u.id, p.at(u.sent), u.stream, p.at(u.at), u.pos, u.attempts, count(u.nth-1, "earlier consume", "earlier consumes"),
			count(p.causesOf(u), "recorded cause", "recorded causes")),
	}
}

func (p *deliveryGuarantee) judge() judgement {
	j := judgement{findings: p.clone()}
	explained := p.explained
	for _, l := range []*unexplainedList{&p.pending, &p.failover} {
		waiting := l.waiting()
		for i := range waiting {
			if u := &waiting[i]; p.explains(u) {
				explained++
			} else {
				j.findings.add(p.uncaused(u))
			}
		}
	}
	j.exposure = Exposure{
		"messages consumed":         p.consumed,
		"retries":                   p.retries,
		"second positions of an id": p.copies,
		"duplicates consumed":       p.duplicates,
		"duplicates explained":      explained,
	}
	if p.consumed == 0 {
		j.missing = append(j.missing, "no message was consumed")
	}
	if !p.cfg.AtMostOnce && p.retries == 0 {
		j.missing = append(j.missing, "no send was retried")
	}
	if !p.cfg.AtMostOnce && explained == 0 {
		j.missing = append(j.missing, "no duplicate was seen and explained")
	}
	return j
}
