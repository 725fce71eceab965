package pure

func misused(m map[string]int) (n int) {
	//det:maybe it is fine
	n++ // want-above "unknown directive //det:maybe: there are orderfree, table and float"
	//det:float
	_ = 1.5 // want-above "//det:float needs a reason behind it" // want "floating point in ring 0"
	//det:float nothing below is one
	n++ // want-above "//det:float excuses nothing on line 9: remove it"
	//det:float it stands over the comment, not over the loop
	// want-above "//det:float excuses nothing on line 11: remove it"
	//det:orderfree counting
	for range map[int]float64{} { // want "floating point in ring 0"
	}
	//det:orderfree a comment stands between it and the loop
	// want-above "//det:orderfree excuses nothing on line 16: remove it"
	for range m { // want "range over a map in ring 0"
		n++
	}
	return n
}
