// Package invariant watches a simulated cluster from outside: what its brokers
// show of their logs, after every event, and what their disks hold.
//
// It owns what must be true of replicated logs whatever happens, and remembers
// what has been shown. It never steps anything and changes nothing. The first
// thing that is not true is a Breach; what comes after it means nothing.
//
//	w := invariant.New()
//	w.Begin(1)                                // broker 1 has recovered
//	if b := w.Show(1, 0, view); b != nil {    // after each of its events, for each group
//		return b
//	}
//
// What must be true of each group:
//
//	one-leader         a term has one leader, ever
//	order              applied ≤ commit and applied ≤ last; on a disk also commit ≤ last
//	no-way-back        term, commit and applied never fall while a broker lives
//	same-entries       brokers that have applied as much have applied the same, ever
//	durable-majority   what some broker has applied is on the disks of a majority
//	used-once          a broker that has lost everything takes part in nothing under its old id
//	vote-kept          a vote that was given is on the disk: nobody gives two in a term
//	restart            a broker comes back with all that was durable on its disk, but for entries that a later term took back
//
//det:ring0
package invariant

import "fmt"

// The names of the invariants: stable words for a finding.
const (
	OneLeader       = "one-leader"
	Order           = "order"
	NoWayBack       = "no-way-back"
	SameEntries     = "same-entries"
	DurableMajority = "durable-majority"
	Restart         = "restart"
	VoteKept        = "vote-kept"
	Statistics      = "statistics"
	Quarantine      = "quarantine"
	UsedOnce        = "used-once"
)

// Breach is an invariant that does not hold.
type Breach struct {
	Name   string // which one
	Detail string // what was seen, in one sentence
}

func breach(name, format string, args ...any) *Breach {
	return &Breach{Name: name, Detail: fmt.Sprintf(format, args...)}
}

// View is what a broker shows of one group.
type View struct {
	Leads    bool // in Term
	Term     uint64
	Commit   uint64 // index up to which it knows entries to be committed
	Applied  uint64
	Last     uint64 // index of the last entry in its journal; it may know a later one to be committed
	LastTerm uint64 // of that entry
	Chain    uint64 // hash of everything applied, in order
	Vote     uint64 // broker that it votes for in Term; 0: none yet
	GaveTerm uint64 // term of the last vote that it has given to another broker in this life; 0: none
	Gave     uint64 // that broker
}

// Watch remembers what the brokers of one run have shown.
type Watch struct {
	groups []group // by number
}

// group is what is known of one replicated log.
type group struct {
	leaders map[uint64]uint64 // by term: the broker that led it
	chains  []uint64          // by index: the hash that somebody showed; 0: nobody has
	applied uint64            // the highest that anybody showed
	brokers []broker          // by number - 1
}

// broker is what one broker last showed of a group.
type broker struct {
	alive   bool // it has shown something in this life
	last    View
	durable View // on its disk at its last end, for sure
}

// place is where a view is from.
type place struct {
	node  uint64
	group uint32
	disk  bool // from what is durable there
}

func (p place) String() string {
	text := fmt.Sprintf("broker-%d, group %d", p.node, p.group)
	if p.disk {
		text += ", on its disk"
	}
	return text
}

// New returns a Watch that has seen nothing.
func New() *Watch { return &Watch{} }

func (w *Watch) group(number uint32) *group {
	for int(number) >= len(w.groups) {
		w.groups = append(w.groups, group{leaders: map[uint64]uint64{}})
	}
	return &w.groups[number]
}

func (g *group) broker(node uint64) *broker {
	for uint64(len(g.brokers)) < node {
		g.brokers = append(g.brokers, broker{})
	}
	return &g.brokers[node-1]
}

// Begin says that a broker has recovered, and begins a new life.
func (w *Watch) Begin(node uint64) {
	for i := range w.groups {
		w.groups[i].broker(node).alive = false
	}
}

// Forget says that a broker's disk may have lost what it held: nothing is
// expected of its next life.
func (w *Watch) Forget(node uint64) {
	for i := range w.groups {
		w.groups[i].broker(node).durable = View{}
	}
}

