package faults

// lostWrite makes writes that are reported as done not land at all. When it is
// healed, they have landed.
func lostWrite() Spec {
	return Spec{
		Kind:     LostWrite,
		Class:    OfMedia,
		Does:     "writes that are reported as done do not land; reads find the old bytes",
		Imitates: "firmware that drops a write",
		Survives: "no corrupted message is delivered: the broker refuses what it finds damaged",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "rate", Unit: InPermille, Is: "writes that do not land", Min: 1, Max: 1000},
		},
		Worlds: simAndDocker(),
		Roles:  brokersOnly(),

		TakesAway: true,
	}
}
