package faults

// diskFull leaves no room on the disk: files cannot be made and do not grow.
// What has its space already can be written.
func diskFull() Spec {
	return Spec{
		Kind:     DiskFull,
		Class:    OfDisk,
		Does:     "there is no room for a new file or for a file to grow",
		Imitates: "a disk that fills up, a quota",
		Survives: "publishes are refused and so have failed; deliveries go on; when there is room again, all goes on",
		ForIs:    "from no room to room again",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Worlds:   simAndDocker(),
		Roles:    brokersOnly(),

		TakesAway: true,
	}
}
