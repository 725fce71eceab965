package faults

// diskReadError fails reads with an I/O error; the same read may succeed the
// next time.
func diskReadError() Spec {
	return Spec{
		Kind:     DiskReadError,
		Class:    OfDisk,
		Does:     "reads fail with an I/O error; tried again they may succeed",
		Imitates: "a sector that is hard to read, a cable that is loose",
		Survives: "nothing is lost: a message that cannot be read now is delivered later",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "rate", Unit: InPermille, Is: "reads that fail", Min: 1, Max: 1000},
		},
		Worlds: simAndDocker(),
		Roles:  brokersOnly(),
	}
}
