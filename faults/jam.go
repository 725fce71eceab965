package faults

// jam holds all that is sent between the target and its peers, and lets it go
// in one burst when it is healed: nothing is lost, everything is old.
func jam() Spec {
	return Spec{
		Kind:     Jam,
		Class:    OfNetwork,
		Does:     "what is sent from or to the target is held back, and all of it arrives in one burst at the end",
		Imitates: "a switch that buffers while it is busy, a virtual machine that is moved with its queues",
		Survives: "everything; sends may time out and be unknown, and what was long given up arrives after all",
		ForIs:    "from the first packet held to the burst",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "peer", Unit: NoNumber, Is: "the process at the other end; without it, every other one", Optional: true},
		},
		Worlds: simAndDocker(),
		Roles:  everyRole(),
	}
}
