package faults

// pause freezes a process, as a long collection or a suspended machine does:
// SIGSTOP, and SIGCONT after For. Its connections stay open and silent, so its
// peers see timeouts instead of errors. It takes effect with the signal, and has
// ended when the process runs again.
func pause() Spec {
	return Spec{
		Kind:     Pause,
		Class:    OfProcess,
		Does:     "SIGSTOP, then SIGCONT",
		Imitates: "a long garbage collection, a starved or suspended machine",
		Survives: "everything acknowledged; leases that ran out meanwhile are delivered again",
		ForIs:    "from the freeze to the thaw",
		// Shorter ones cannot be told from a busy machine.
		MinFor: 10 * millisecond,
		MaxFor: 10 * minute,
		Worlds: everyWorld(),
		Roles:  everyRole(),

		TakesAway: true,
	}
}
