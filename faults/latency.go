package faults

// latency delays every packet between the target and its peers, each way.
func latency() Spec {
	return Spec{
		Kind:     Latency,
		Class:    OfNetwork,
		Does:     "packets take longer, each way",
		Imitates: "a long route, a queue in a switch",
		Survives: "everything; sends may time out and be unknown",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "peer", Unit: NoNumber, Is: "the process at the other end; without it, every other one", Optional: true},
			{Name: "delay", Unit: InNanoseconds, Is: "added to every packet", Min: microsecond, Max: minute},
			{Name: "jitter", Unit: InNanoseconds, Is: "up to so much more, drawn for each packet", Max: minute, Optional: true},
		},
		Worlds: simAndDocker(),
		Roles:  everyRole(),
	}
}
