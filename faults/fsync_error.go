package faults

// fsyncError fails the next Count syncs as Linux does: the error is reported
// once, and the pages count as clean from then on though they are not durable.
// Syncs that have not come until For are let off.
func fsyncError() Spec {
	return Spec{
		Kind:     FsyncError,
		Class:    OfDisk,
		Does:     "the next syncs fail, and what they should have made durable is silently not",
		Imitates: "a device error that the page cache reports once",
		Survives: "nothing that was not durable is acknowledged; the broker ends itself and is started again",
		ForIs:    "until then a sync can fail",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "count", Unit: InNumber, Is: "syncs that fail", Min: 1, Max: 1000},
		},
		Worlds: simAndDocker(),
		Roles:  brokersOnly(),

		TakesAway: true,
	}
}
