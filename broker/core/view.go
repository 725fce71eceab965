package core

// GroupView is where a node stands in a group, for whoever compares nodes. It
// is cheap enough to be asked after every step.
type GroupView struct {
	Role     Role
	Term     uint64
	Lead     uint64 // 0: none known
	Leads    bool   // it acts as leader: everything of earlier terms is applied
	Commit   uint64
	Applied  uint64
	Last     uint64 // of the entries with a place in the journal …
	LastTerm uint64 // … and its term
	Chain    uint64 // hash over all entries up to Applied: equal on nodes that have applied the same
	Vote     uint64 // node that it votes for in Term; 0: none yet
	GaveTerm uint64 // term of the last vote that it has given to another node in this life; 0: none
	Gave     uint64 // that node
}

// Groups is how many groups the node knows, the metadata's included.
func (c *Core) Groups() int { return len(c.seats) }

// View returns where the node stands in a group, which must be below Groups.
func (c *Core) View(group uint32) GroupView {
	s := c.seats[group]
	v := GroupView{Applied: s.applied, Chain: s.chain, Last: s.log.Last(), Commit: s.log.Hard.Commit, Term: s.log.Hard.Term, Leads: s.leads, Vote: s.log.Hard.Vote, GaveTerm: s.gaveTerm, Gave: s.gave}
	v.LastTerm, _ = s.log.Term(v.Last)
	if s.group == nil {
		return v
	}
	st := s.group.Status()
	v.Role, v.Term, v.Vote, v.Lead, v.Commit = roleOf(st.Leader, st.Elects, st.Learner), st.Term, st.Vote, st.Lead, st.Commit
	return v
}

func roleOf(leader, elects, learner bool) Role {
	switch {
	case leader:
		return Leader
	case elects:
		return Candidate
	case learner:
		return LearnerRole
	}
	return Follower
}

// TakesPart reports whether the node votes and acknowledges.
func (c *Core) TakesPart() bool { return c.identity.born && c.quarantine == "" }

// Quarantined says why the node takes part in nothing; empty: it does.
func (c *Core) Quarantined() string { return c.quarantine }

// Stats returns one consistent snapshot, as ReqStats does.
func (c *Core) Stats() *Stats { return c.stats("", "") }
