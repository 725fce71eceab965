package sim

import (
	"pestle/broker/core"
	"pestle/sim/invariant"
)

// A core of one broker shows nothing of its groups.

func groupsOf(*core.Core) uint32 { return 0 }

func viewOf(*core.Core, uint32) invariant.View { return invariant.View{} }

func peersOf(*core.Core, uint32) []core.PeerStats { return nil }
