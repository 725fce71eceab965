package faults

// diskSlow makes every operation of the disk take Factor times as long.
func diskSlow() Spec {
	return Spec{
		Kind:     DiskSlow,
		Class:    OfDisk,
		Does:     "every operation of the disk takes several times as long",
		Imitates: "a disk near its end, a noisy neighbour, a rebuild of an array",
		Survives: "everything; sends may time out and be unknown",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "factor", Unit: InNumber, Is: "how many times as long", Min: 2, Max: 10_000},
		},
		Worlds: simAndDocker(),
		Roles:  brokersOnly(),
	}
}
