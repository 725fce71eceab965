package shrink

// minimize returns a subset of 0…n-1, ascending, for which fails is true and
// from which no single element can be left out: delta debugging after Zeller
// and Hildebrandt. All of 0…n-1 is taken to fail. When fails answers differently
// for the same subset, or gives up, the result is the smallest it agreed to.
func minimize(n int, fails func(keep []int) bool) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	if n == 0 || fails(nil) {
		return nil
	}
	parts := 2
	for len(all) > 1 {
		smaller, alone := reduce(all, parts, fails)
		switch {
		case smaller == nil && parts == len(all):
			return all
		case smaller == nil:
			parts = min(2*parts, len(all))
		case alone:
			all, parts = smaller, 2
		default:
			all, parts = smaller, max(parts-1, 2)
		}
	}
	return all
}

// reduce splits the elements into parts and tries each part alone, and then
// all without each. alone says which of the two it was.
func reduce(all []int, parts int, fails func([]int) bool) (smaller []int, alone bool) {
	bound := func(i int) int { return len(all) * i / parts }
	for i := range parts {
		if part := all[bound(i):bound(i+1)]; fails(part) {
			return part, true
		}
	}
	if parts == 2 {
		return nil, false // the rest of two parts is the other part
	}
	for i := range parts {
		rest := append(append([]int(nil), all[:bound(i)]...), all[bound(i+1):]...)
		if fails(rest) {
			return rest, false
		}
	}
	return nil, false
}
