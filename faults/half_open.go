package faults

// halfOpen tears every connection of the target and tells the target alone. For
// so long its peers hear nothing, whatever they send; afterwards what they send
// is answered with an RST. New connections can be made all the time.
func halfOpen() Spec {
	return Spec{
		Kind:     HalfOpen,
		Class:    OfNetwork,
		Does:     "every connection of the target is torn and only the target is told",
		Imitates: "a peer that crashed and came back, a firewall that drops",
		Survives: "what was sent and not yet answered is unknown; the broker frees what a dead connection held",
		ForIs:    "how long the peers are not told",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Worlds:   simAndDocker(),
		Roles:    everyRole(),
	}
}
