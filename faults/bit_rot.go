package faults

// bitRot turns Count bits of what is stored. They turn back when it is healed.
func bitRot() Spec {
	return Spec{
		Kind:     BitRot,
		Class:    OfMedia,
		Does:     "stored bits turn",
		Imitates: "a medium that ages, a cosmic ray",
		Survives: "no corrupted message is delivered: the broker refuses what it finds damaged",
		ForIs:    "from the damage to its healing",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "count", Unit: InNumber, Is: "bits that turn", Min: 1, Max: 1000},
		},
		Worlds: simAndDocker(),
		Roles:  brokersOnly(),

		TakesAway: true,
	}
}
