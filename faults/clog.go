package faults

// clog narrows the links between the target and its peers, each way on its own:
// bytes queue up behind one another.
func clog() Spec {
	return Spec{
		Kind:     Clog,
		Class:    OfNetwork,
		Does:     "the links of the target carry few bytes per second each",
		Imitates: "a link that is full, a slow receiver",
		Survives: "everything; sends may time out and be unknown",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "peer", Unit: NoNumber, Is: "the process at the other end; without it, every other one", Optional: true},
			{Name: "bytes_per_second", Unit: InBytes, Is: "what the link carries, each way", Min: 1, Max: 1 << 30},
			{Name: "delay", Unit: InNanoseconds, Is: "added to every packet", Max: minute, Optional: true},
		},
		Worlds: simAndDocker(),
		Roles:  everyRole(),
	}
}
