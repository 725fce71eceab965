package faults

// clockJump sets the broker's wall clock by Offset, and back after For. The
// monotonic clock is not touched.
func clockJump() Spec {
	return Spec{
		Kind:     ClockJump,
		Class:    OfClock,
		Does:     "the wall clock is set forward or back, and set right again",
		Imitates: "a time server that errs, an operator that sets the clock",
		Survives: "everything; only delays that span a restart may be off by the offset",
		ForIs:    "from the jump to the jump back",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "offset", Unit: InNanoseconds, Is: "how far the clock is set forward, or back when negative", Min: -maxOffset, Max: maxOffset},
		},
		Worlds: simAndDocker(),
		Roles:  brokersOnly(),
	}
}

// maxOffset is a day: further off, nothing new can happen.
const maxOffset = 24 * 60 * minute
