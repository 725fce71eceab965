package faults

import "slices"

// Expendable is how many of so many brokers can be away, or have lost what they
// held, while the others are a majority that knows everything acknowledged.
func Expendable(brokers int) int { return (brokers - 1) / 2 }

// Together tells whether a process can be under faults of both kinds at once.
// Rotten bits lie on the disk whatever happens to the process, and wait for it
// to start again and read them; all other faults have their target alone.
func Together(a, b Kind) bool {
	if b == BitRot {
		a, b = b, a
	}
	return a == BitRot && (b == Kill || b == Stop || b == PowerLoss || b == OutOfMemory)
}

// Loses tells whether the target of the kind may lose what it had acknowledged:
// a majority of the others has to have it.
func (s Spec) Loses() bool { return s.Class == OfMedia }

// Lost is how many brokers lose what they held, at most, over all the faults of
// a plan. A selector may stand for another broker each time.
func Lost(faults []Fault) int {
	var named []string
	selected := 0
	for _, f := range faults {
		spec, _ := Find(f.Kind)
		switch {
		case !spec.Loses():
		case IsSelector(f.Target):
			selected++
		case !slices.Contains(named, f.Target):
			named = append(named, f.Target)
		}
	}
	return len(named) + selected
}
