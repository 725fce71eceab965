package checker

import (
	"fmt"

	"pestle/history"
)

// dueGrain is what a due time may be rounded by: NSQ counts in milliseconds.
const dueGrain = 1_000_000

// notEarly: what the target was asked to hold back is not delivered before it
// is due.
//
// A deferred message is due its deferral after it was first attempted, which
// is before the target can have had it. Due times live on the leader's clock,
// so nothing is held against it while that was set wrong at any time since. A
// leader takes over where its own wall clock is: unless one broker has surely
// led all the time, a wrong clock on any broker excuses it, even before, for
// clocks that ran apart stay apart.
//
// A message given back is due its delay after the requeue line. But that line
// says only that the client was about to send REQ, and other things bring a
// message back at once. So an early delivery is a breach only if it comes from
// the broker it was given back to and, since the message was first attempted,
// there was no fault, no broker ended, the holder did not lose its connection,
// and no lease can have run out; the loss of a connection may be noted until
// noticeLag after the delivery. While one broker has surely led, what befell
// the others excuses nothing.
type notEarly struct {
	*run
	findings
	pending []earlyReturn // by time

	deferred int64 // deliveries judged
	returned int64
	exempt   int64
}

// givenBack is a requeue that waits for its delivery.
type givenBack struct {
	by      *consumer // the holder; nil: nothing is waited for
	broker  int       // that it was given back to
	at, due int64
}

// earlyReturn is a delivery that is a breach unless its holder turns out to
// have lost its connection.
type earlyReturn struct {
	attempted int64
	by        *consumer
	broker    int // that led all the time; anyBroker: that is not known
	at        int64
	breach    Violation
}

// consumed judges a delivery of m at a position; first says that it is the
// first on s.
func (p *notEarly) consumed(m *message, d *delivery, s *stream, conn *connection, e history.Event, first bool) {
	back := d.back
	d.back = givenBack{}
	sent := m.firstAttempt()
	if e.Attempts == 0 || e.T < sent { // rebuilt, or of contradicting times
		return
	}
	switch {
	case back.by != nil:
		p.afterRequeue(sent, back, s, conn, e)
	case m.deferral > 0 && first:
		p.afterDeferral(m, s, conn, e)
	}
}

func (p *notEarly) afterDeferral(m *message, s *stream, conn *connection, e history.Event) {
	sent := m.firstAttempt()
	if !p.clocksKept(conn, sent) {
		p.exempt++
		return
	}
	p.deferred++
	if due := sent + m.deferral; e.T+dueGrain < due {
		p.add(Violation{
			ID: e.ID, Channel: s.channel, Pos: e.Pos, T: e.T,
			Cause: "deferred message delivered before it was due",
			Detail: fmt.Sprintf("%s, first sent at %s with a deferral of %s, was delivered on %s at %s, before it can have been due at %s",
				e.ID, p.at(sent), seconds(m.deferral), s, p.at(e.T), p.at(due)),
		})
	}
}

// clocksKept reports that due times set since sent were kept by right clocks
// until what comes over conn was delivered.
func (p *notEarly) clocksKept(conn *connection, sent int64) bool {
	switch {
	case conn.steadySince(sent):
		return p.faults.clocks.noneSince(conn.broker, sent)
	case len(p.brokers) > 1:
		return p.faults.clocks.noneSince(anyBroker, p.origin)
	}
	return p.faults.clocks.noneSince(anyBroker, sent)
}

func (p *notEarly) afterRequeue(sent int64, back givenBack, s *stream, conn *connection, e history.Event) {
	leader := anyBroker
	if conn.steadySince(sent) {
		leader = conn.broker
	}
	switch {
	case e.T+dueGrain >= back.due:
		p.returned++
	case !concerns(back.broker, conn.broker) || !p.leased(leader, sent) || !p.faults.all.noneSince(leader, sent):
		p.exempt++
	default:
		p.pending = append(p.pending, earlyReturn{attempted: sent, by: back.by, broker: leader, at: e.T, breach: Violation{
			ID: e.ID, Channel: s.channel, Pos: e.Pos, T: e.T,
			Cause: "message given back delivered before its delay was over",
			Detail: fmt.Sprintf("%s, given back at %s for %s, was delivered again on %s at %s, before it was due at %s",
				e.ID, p.at(back.at), seconds(back.due-back.at), s, p.at(e.T), p.at(back.due)),
		}})
	}
}

// passed settles the deliveries whose holder can have told no more.
func (p *notEarly) passed(now int64) {
	for len(p.pending) > 0 && now > p.pending[0].at+noticeLag {
		if r := p.pending[0]; p.stands(r) {
			p.returned++
			p.add(r.breach)
		} else {
			p.exempt++
		}
		p.pending = p.pending[1:]
	}
}

// stands reports that nothing known excuses r.
func (p *notEarly) stands(r earlyReturn) bool {
	return !r.by.lost.since(r.broker, r.attempted) && !p.down.since(r.broker, r.attempted)
}

func (p *notEarly) judge() judgement {
	j := judgement{findings: p.clone()}
	returned, exempt := p.returned, p.exempt
	for _, r := range p.pending {
		if p.stands(r) {
			returned++
			j.findings.add(r.breach)
		} else {
			exempt++
		}
	}
	j.exposure = Exposure{
		"deferred deliveries judged":                     p.deferred,
		"deliveries after a delayed requeue judged":      returned,
		"deliveries exempt for a wrong clock or a fault": exempt,
	}
	if p.deferred+returned == 0 {
		j.missing = append(j.missing, "nothing that was to be held back was delivered and could be judged")
	}
	return j
}
