package faults

// silence lets all packets from and to the target vanish, without FIN or RST:
// the others find out by heartbeats and timeouts only. Connections that nobody
// gave up meanwhile go on afterwards.
func silence() Spec {
	return Spec{
		Kind:     Silence,
		Class:    OfNetwork,
		Does:     "nothing from or to the target arrives, and nobody is told",
		Imitates: "a pulled cable, a machine that hangs",
		Survives: "the broker notices by heartbeat and delivers elsewhere; afterwards all goes on",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Worlds:   simAndDocker(),
		Roles:    everyRole(),
	}
}
