package faults

// duplicate makes some of the packets between the target and its peers arrive
// twice, each way. A byte stream does not show it.
func duplicate() Spec {
	return Spec{
		Kind:     Duplicate,
		Class:    OfNetwork,
		Does:     "some packets arrive twice, each way; a connection does not show it",
		Imitates: "a loop in a network, a retransmission of what was not lost",
		Survives: "everything, as if nothing had happened",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "peer", Unit: NoNumber, Is: "the process at the other end; without it, every other one", Optional: true},
			{Name: "rate", Unit: InPermille, Is: "packets that arrive twice", Min: 1, Max: 1000},
		},
		Worlds: simAndDocker(),
		Roles:  everyRole(),
	}
}
