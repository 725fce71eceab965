package checker

import (
	"slices"
	"strings"

	"pestle/history"
)

// early lists "<id> <breach>" for each message that came before it was due.
func (n *naive) early() []string {
	var list []string
	for i, e := range n.events {
		m := n.upTo(i, e.ID)
		if e.Ev != history.Consume || len(m.tries) == 0 {
			continue
		}
		back, seen := n.lastOf(i)
		switch {
		case back != nil:
			if e.T+dueGrain < back.T+back.Defer && e.T < m.first+n.cfg.MsgTimeout && !n.disturbed(i, m.first, back) {
				list = append(list, e.ID+" returned")
			}
		case !seen && e.T+dueGrain < m.first+m.deferral && n.clocksKept(i, m.first):
			list = append(list, e.ID+" deferred")
		}
	}
	return list
}

// steady reports that the broker of the consume at index i delivered something
// over the same connection before sent, and so has led since then.
func (n *naive) steady(i int, sent int64) bool {
	e := n.events[i]
	for j := i - 1; j >= 0; j-- {
		o := n.events[j]
		switch {
		case o.Src != e.Src || o.Target != e.Target:
		case o.What == history.NoteConnected:
			return false
		case o.Ev == history.Consume && o.T <= sent && len(n.upTo(j, o.ID).tries) > 0:
			return true
		}
	}
	return false
}

func (n *naive) clocksKept(i int, sent int64) bool {
	leader, since := "", sent
	if n.steady(i, sent) {
		leader = n.events[i].Target
	} else if n.namesTwo(i) {
		since = 0
	}
	return !n.faulty(i, since, leader, "clock-jump")
}

// namesTwo reports that the history up to index i names both brokers.
func (n *naive) namesTwo(i int) bool {
	named := map[string]bool{}
	for _, o := range n.events[:i+1] {
		if strings.HasPrefix(o.Target, "broker-") && o.What != "partition" && !strings.HasPrefix(o.Src, "producer-") {
			named[o.Target] = true
		}
	}
	return len(named) > 1
}

// lastOf returns the requeue with a delay that came last of all that happened
// to the position consumed at index i, nil if it was something else, and
// whether the channel has seen the id before.
func (n *naive) lastOf(i int) (back *history.Event, seen bool) {
	e := n.events[i]
	for j := range i {
		o := &n.events[j]
		if o.ID != e.ID || o.Channel != e.Channel || len(n.upTo(j, e.ID).tries) == 0 {
			continue
		}
		switch {
		case o.Ev == history.Consume:
			seen = true
			if o.Pos == e.Pos {
				back = nil
			}
		case o.Ev == history.Requeue && o.Pos == e.Pos && o.Defer > 0 && slices.Contains(n.upTo(j, e.ID).positions, e.Pos):
			back = o
		}
	}
	return back, seen
}

// faulty reports that a fault of one of the kinds, which may have to do with
// the leader, was active between sent and the event at index i.
func (n *naive) faulty(i int, sent int64, leader string, kinds ...string) bool {
	for j, o := range n.events[:i] {
		if o.Ev != history.Fault || o.Edge != history.EdgeEffective || !slices.Contains(kinds, o.What) {
			continue
		}
		if other := strings.HasPrefix(o.Target, "broker-") && o.What != "partition" && leader != "" && o.Target != leader; other {
			continue
		}
		end := slices.IndexFunc(n.events[j:i], func(x history.Event) bool {
			return x.Ev == history.Fault && x.Edge == history.EdgeEnded && x.Ref == o.Ref
		})
		if end < 0 || n.events[j+end].T >= sent {
			return true
		}
	}
	return false
}

// disturbed reports that something else than the requeue can have brought the
// message back.
func (n *naive) disturbed(i int, sent int64, back *history.Event) bool {
	e, leader := n.events[i], ""
	if n.steady(i, sent) {
		leader = e.Target
	}
	if back.Target != "" && e.Target != "" && back.Target != e.Target || n.faulty(i, sent, leader, "kill", "clock-jump", "partition") {
		return true
	}
	return slices.ContainsFunc(n.events, func(o history.Event) bool {
		concerned := o.Target == "" || leader == "" || o.Target == leader
		lost := o.What == history.NoteDisconnected && o.Src == back.Src && concerned
		killed := o.What == "kill" && o.Edge == history.EdgeEffective &&
			(o.Target == back.Src || strings.HasPrefix(o.Target, "broker-") && concerned)
		return (lost || killed) && o.T >= sent && o.T <= e.T+noticeLag
	})
}
