package faults

// cut lets nothing pass between two processes, either way. What is on its way
// waits like a lost packet.
func cut() Spec {
	return Spec{
		Kind:     Cut,
		Class:    OfNetwork,
		Does:     "nothing passes between two processes, and neither is told",
		Imitates: "a firewall rule, a route that is gone",
		Survives: "sends time out and are unknown; afterwards all goes on",
		ForIs:    "from the cut to its healing",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "peer", Unit: NoNumber, Is: "the process at the other end"},
		},
		Worlds: simAndDocker(),
		Roles:  everyRole(),
	}
}
