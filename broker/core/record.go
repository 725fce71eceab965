package core

import (
	"encoding/binary"
	"fmt"

	"pestle/broker/journal"
	"pestle/broker/plant"
	"pestle/broker/replica"
)

// Kinds of records that are no entries. What they hold begins with a version
// byte, like an entry.
const (
	recordCheckpoint = 32 // a group's members and whole state, without what it says of messages
	recordHard       = 33 // term, vote and commit index of a group
	recordSnapshot   = 34 // a group's members and whole state, from another node
	recordBodies     = 35 // bodies for the snapshot behind it
	recordIdentity   = 36 // who this node is, and whom it has met
	recordMoved      = 37 // a message whose file is to go
)

// hardSize is the longest recordHard in bytes.
const hardSize = 1 + 3*binary.MaxVarintLen64

// hardRecord says what a node stands by in a group: its term and vote, and how
// far it knows the log to be committed.
func (c *Core) hardRecord(s *seat, h replica.Hard, commit uint64) journal.Record {
	if c.cfg.Plant.Is(plant.VoteForgotten) {
		h.Vote = 0
	}
	if c.cfg.Plant.Is(plant.TermForgotten) {
		h.Term, h.Vote = s.appliedTerm, 0
	}
	payload := appendUint(appendUint(appendUint([]byte{entryVersion}, h.Term), h.Vote), commit)
	return journal.Record{Group: s.id, Kind: recordHard, Term: h.Term, Payload: payload}
}

func decodeHard(in []byte) (replica.Hard, error) {
	d := newDecoder(in)
	h := replica.Hard{Term: d.uint(), Vote: d.uint(), Commit: d.uint()}
	return h, d.end()
}

func (c *Core) checkpointRecord(s *seat) journal.Record {
	payload := replica.AppendConf([]byte{entryVersion}, s.log.Conf)
	payload = binary.LittleEndian.AppendUint64(payload, s.chain)
	return journal.Record{
		Group: s.id, Kind: recordCheckpoint, Index: s.applied, Term: s.appliedTerm,
		Payload: append(payload, c.stateOf(s)...),
	}
}

// stateOf is a group's whole state, without the index of its messages.
func (c *Core) stateOf(s *seat) []byte {
	if s.id == 0 {
		return c.meta.checkpoint()
	}
	return c.group(s.id).checkpoint()
}

// cutState reads what stands before the state in a checkpoint or a snapshot.
func cutState(payload []byte) (conf replica.Conf, chain uint64, state []byte, err error) {
	if len(payload) == 0 || payload[0] != entryVersion {
		return conf, 0, nil, fmt.Errorf("a state has no version %d", entryVersion)
	}
	conf, rest, err := replica.CutConf(payload[1:])
	if err == nil && len(rest) < 8 {
		err = errShort
	}
	if err != nil {
		return conf, 0, nil, fmt.Errorf("the members of a group: %w", err)
	}
	return conf, binary.LittleEndian.Uint64(rest), rest[8:], nil
}
