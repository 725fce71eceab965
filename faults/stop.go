package faults

// stop asks a process to end in order, as a deployment does: SIGTERM, then
// wait. It takes effect with the signal, and has ended when the process started
// again after For is ready. Nothing may be lost or forgotten by it.
func stop() Spec {
	return Spec{
		Kind:     Stop,
		Class:    OfProcess,
		Does:     "SIGTERM and wait for the end; the process is started again",
		Imitates: "a deployment, a reboot in order",
		Survives: "everything acknowledged",
		ForIs:    "from the end of the process to its restart",
		MinFor:   0,
		MaxFor:   10 * minute,
		Worlds:   everyWorld(),
		Roles:    everyRole(),

		TakesAway: true,
	}
}
