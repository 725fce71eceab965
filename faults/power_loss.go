package faults

// powerLoss takes the current from the broker's machine: written bytes that no
// sync made durable are kept, dropped or torn as the disk pleases, and peers
// are told nothing. It takes effect at once, and has ended when the broker
// started again after For is ready.
func powerLoss() Spec {
	return Spec{
		Kind:     PowerLoss,
		Class:    OfProcess,
		Does:     "the machine loses its power: unsynced bytes may be gone or torn, peers are told nothing; the broker is started again",
		Imitates: "a power cut, a kernel panic, a hypervisor that dies",
		Survives: "everything acknowledged",
		ForIs:    "from the loss to the restart",
		MinFor:   0,
		MaxFor:   10 * minute,
		Worlds:   simAndDocker(),
		Roles:    brokersOnly(),

		TakesAway: true,
	}
}
