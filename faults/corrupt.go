package faults

// corrupt turns one bit in some of the packets between brokers, each way, and
// makes their checksums right again, so that no kernel notices. It stays among
// brokers, whose frames have a checksum of their own: NSQ's protocol has none,
// and a bit that turns between a client and a broker accuses the broker of what
// it cannot see.
func corrupt() Spec {
	return Spec{
		Kind:     Corrupt,
		Class:    OfNetwork,
		Does:     "in some packets between brokers a bit turns, each way, and their checksums are made right again",
		Imitates: "memory of a router or a network card that turns bits, behind the checksum of the wire",
		Survives: "everything: what is corrupted is noticed by the broker that receives it, never stored, applied or delivered, and is sent again",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "peer", Unit: NoNumber, Is: "the broker at the other end; without it, every other one", Optional: true},
			{Name: "rate", Unit: InPermille, Is: "packets in which a bit turns", Min: 1, Max: 1000},
		},
		Worlds: simAndDocker(),
		Roles:  brokersOnly(),

		Cluster: true,
		Among:   Broker,
	}
}
