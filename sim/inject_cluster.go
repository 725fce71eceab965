package sim

import (
	"slices"

	"pestle/broker/core"
	"pestle/faults"
)

// clusterInjection is the table of faults that take a broker's data away.
func clusterInjection(k faults.Kind) (injection, bool) {
	switch k {
	case faults.Wipe:
		return injection{begin: func(w *world, now int64, a *action) {
			a.process.end(now, false)
			b := w.brokerOf(a.process)
			b.disk.Wipe()
			b.wiped = true
		}}, true
	case faults.Replace:
		return injection{begin: func(w *world, now int64, a *action) {
			a.process.out = true
			a.process.end(now, false)
		}}, true
	}
	return injection{}, false
}

// partitionGroup is the group that every partition is in: the brokers of this
// world have one data group.
const partitionGroup = 1

// cluster is what faults on a role have to know: who leads now.
func (w *world) cluster() faults.Cluster {
	c := faults.Cluster{Leader: w.leaderOf(partitionGroup), Metadata: w.leaderOf(0)}
	for _, b := range w.brokers {
		if !b.out {
			c.Brokers = append(c.Brokers, b.name)
		}
	}
	return c
}

// leaderOf names the broker that leads a group, in the latest term of all that
// say so; "": none does.
func (w *world) leaderOf(group uint32) (name string) {
	last := uint64(0)
	for _, b := range w.brokers {
		if b.core == nil || group >= groupsOf(b.core) {
			continue
		}
		if v := viewOf(b.core, group); v.Leads && v.Term >= last {
			name, last = b.name, v.Term
		}
	}
	return name
}

// replacement is how far a broker that is gone for good has been replaced.
type replacement struct {
	spare *broker
	turn  int   // of the brokers that are asked to see to it
	asked int   // number of the last request; -1: none
	since int64 // when that was
}

const replaceEvery = 100 * millisecond // how often the harness looks how far it is

// replaceNow starts a spare broker in the place of one that is gone for good.
func (w *world) replaceNow(now int64, a *action) {
	i := slices.IndexFunc(w.brokers, func(b *broker) bool { return b.out && b.lives == 0 })
	a.replacement = &replacement{spare: w.brokers[i], asked: -1}
	a.replacement.spare.out = false
	a.replacement.spare.start(now)
	w.later(now+replaceEvery, evReplace, uint64(a.fault.Ref), 0)
}

// replaceOn asks the brokers in turn to put the new one in the place of the one
// that is gone, and waits until it is there.
func (w *world) replaceOn(now int64, ref int) {
	i := slices.IndexFunc(w.actions, func(a *action) bool { return a.fault.Ref == ref })
	if i < 0 {
		return
	}
	a := w.actions[i]
	r, gone := a.replacement, w.brokerOf(a.process)
	if r.spare.ready && w.replaced(gone, r.spare) {
		w.finishAction(now, a)
		return
	}
	if !w.underWay(now, r) {
		if to := w.live(r); to != nil {
			r.since, r.asked = now, w.ask(now, to, core.Request{
				Kind: core.ReqReplace, Node: gone.number, NewNode: r.spare.number, Address: r.spare.name,
			})
		}
	}
	w.later(now+replaceEvery, evReplace, uint64(ref), 0)
}

// underWay reports that some broker has said that it sees to a replacement, or
// may still say so.
func (w *world) underWay(now int64, r *replacement) bool {
	if r.asked < 0 {
		return false
	}
	reply := w.requests[r.asked].reply
	return reply == nil && now < r.since+giveUpCall || reply != nil && reply.Code == ""
}

// live is the next broker to be asked; nil: none serves.
func (w *world) live(r *replacement) *process {
	for range w.brokers {
		b := w.brokers[r.turn%len(w.brokers)]
		r.turn++
		if b.ready && b != r.spare {
			return b.process
		}
	}
	return nil
}

// replaced reports whether, for all that their leaders know, the new broker has
// a vote in each group and the old one is in none.
func (w *world) replaced(gone, spare *broker) bool {
	for group := range uint32(partitionGroup + 1) {
		lead := w.process(w.leaderOf(group))
		if lead == nil {
			return false
		}
		voter := w.brokerOf(lead) == spare
		for _, peer := range peersOf(w.brokerOf(lead).core, group) {
			if peer.Node == gone.number {
				return false
			}
			voter = voter || peer.Node == spare.number && !peer.Learner
		}
		if !voter {
			return false
		}
	}
	return true
}
