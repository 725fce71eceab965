package pure

type gauge struct {
	level float64 // want "floating point in ring 0"
}

func half(n int) int {
	return int(float64(n) * 0.5) // want "floating point in ring 0"
}

func above(g gauge, limit float32) bool { // want "floating point in ring 0"
	return g.level > float64(limit) // want "floating point in ring 0"
}

func guess() {
	x := 1.5 // want "floating point in ring 0"
	_ = x    // want "floating point in ring 0"
	z := 2i  // want "floating point in ring 0"
	_ = z    // want "floating point in ring 0"
}
