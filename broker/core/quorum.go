package core

import "pestle/broker/replica"

// What a node can say of a group's quorum follows one table:
//
//	             lag        caught up   no leader   leader     waited
//	healthy      degraded   ·           electing    ·          read-only
//	degraded     ·          healthy     electing    ·          read-only
//	electing     ·          ·           ·           healthy    read-only
//	read-only    ·          ·           ·           healthy    ·
//
// lag and caught up are for the leader to see; waited: no leader was known, or
// nothing was committed that waits, for patienceTicks. Read-only ends by
// itself, as soon as there is a leader under which something is committed.

// quorumSign is what is seen at a tick.
type quorumSign uint8

const (
	signLag quorumSign = iota
	signCaughtUp
	signNoLeader
	signLeader
	signWaited
	quorumSigns // how many there are
)

// patienceTicks is how long a node goes on to hope: more than two elections
// take.
const patienceTicks = 4 * replica.ElectionTicks

// after is the table.
func (q QuorumState) after(sign quorumSign) QuorumState {
	switch sign {
	case signLag:
		if q == Healthy {
			return Degraded
		}
	case signCaughtUp:
		if q == Degraded {
			return Healthy
		}
	case signNoLeader:
		if q == Healthy || q == Degraded {
			return Electing
		}
	case signLeader:
		if q == Electing || q == ReadOnly {
			return Healthy
		}
	case signWaited:
		return ReadOnly
	}
	return q
}

// quorum is what a node can say of one group.
type quorum struct {
	state  QuorumState
	waited int // ticks without a leader, or without progress of what waits
	commit uint64
}

// watch looks at a group at each tick.
func (c *Core) watch(_ Time, s *seat, fx *Effects) {
	before := s.quorum.state
	for _, sign := range c.signs(s) {
		s.quorum.state = s.quorum.state.after(sign)
	}
	if s.quorum.state == before {
		return
	}
	level := Info
	switch s.quorum.state {
	case ReadOnly:
		level = Error
		fx.point(PointReadOnly)
	case Degraded:
		level = Warn
		fx.point(PointDegraded)
	case Electing:
		fx.point(PointElecting)
	case Healthy:
		fx.point(PointHealthyAgain)
	}
	fx.log(level, "group %d: %s, was %s", s.id, s.quorum.state, before)
}

func (c *Core) signs(s *seat) []quorumSign {
	q, st := &s.quorum, s.group.Status()
	waits := st.Lead == 0 || s.open == 0 || s.leads && s.stalled(st)
	if st.Commit > q.commit || !waits {
		q.waited = 0
	} else {
		q.waited++
	}
	q.commit = st.Commit
	switch {
	case q.waited >= patienceTicks:
		return []quorumSign{signWaited}
	case st.Lead == 0:
		return []quorumSign{signNoLeader}
	case s.open == 0 || s.leads && s.stalled(st) && q.state == ReadOnly:
		return nil
	case !s.leads:
		return []quorumSign{signLeader, signCaughtUp}
	}
	for _, p := range s.group.Peers() {
		if !c.active(p.Node) || p.Behind || p.Match+4*nearlyThere < s.applied {
			return []quorumSign{signLeader, signLag}
		}
	}
	return []quorumSign{signLeader, signCaughtUp}
}

// stalled reports that a leader has entries that are not committed.
func (s *seat) stalled(st replica.Status) bool { return st.Last > st.Commit }

// The codes of what a client is denied for want of a quorum.
const (
	codeReadOnly   = "READ_ONLY_DEGRADED" // nothing was written
	codeQuorumLost = "QUORUM_LOST"        // it may have been written, or be written yet
)

// refusal says why a change of a group is denied at once, if it is.
func (c *Core) refusal(group uint32) (why string, refused bool) {
	if c.quarantine != "" {
		return "this node is in quarantine: " + c.quarantine, true
	}
	if c.seat(group).quorum.state == ReadOnly {
		return "no majority of the nodes answers: nothing was written, try again", true
	}
	return "", false
}
