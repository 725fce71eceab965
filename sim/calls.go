package sim

import (
	"fmt"

	"pestle/broker/core"
)

// request is one call of the harness at a broker.
type request struct {
	asked  *core.Request
	coming *core.Reply // given, and on its way
	reply  *core.Reply // nil: no answer yet
	broker *process
}

const (
	minCallLatency = 100 * microsecond // of the harness's own path to a broker, which no fault touches
	maxCallLatency = 2 * millisecond

	giveUpCall = second           // a request that has no answer yet will have none
	callWithin = 10 * second      // some broker has to do what is asked of all in turn
	callAgain  = 50 * millisecond // pause before the next one is asked
)

// ask sends a request to a broker and returns its number. There is no answer
// when the broker is down, or ends before it gives one.
func (w *world) ask(now int64, p *process, r core.Request) int {
	id := len(w.requests)
	r.ID = core.RequestID(id)
	w.requests = append(w.requests, request{asked: &r, broker: p})
	p.post(now+w.harness.Between(minCallLatency, maxCallLatency), evRequest, uint64(id))
	return id
}

func (w *world) replied(now int64, id core.RequestID, reply *core.Reply) {
	w.requests[id].coming = reply
	w.later(now+w.harness.Between(minCallLatency, maxCallLatency), evReply, uint64(id), 0)
}

// answered takes an answer that has arrived.
func (w *world) answered(now int64, r *request) {
	r.reply = r.coming
	if r.reply.Stats != nil {
		if w.statistics != nil {
			w.statistics(now, r.broker.name, r.reply.Stats)
		}
		w.brokerOf(r.broker).lookAtStatistics(now, r.reply.Stats)
	}
}

// call asks the brokers in turn until one has done it: of several, some may be
// down, and a group may still be without a leader.
func (w *world) call(r core.Request) {
	until, why := w.now()+callWithin, "no broker runs"
	for turn := 0; !w.over() && w.now() < until; turn++ {
		b := w.brokers[turn%len(w.brokers)]
		if b.running {
			reply := w.answer(b.process, r)
			if reply != nil && reply.Code == "" {
				return
			}
			why = b.name + " does not answer"
			if reply != nil {
				why = b.name + " answers " + reply.Code + " " + reply.Text
			}
		}
		w.pause(callAgain)
	}
	if !w.over() {
		w.fail(fmt.Errorf("topic %s and channel %q are not made within %d virtual seconds: %s", r.Topic, r.Channel, callWithin/second, why))
	}
}

// answer asks a broker and waits; nil: it gives no answer.
func (w *world) answer(p *process, r core.Request) *core.Reply {
	id := w.ask(w.now(), p, r)
	w.run(w.now()+giveUpCall, func() bool { return w.requests[id].reply != nil })
	return w.requests[id].reply
}

// pause lets time go by.
func (w *world) pause(while int64) { w.run(w.now()+while, func() bool { return false }) }

// leading asks every broker for its statistics of the workload's topic, and
// returns those of the one that leads it; nil: none says that it does. What
// the others say of deliveries they do not know. Of two that both say so, the
// one of the later term is right.
func (w *world) leading() *core.Stats {
	var asked []int
	for _, b := range w.brokers {
		if b.running {
			asked = append(asked, w.ask(w.now(), b.process, core.Request{Kind: core.ReqStats, Topic: w.plan.Workload.Topic}))
		}
	}
	w.run(w.now()+giveUpCall, func() bool {
		for _, id := range asked {
			if w.requests[id].reply == nil {
				return false
			}
		}
		return true
	})
	var best *core.Stats
	last := uint64(0)
	for _, id := range asked {
		if reply := w.requests[id].reply; reply != nil {
			if term, leads := tenure(reply.Stats, w.plan.Workload.Topic); leads && (best == nil || term > last) {
				best, last = reply.Stats, term
			}
		}
	}
	return best
}

// tenure is the term in which a broker leads a topic.
func tenure(s *core.Stats, topic string) (term uint64, leads bool) {
	for i := range s.Topics {
		if t := &s.Topics[i]; t.Name == topic && t.Leads {
			for j := range s.Groups {
				if g := &s.Groups[j]; g.Group == t.Group {
					term = g.Term
				}
			}
			return term, true
		}
	}
	return 0, false
}
