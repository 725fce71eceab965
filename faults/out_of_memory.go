package faults

// outOfMemory lets the kernel kill the process because it has no memory left to
// give it. For the process it is a kill; what is tested beside it is whoever
// reads the exit code and starts it again. It takes effect at the kill, and has
// ended when the process started again after For is ready.
func outOfMemory() Spec {
	return Spec{
		Kind:     OutOfMemory,
		Class:    OfProcess,
		Does:     "the kernel kills the process for want of memory; the process is started again",
		Imitates: "a limit of memory that is too low, a leak, a neighbour that takes it all",
		Survives: "everything acknowledged; what was sent and not yet answered is unknown",
		ForIs:    "from the end of the process to its restart",
		MinFor:   0,
		MaxFor:   10 * minute,
		Worlds:   simAndDocker(),
		Roles:    everyRole(),

		TakesAway: true,
	}
}
