package sim

import (
	"pestle/broker/core"
	"pestle/sim/invariant"
)

// groupsOf is how many groups a core has, the metadata's included.
func groupsOf(c *core.Core) uint32 { return uint32(c.Groups()) }

// viewOf is what a core shows of a group.
func viewOf(c *core.Core, group uint32) invariant.View {
	v := c.View(group)
	return invariant.View{
		Leads: v.Role == core.Leader, Term: v.Term, Commit: v.Commit, Applied: v.Applied, Last: v.Last, LastTerm: v.LastTerm, Chain: v.Chain,
		Vote: v.Vote, GaveTerm: v.GaveTerm, Gave: v.Gave,
	}
}

// peersOf is what the leader of a group says of the others.
func peersOf(c *core.Core, group uint32) []core.PeerStats { return c.Stats().Groups[group].Peers }
