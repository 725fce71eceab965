package faults

// wipe kills a broker of a cluster and empties its data directory. What comes
// back under the old id has forgotten what it voted for and acknowledged: it
// has to notice that, take part in nothing and say so. The fault takes effect
// with the signal, and has ended when the process started again after For
// answers.
func wipe() Spec {
	return Spec{
		Kind:      Wipe,
		Class:     OfMedia,
		Does:      "the broker is killed and its data directory emptied; it is started again under its old id",
		Imitates:  "a disk that was swapped, a container without its volume",
		Survives:  "everything acknowledged: the others go on, and the broker takes part in nothing until it is replaced",
		ForIs:     "from the end of the process to its restart",
		MinFor:    0,
		MaxFor:    10 * minute,
		Worlds:    everyWorld(),
		Roles:     brokersOnly(),
		TakesAway: true,
		Cluster:   true,
	}
}
