package faults

// cpuSlow leaves the process a small share of a processor: whatever it computes
// takes Factor times as long, and what comes meanwhile waits. Its disk and its
// network are as quick as ever.
func cpuSlow() Spec {
	return Spec{
		Kind:     CPUSlow,
		Class:    OfProcess,
		Does:     "the process gets a small share of a processor: all it computes takes several times as long",
		Imitates: "a container that is throttled, a noisy neighbour, a processor that is too hot",
		Survives: "everything; sends may time out and be unknown, leases that ran out meanwhile are delivered again",
		ForIs:    "its length",
		// Processors are given out in periods of 100 ms.
		MinFor: 100 * millisecond,
		MaxFor: 10 * minute,
		Params: []Param{
			// The kernel gives no share under a hundredth.
			{Name: "factor", Unit: InNumber, Is: "how many times as long; the share is one processor divided by it", Min: 2, Max: 100},
		},
		Worlds: simAndDocker(),
		Roles:  everyRole(),
	}
}
