package faults

// replace kills a broker of a cluster for good: neither its process nor its
// data come back. After For a new broker with an id of its own is started, and
// a live one is asked to take it in the place of the old. The fault takes effect
// with the signal, and has ended when the new broker is a voter and the old one
// no member any more.
func replace() Spec {
	return Spec{
		Kind:      Replace,
		Class:     OfMedia,
		Does:      "the broker is killed and stays away; a new one, with an id of its own, joins in its place",
		Imitates:  "a machine that is lost and the operator's answer to it",
		Survives:  "everything acknowledged; publishing goes on, and the new broker catches up and counts",
		ForIs:     "from the end of the process to the start of the new one",
		MinFor:    0,
		MaxFor:    10 * minute,
		Worlds:    everyWorld(),
		Roles:     brokersOnly(),
		TakesAway: true,
		Cluster:   true,
	}
}
