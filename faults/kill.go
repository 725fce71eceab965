package faults

// kill ends a process as a crash does: SIGKILL, no chance to flush or say
// goodbye. Bytes already handed to the operating system stay; what was in the
// process's own memory is gone. It takes effect with the signal, and has ended
// when the process started again after For is ready.
func kill() Spec {
	return Spec{
		Kind:     Kill,
		Class:    OfProcess,
		Does:     "SIGKILL; the process is started again",
		Imitates: "a crash, the kernel killing for memory, kill -9",
		Survives: "everything acknowledged; what was sent and not yet answered is unknown",
		ForIs:    "from the end of the process to its restart",
		MinFor:   0,
		MaxFor:   10 * minute,
		Worlds:   everyWorld(),
		Roles:    everyRole(),

		TakesAway: true,
	}
}
