package faults

// refuse stands a firewall before the target that rejects: the connections it
// has are torn, both ends are told, and whoever tries to connect is refused at
// once. What brokers tell each other does not arrive, either way.
func refuse() Spec {
	return Spec{
		Kind:     Refuse,
		Class:    OfNetwork,
		Does:     "the connections of the target are torn, and who tries again is refused at once",
		Imitates: "a firewall rule that rejects, a port that is closed for a while",
		Survives: "sends fail at once, and those that had no answer yet are unknown; clients go to another broker, or come back afterwards",
		ForIs:    "from the tearing to the moment that connections can be made again",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "peer", Unit: NoNumber, Is: "the process at the other end; without it, every other one", Optional: true},
		},
		Worlds: simAndDocker(),
		Roles:  brokersOnly(),
	}
}
