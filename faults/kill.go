package faults

// kill ends a process as a crash does: SIGKILL, no chance to flush or say
// goodbye. Bytes already handed to the operating system stay; what was in the
// process's own memory is gone. It takes effect with the
// signal, and has ended when the process started again after For is ready.
func kill() Spec {
	return Spec{
		Kind:   Kill,
		Does:   "SIGKILL; the process is started again",
		ForIs:  "from the end of the process to its restart",
		MinFor: 0,
		MaxFor: 10 * minute,
		Worlds: []string{"process"},
		Roles:  everyRole(),
	}
}
