package faults

// reset tears every connection of the target with an RST: both ends are told
// at once or with the next packet, and what was on its way is gone. It is over
// with that.
func reset() Spec {
	return Spec{
		Kind:     Reset,
		Class:    OfNetwork,
		Does:     "every connection of the target is torn and both ends are told; what was on its way is gone",
		Imitates: "a firewall or load balancer that resets",
		Survives: "what was sent and not yet answered is unknown; the clients connect again",
		ForIs:    "nothing: it is over at once",
		MinFor:   0,
		MaxFor:   0,
		Worlds:   simAndDocker(),
		Roles:    everyRole(),
	}
}
