// Package plant is the list of bugs that can be planted in the broker, to see
// whether the harness finds them. Each is one wrong decision that a real broker
// has taken, switched on by name in a program built with -tags plant. In any
// other program Is is a constant false and the compiler leaves the wrong branch
// out. The package decides nothing itself: the code that goes wrong asks.
//
//	cfg.Plant, err = plant.Find("ack-before-fsync")
//	…
//	if cfg.Plant.Is(plant.AckBeforeFsync) {
//		// acknowledge now
//	}
//
//det:ring0
package plant

import (
	"fmt"
	"strings"
)

// ID names one planted bug. The zero value is none.
type ID uint8

// The planted bugs; All tells about each.
const (
	None ID = iota
	AckBeforeFsync
	FsyncErrorIgnored
	TornTailAccepted
	FinishLostAtRecovery
	LeaseForgotten
	ReadyOverrun
	DeferralDroppedAtRestart
	MapOrder
	MinorityAck
	VoteForgotten
	TermForgotten
	TruncationForgotten
	HeadAheadOfLog
	PriorTermCommit
	ForwardedTwiceTaken
	WipedNodeVotes
	StaleRecordsReplayed
)

// Bug is what there is to know of a planted bug.
type Bug struct {
	ID       ID
	Name     string
	Does     string // what goes wrong, one sentence
	Property string // slug of the property that should catch it; empty: only a run that is repeated shows it
}

// All returns the planted bugs, in the order of their IDs.
func All() []Bug {
	return []Bug{
		{AckBeforeFsync, "ack-before-fsync", "a change is committed before its batch is synced", "no-data-loss"},
		{FsyncErrorIgnored, "fsync-error-ignored", "a failed sync of the journal counts as done", "no-data-loss"},
		{TornTailAccepted, "torn-tail-accepted", "recovery takes a torn batch for a whole one", "no-data-corruption"},
		{FinishLostAtRecovery, "finish-lost-at-recovery", "recovery leaves out which messages were finished", "ack-finality"},
		{LeaseForgotten, "lease-forgotten", "a delivery never times out while its consumer is connected", "drain"},
		{ReadyOverrun, "ready-overrun", "a consumer gets one message more than its RDY allows", "flow-control"},
		{DeferralDroppedAtRestart, "deferral-dropped-at-restart", "after a restart deferred messages are due at once", "not-early"},
		{MapOrder, "map-order", "a stop closes the connections in an order that differs from run to run", ""},
		{MinorityAck, "minority-ack", "a leader acknowledges a publish that only its own journal has", "no-data-loss"},
		{VoteForgotten, "vote-forgotten", "a vote is given before it is durable", "invariants"},
		{TermForgotten, "term-forgotten", "a node answers in a term that its journal does not know", "invariants"},
		{TruncationForgotten, "truncation-forgotten", "after a restart entries are back that gave way to a new leader's", "invariants"},
		{HeadAheadOfLog, "head-ahead-of-log", "what a journal file begins with counts entries as committed that are not", "invariants"},
		{PriorTermCommit, "prior-term-commit", "a leader counts an earlier term's entries as committed once a majority has them", "invariants"},
		{ForwardedTwiceTaken, "forwarded-twice-taken", "a leader takes a forwarded publish that it has taken before", "delivery-guarantee"},
		{WipedNodeVotes, "wiped-node-votes", "a node that has lost its data goes on under its old id", "invariants"},
		{StaleRecordsReplayed, "stale-records-replayed", "what a journal file held in an earlier life is taken for its own", "invariants"},
	}
}

// Is reports whether id is that bug: never in a program built without the tag.
func (id ID) Is(bug ID) bool { return Built && id == bug }

// Find returns the planted bug of a name, None for an empty one. An error says
// that there is none of the name, or that this program has none at all.
func Find(name string) (ID, error) {
	if name == "" {
		return None, nil
	}
	var names []string
	for _, b := range All() {
		if b.Name == name && !Built {
			return None, fmt.Errorf("the planted bug %s is not in this program: build one that has it with go build -tags plant ./cmd/pestle", name)
		}
		if b.Name == name {
			return b.ID, nil
		}
		names = append(names, b.Name)
	}
	return None, fmt.Errorf("there is no planted bug %q; there are %s, in a program built with -tags plant", name, strings.Join(names, ", "))
}
