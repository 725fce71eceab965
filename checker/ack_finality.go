package checker

import (
	"fmt"

	"pestle/history"
)

// ledgerBound is how long a target may take to begin to write a finish down,
// in nanoseconds of its own clock.
const ledgerBound = 20_000_000

// ackFinality: a finish that had to be durable is final on its channel, whoever
// ends or takes over.
//
// A finish line says only that the client was about to send FIN. That FIN was
// not lost on its way, and that the target has written it down, is proven by
// what came later over the same connection: sent, that is, by one broker in one
// tenure.
//
//  1. It was served. The finishing consumer has consumed, over the connection,
//     one message more after it than its RDY allows. Had FIN not been served
//     when the last of them was sent, the finished one and all of them would
//     have been in flight at once; and no lease that would have made room can
//     have run out, since the message timeout has not passed since the finished
//     message was first attempted. As many as RDY allows would do, but a target
//     that overruns it by one shall not be accused of this.
//  2. It is in the ledger. A message that was first sent the ledger bound later
//     came over the connection, and then one that was sent after that. A
//     channel has one ledger entry on its way at most. When the first of the
//     two messages was proposed, the finish was proposed before it, or waited
//     for the entry before it; when it was delivered, all before it in the log
//     was committed and applied, so that the finish was proposed by then; and
//     so the second one, which was proposed later, is behind it in the log, was
//     delivered, and hence both are committed.
//
// That the broker led when it took the finish is not enough, and that other
// messages were acked since proves nothing: a leader that is cut off takes
// finishes and delivers what it has for an election timeout, while another one
// acks. But the messages of the second step were sent after the finish was
// served, so nobody but that broker in that tenure can have put them where it
// delivers them from: a log that another leader's entries get into is one of a
// broker that has lost its leadership, and closes its connections.
//
// A committed entry is in the log of every later leader, and applied before it
// delivers anything. So a delivery breaks the promise if its sender's tenure
// was that of the finish and it was sent after the proof, or if that tenure
// came later; a leader that was cut off before may deliver until it gives up.
// This is shown by one of these:
//
//   - a message attempted after the proof came over the connection before: a
//     tenure before that of the finish has no such message;
//   - the connection is one to the broker of the finish that was made after the
//     proof, for a broker's tenures follow one another;
//   - a message attempted after the proof comes over the connection later, and
//     the broker is another one: then its tenure is another one too, and
//     whenever it sent the delivery, it had the finish.
//
// So deliveries that were on their way, leases that ran out, and finishes whose
// ledger entry a crash or a failover took along accuse nobody. A fault of the
// broker's clock stretches the ledger bound: counting begins anew at its end.
type ackFinality struct {
	*run
	findings
	final   finalTimes
	brokers []finalBroker // by number

	proven int64
	downs  int64 // of brokers that had delivered
}

// finalBroker is what was proven over connections to one broker.
type finalBroker struct {
	delivers     bool
	proven       int64
	provenBefore int64 // it last ended, or another one delivered
}

// answering is one connection's side.
type answering struct {
	consumes int64    // so far
	handed   finish   // what came last; without a stream: nothing that counts
	id, pos  string   // of handed
	sent     []finish // and not known to be served, in order
	served   []finish // and not known to be in the ledger, in order

	latest  int64 // latest first attempt of what came
	round   int64 // finishes served the ledger bound before it are proven by a message …
	roundAt int64 // … that was attempted after this

	doubtful []doubtful
}

// finish is one message on its way to being final on a stream.
type finish struct {
	id        messageID
	stream    *stream
	attempted int64 // first attempt of the message
	proof     int64 // number of the consume that proves it served
	servedAt  int64 // when that came
}

// doubtful is a delivery that is a breach if a message comes that was attempted
// since the proof.
type doubtful struct {
	since  int64
	breach Violation
}

