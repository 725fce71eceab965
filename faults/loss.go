package faults

// loss drops packets between the target and its peers, each way. A byte stream
// shows it as the delay of a retransmission.
func loss() Spec {
	return Spec{
		Kind:     Loss,
		Class:    OfNetwork,
		Does:     "packets are lost, each way; a connection shows it as delay, because they are sent again",
		Imitates: "a bad cable, a queue that overflows",
		Survives: "everything; sends may time out and be unknown",
		ForIs:    "its length",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "peer", Unit: NoNumber, Is: "the process at the other end; without it, every other one", Optional: true},
			{Name: "rate", Unit: InPermille, Is: "packets that are lost", Min: 1, Max: 1000},
		},
		Worlds: simAndDocker(),
		Roles:  everyRole(),
	}
}
