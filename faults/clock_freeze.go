package faults

// clockFreeze stops both clocks of the broker. The broker goes on with
// everything that waits for no time.
func clockFreeze() Spec {
	return Spec{
		Kind:     ClockFreeze,
		Class:    OfClock,
		Does:     "both clocks stand still; what waits for a time waits on",
		Imitates: "a virtual machine that is moved",
		Survives: "everything; leases, heartbeats and delays are late by as much",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Worlds:   simAndDocker(),
		Roles:    brokersOnly(),

		TakesAway: true,
	}
}
