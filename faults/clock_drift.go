package faults

// clockDrift makes both clocks of the broker run fast or slow. Heartbeats and
// leases shrink or stretch with it.
func clockDrift() Spec {
	return Spec{
		Kind:     ClockDrift,
		Class:    OfClock,
		Does:     "both clocks run fast or slow",
		Imitates: "an oscillator that is warm, a virtual machine that loses ticks",
		Survives: "everything; leases and heartbeats are as wrong as the clock",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "drift", Unit: InPPM, Is: "millionths by which the clocks run fast, or slow when negative", Min: -100_000, Max: 100_000},
		},
		Worlds: simAndDocker(),
		Roles:  brokersOnly(),
	}
}
