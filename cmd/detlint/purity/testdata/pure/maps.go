package pure

import (
	"maps"
	"slices"
	u "unsafe" // want "ring 0 must not import unsafe"
)

func walk(m map[string]int) []string {
	var keys []string
	for k := range m { // want "range over a map in ring 0"
		keys = append(keys, k)
	}
	for k := range maps.Keys(m) { // want "maps.Keys follows the map's random order"
		keys = append(keys, k)
	}
	for k, v := range maps.All(m) { // want "maps.All follows"
		keys = append(keys, k[v:])
	}
	for range slices.Collect(maps.Values(m)) { // want "maps.Values follows"
		keys = keys[1:]
	}
	// The comparator may tie, so the order of the map would show.
	byLength := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return len(a) - len(b) }) // want "maps.Keys follows"
	maps.DeleteFunc(m, func(string, int) bool { return len(keys) > 3 })                           // want "maps.DeleteFunc follows"
	list := maps.Keys[map[string]int]                                                             // want "maps.Keys follows"
	return slices.AppendSeq(byLength, list(m))
}

type counts map[string]int

func rangeNamed(c counts) (n int) {
	for range c { // want "range over a map in ring 0"
		n++
	}
	return n
}

func rangeGeneric[M ~map[K]V, K comparable, V any](m M) (n int) {
	for range m { // want "range over a map in ring 0"
		n++
	}
	return n
}

type node struct{ next *node }

type sets struct {
	byPointer   map[*node]bool           // want "map key *node in ring 0"
	byAny       map[any]bool             // want "map key any in ring 0"
	byStruct    map[node]bool            // want "map key node in ring 0"
	byAddress   map[u.Pointer]bool       // want "map key unsafe.Pointer in ring 0"
	byArray     map[[2]*node]bool        // want "map key [2]*node in ring 0"
	byInterface map[interface{ f() }]int // want "map key interface{f()} in ring 0"
}
