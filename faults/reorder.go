package faults

// reorder makes some of the packets between the target and its peers come
// later, each way, so that those behind overtake them. A byte stream keeps its
// order and shows it as delay: what overtook waits for what is missing.
func reorder() Spec {
	return Spec{
		Kind:     Reorder,
		Class:    OfNetwork,
		Does:     "some packets come later, each way, and are overtaken; a connection shows it as delay, because it keeps its order",
		Imitates: "routes of different length, a network card with several queues",
		Survives: "everything; sends may time out and be unknown",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "peer", Unit: NoNumber, Is: "the process at the other end; without it, every other one", Optional: true},
			{Name: "rate", Unit: InPermille, Is: "packets that come later", Min: 1, Max: 1000},
			{Name: "delay", Unit: InNanoseconds, Is: "by how much", Min: microsecond, Max: minute},
		},
		Worlds: simAndDocker(),
		Roles:  everyRole(),
	}
}
