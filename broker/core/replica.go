package core

import (
	"fmt"

	"pestle/broker/journal"
	"pestle/broker/plant"
)

// replicator orders entries. Everything above it lives on two promises: what
// Committed returns has a fixed place in its group's order, on every node and
// for ever, and entries of one group come in that order. A proposal either
// comes back so, or refused, or, when the node ends first, not at all.
type replicator interface {
	// Propose hands in an entry.
	Propose(p proposal)
	// Admits reports whether a proposal of so many bytes, of the kind that
	// may be refused, would be accepted; why not, if not.
	Admits(size int) (why string, ok bool)
	// Next returns the next thing to act on.
	Next() (outcome, bool)
	// Advance issues what can be issued now. All outcomes must have been
	// taken.
	Advance(now Time, fx *Effects)
	// Idle reports that every proposal has come back.
	Idle() bool
}

// proposal is an entry that its group has not ordered yet.
type proposal struct {
	group     uint32
	kind      uint8
	payload   []byte
	ticket    uint64 // the proposer's; comes back with the outcome; 0: nobody waits
	essential bool   // never refused: it frees messages
}

// outcome is an entry that is committed, or, with a reason, refused for good.
type outcome struct {
	proposal
	index   uint64
	where   journal.Position // of the payload
	refused string           // empty: committed
}

// firstTerm is the term of every entry while there is one voter.
const firstTerm = 1

// soleVoter is the replicator of a node that is its own majority: an entry is
// committed when its batch is durable, or at once with Memory.
type soleVoter struct {
	w        *writer
	queue    []proposal // no place in the journal yet
	queued   int64      // bytes of records in queue
	flying   []outcome  // in the batch whose sync is outstanding
	outcomes []outcome
	index    map[uint32]uint64 // of the last entry placed, by group
	flush    bool              // Memory: gather no longer, a stop is coming
}

func newSoleVoter(w *writer) *soleVoter {
	return &soleVoter{w: w, index: map[uint32]uint64{}}
}

func (v *soleVoter) Propose(p proposal) {
	v.queue = append(v.queue, p)
	v.queued += journal.RecordSize(len(p.payload))
}

func (v *soleVoter) Admits(size int) (string, bool) {
	if v.w.ahead != nil || v.w.why == "" {
		return "", true
	}
	if v.w.room()-v.queued-journal.RecordSize(size) >= v.w.reserve() {
		return "", true
	}
	return "the journal is full and its next file cannot be made: " + v.w.why, false
}

func (v *soleVoter) Next() (outcome, bool) {
	if len(v.outcomes) == 0 {
		return outcome{}, false
	}
	o := v.outcomes[0]
	v.outcomes[0] = outcome{}
	v.outcomes = v.outcomes[1:]
	return o, true
}

// settled reports that Advance has nothing new to act on.
func (v *soleVoter) settled() bool { return len(v.outcomes) == 0 }

func (v *soleVoter) Idle() bool {
	return len(v.queue) == 0 && len(v.flying) == 0 && len(v.outcomes) == 0 && len(v.w.open) == 0
}

func (v *soleVoter) Advance(now Time, fx *Effects) {
	w := v.w
	if len(v.outcomes) > 0 {
		panic("core: the replicator advances over outcomes that were not taken")
	}
	if w.turnable() {
		w.turn(w.core.checkpoint(v.index), fx)
	}
	if w.memory {
		v.gather(now, fx)
		return
	}
	if w.syncing != 0 {
		return
	}
	if w.core.cfg.Plant.Is(plant.AckBeforeFsync) {
		v.place(&v.outcomes)
	} else {
		v.place(&v.flying)
	}
	if len(w.open) > 0 {
		w.write(now, fx)
		w.sync(fx)
	} else if len(v.queue) > 0 {
		w.seal(now, fx)
	}
}

// gather is Advance with Memory: a place in the open batch is all that an
// entry needs, and batches are written when they are large.
func (v *soleVoter) gather(now Time, fx *Effects) {
	w := v.w
	v.place(&v.outcomes)
	full := len(v.queue) > 0
	if len(w.open) > 0 && (full || v.flush || w.openLen >= memoryGather) {
		w.write(now, fx)
	}
	if w.syncing == 0 && w.durable != w.end() && w.at > journal.FileHeaderSize {
		w.sync(fx)
	}
	if full && len(w.open) == 0 && len(v.outcomes) == 0 {
		w.seal(now, fx)
	}
}

// place gives the first proposals their places, as far as the file has room.
func (v *soleVoter) place(placed *[]outcome) {
	n := 0
	for _, p := range v.queue {
		index := v.index[p.group] + 1
		where, ok := v.w.put(journal.Record{Group: p.group, Kind: p.kind, Index: index, Term: firstTerm, Payload: p.payload})
		if !ok {
			break
		}
		v.index[p.group] = index
		v.queued -= journal.RecordSize(len(p.payload))
		*placed = append(*placed, outcome{proposal: p, index: index, where: where})
		n++
	}
	rest := copy(v.queue, v.queue[n:])
	clear(v.queue[rest:])
	v.queue = v.queue[:rest]
}

// durable turns what was in the synced batch into outcomes.
func (v *soleVoter) durable() {
	v.outcomes = append(v.outcomes, v.flying...)
	clear(v.flying)
	v.flying = v.flying[:0]
}

// refuse gives up on the proposals that would not fit into the current file,
// when no next one can be made.
func (v *soleVoter) refuse() {
	kept := v.queue[:0]
	waiting := v.queue
	v.queued = 0
	for _, p := range waiting {
		why, ok := v.Admits(len(p.payload))
		if !ok && !p.essential {
			v.outcomes = append(v.outcomes, outcome{proposal: p, refused: why})
			continue
		}
		v.queued += journal.RecordSize(len(p.payload))
		kept = append(kept, p)
	}
	clear(waiting[len(kept):])
	v.queue = kept
}

// abandon drops what has no place in the journal yet and returns how much that
// is. It never comes back to whoever proposed it: the node ends.
func (v *soleVoter) abandon() int {
	n := len(v.queue)
	clear(v.queue)
	v.queue, v.queued = v.queue[:0], 0
	return n
}

// checkpoint returns the replicated state of all groups as records.
func (c *Core) checkpoint(index map[uint32]uint64) []journal.Record {
	records := []journal.Record{{
		Group: 0, Kind: kindCheckpoint, Index: index[0], Term: firstTerm, Payload: c.meta.checkpoint(),
	}}
	for i, g := range c.groups {
		group := uint32(i + 1)
		records = append(records, journal.Record{
			Group: group, Kind: kindCheckpoint, Index: index[group], Term: firstTerm, Payload: g.checkpoint(),
		})
	}
	return records
}

// failed is what the process says when the disk gives up.
func failed(what, why string) string {
	return fmt.Sprintf("%s failed, so nothing more can be promised; what was acknowledged is safe, look at the disk and start again: %s", what, why)
}
