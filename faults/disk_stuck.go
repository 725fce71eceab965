package faults

// diskStuck holds back the completion of every operation of the disk until it
// is healed.
func diskStuck() Spec {
	return Spec{
		Kind:     DiskStuck,
		Class:    OfDisk,
		Does:     "no operation of the disk completes",
		Imitates: "a storage network that hangs, a controller that resets",
		Survives: "nothing is acknowledged meanwhile; afterwards all goes on",
		ForIs:    "from the first operation that hangs to the moment all complete",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Worlds:   simAndDocker(),
		Roles:    brokersOnly(),

		TakesAway: true,
	}
}
