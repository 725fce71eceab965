package faults

// diskWriteShort fails the next Count writes after a part of their bytes. Those
// that have not come until For are let off.
func diskWriteShort() Spec {
	return Spec{
		Kind:     DiskWriteShort,
		Class:    OfDisk,
		Does:     "the next writes fail after a part of their bytes",
		Imitates: "a quota or a device error in the middle of a write",
		Survives: "nothing acknowledged is lost; the broker may end itself and is started again",
		ForIs:    "until then a write can fail",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "count", Unit: InNumber, Is: "writes that fail", Min: 1, Max: 1000},
		},
		Worlds: simAndDocker(),
		Roles:  brokersOnly(),

		TakesAway: true,
	}
}
