package faults

// misdirectedWrite makes writes land at another place of the same file, though
// they are reported as done. When it is healed, each is where it belongs.
func misdirectedWrite() Spec {
	return Spec{
		Kind:     MisdirectedWrite,
		Class:    OfMedia,
		Does:     "writes that are reported as done land at another place of the file",
		Imitates: "firmware that mixes up addresses",
		Survives: "no corrupted message is delivered: the broker refuses what it finds damaged",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "rate", Unit: InPermille, Is: "writes that land elsewhere", Min: 1, Max: 1000},
		},
		Worlds: simAndDocker(),
		Roles:  brokersOnly(),

		TakesAway: true,
	}
}
