package faults

// copiesToSpare is how many copies of a message there have to be before the
// medium of one may lie: a majority of the others has to outvote it.
const copiesToSpare = 3

// Survivable tells whether a target that keeps so many copies of each message
// can be required to lose nothing under faults of the kind. Every kind but
// those of the media is survivable with one copy.
func (s Spec) Survivable(copies int64) bool {
	return s.Class != OfMedia || copies >= copiesToSpare
}