// consumed notes a delivery over conn, and judges it.
func (p *ackFinality) consumed(m *message, s *stream, conn *connection, position uint64, e history.Event) {
	p.brokers = grown(p.brokers, conn.broker)
	p.brokers[conn.broker].delivers = true
	if !conn.leads {
		p.tookOver(conn.broker)
	}
	original := m.positions[0] == position
	if original {
		p.again(m, s, conn, e)
	}
	p.settleDoubts(conn, m.firstAttempt())
	a := &conn.answering
	a.consumes++
	for len(a.sent) > 0 && a.sent[0].proof <= a.consumes {
		f := a.sent[0]
		a.sent = a.sent[1:]
		if p.leased(conn.broker, f.attempted) {
			f.servedAt = p.now
			a.served = append(a.served, f)
		}
	}
	p.behind(conn, m.firstAttempt())
	a.handed = finish{}
	if original {
		a.handed = finish{id: m.messageID, stream: s, attempted: m.firstAttempt()}
		a.id, a.pos = e.ID, e.Pos
	}
}

// again judges a delivery of a message whose finish may be final.
func (p *ackFinality) again(m *message, s *stream, conn *connection, e history.Event) {
	at, broker, ok := p.final.at(m.messageID, s)
	if !ok {
		return
	}
	breach := Violation{
		ID: e.ID, Channel: s.channel, Pos: e.Pos, T: e.T,
		Cause: "delivered again after its finish had to be durable",
		Detail: fmt.Sprintf("%s was delivered to %s on %s at %s from position %.80q (attempts %d), although its finish there was proven durable by %s and this delivery was sent later, or by a later leader",
			e.ID, e.Src, s, p.at(e.T), e.Pos, e.Attempts, p.at(at)),
	}
	switch {
	case conn.newest >= at, conn.broker == broker && conn.made >= at:
		p.add(breach)
	case !concerns(conn.broker, broker) && len(conn.doubtful) < MaxViolations:
		conn.doubtful = append(conn.doubtful, doubtful{since: at, breach: breach})
	}
}

// settleDoubts takes a message that was attempted at sent and came over conn.
func (p *ackFinality) settleDoubts(conn *connection, sent int64) {
	kept := conn.doubtful[:0]
	for _, d := range conn.doubtful {
		if sent >= d.since {
			p.add(d.breach)
		} else {
			kept = append(kept, d)
		}
	}
	conn.doubtful = kept
}

// finished notes that by confirms what came last over conn.
func (p *ackFinality) finished(s *stream, by *consumer, conn *connection, e history.Event) {
	a := &conn.answering
	if by.ready > 0 && a.handed.stream == s && a.id == e.ID && a.pos == e.Pos {
		a.handed.proof = a.consumes + by.ready + 1
		a.sent = append(a.sent, a.handed)
	}
	a.handed = finish{}
}

// behind takes a message that was attempted at sent and came over conn: what
// it is behind in the log is committed.
func (p *ackFinality) behind(conn *connection, sent int64) {
	a := &conn.answering
	if !p.faults.clocks.noneSince(conn.broker, sent-ledgerBound) {
		return
	}
	a.latest = max(a.latest, sent)
	if sent < a.roundAt {
		return
	}
	kept := a.served[:0]
	for _, f := range a.served {
		if f.servedAt+ledgerBound > a.round {
			kept = append(kept, f)
		} else if p.final.set(f.id, f.stream, conn.broker) {
			p.proven++
			p.brokers[conn.broker].proven++
		}
	}
	a.served = kept
	a.round, a.roundAt = a.latest, p.now
}

// wentDown notes that a broker ended, whether it was made to or not.
func (p *ackFinality) wentDown(broker int) {
	for i := range p.brokers {
		if b := &p.brokers[i]; b.delivers && concerns(i, broker) {
			p.downs++
			b.provenBefore = b.proven
		}
	}
}

// tookOver notes that a broker delivers over a connection for the first time.
func (p *ackFinality) tookOver(broker int) {
	for i := range p.brokers {
		if b := &p.brokers[i]; !concerns(i, broker) {
			b.provenBefore = b.proven
		}
	}
}

func (p *ackFinality) judge() judgement {
	var before int64
	for _, b := range p.brokers {
		before += b.provenBefore
	}
	j := judgement{findings: p.clone(), exposure: Exposure{
		"finishes proven durable": p.proven,
		"finishes proven durable before their broker ended or another took over": before,
	}}
	switch {
	case p.proven == 0:
		j.missing = append(j.missing, "no finish was proven to be durable")
	case p.downs > 0 && before == 0:
		j.missing = append(j.missing, "no finish was proven to be durable before its broker ended or another took over")
	}
	return j
}