// Applied is the highest index of a group that any broker has applied so far.
func (w *Watch) Applied(number uint32) uint64 { return w.group(number).applied }

// Show takes what a broker shows of a group, and says what is wrong with it;
// nil: nothing.
func (w *Watch) Show(node uint64, number uint32, v View) *Breach {
	g := w.group(number)
	b := g.broker(node)
	if b.alive && b.last == v {
		return nil
	}
	who := place{node: node, group: number}
	if found := inOrder(who, v); found != nil {
		return found
	}
	if !b.alive {
		// Entries may have given way to those of a later term: what was written to
		// truncate them, and not synced, can outlast a loss of power too.
		gaveWay := v.Term > b.durable.LastTerm
		if v.Last < b.durable.Last && !gaveWay || v.Applied < b.durable.Applied {
			return breach(Restart, "%s: it comes back with entries up to %d, applied up to %d; its disk held %d, applied %d, when it ended",
				who, v.Last, v.Applied, b.durable.Last, b.durable.Applied)
		}
	} else if v.Term < b.last.Term || v.Commit < b.last.Commit || v.Applied < b.last.Applied {
		return breach(NoWayBack, "%s: term %d, commit %d, applied %d after term %d, commit %d, applied %d",
			who, v.Term, v.Commit, v.Applied, b.last.Term, b.last.Commit, b.last.Applied)
	}
	b.alive, b.last = true, v
	if v.Leads {
		if other, led := g.leaders[v.Term]; led && other != node {
			return breach(OneLeader, "%s: it leads term %d, which broker-%d led", who, v.Term, other)
		}
		g.leaders[v.Term] = node
	}
	return g.appliedBy(who, v)
}

func inOrder(who place, v View) *Breach {
	if v.Applied > v.Commit || v.Applied > v.Last || who.disk && v.Commit > v.Last {
		return breach(Order, "%s: applied %d, commit %d, last %d", who, v.Applied, v.Commit, v.Last)
	}
	return nil
}

// appliedBy compares what was applied up to an index with what others applied.
func (g *group) appliedBy(who place, v View) *Breach {
	for uint64(len(g.chains)) <= v.Applied {
		g.chains = append(g.chains, 0)
	}
	if known := g.chains[v.Applied]; known != 0 && known != v.Chain {
		return breach(SameEntries, "%s: what it applied up to %d has the hash %016x, elsewhere or before %016x", who, v.Applied, v.Chain, known)
	}
	g.chains[v.Applied] = v.Chain
	g.applied = max(g.applied, v.Applied)
	return nil
}

// Ended takes what is durable on a broker's disk at its end; the next life has
// to have it all.
func (w *Watch) Ended(node uint64, number uint32, durable View) *Breach {
	b := w.group(number).broker(node)
	b.durable = durable
	if v := b.last; b.alive && v.GaveTerm > 0 && (durable.Term < v.GaveTerm || durable.Term == v.GaveTerm && durable.Vote != v.Gave) {
		return breach(VoteKept, "%s: it gave broker-%d its vote in term %d, and its disk says term %d, vote %d",
			place{node: node, group: number}, v.Gave, v.GaveTerm, durable.Term, durable.Vote)
	}
	return w.Durable(node, number, durable)
}

// Durable takes what a broker would find on its disk if only what is durable
// were there.
func (w *Watch) Durable(node uint64, number uint32, v View) *Breach {
	who := place{node: node, group: number, disk: true}
	if found := inOrder(who, v); found != nil {
		return found
	}
	return w.group(number).appliedBy(who, v)
}

// Majority takes what is durable on all disks, of a cluster of so many voters,
// at a moment when no disk has lost anything: what anybody has applied is on
// enough of them.
func (w *Watch) Majority(number uint32, durable []View, voters int) *Breach {
	g, have := w.group(number), 0
	for _, v := range durable {
		if v.Last >= g.applied {
			have++
		}
	}
	if have <= voters/2 {
		return breach(DurableMajority, "group %d: entry %d is applied, and durable on %d of %d disks", number, g.applied, have, voters)
	}
	return nil
}
