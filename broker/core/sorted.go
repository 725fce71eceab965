package core

import (
	"cmp"
	"slices"
)

// sortedKeys returns the keys of m in ascending order: the only way to go
// through a map here.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	//det:orderfree the keys are sorted before anyone sees them
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
