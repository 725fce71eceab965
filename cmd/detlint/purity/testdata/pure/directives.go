package pure

func misused(m map[string]int) (n int) {
	//det:maybe it is fine
	n++ // want-above "unknown directive //det:maybe: there are orderfree, table and float"
	//det:float
	n++ // want-above "//det:float needs a reason behind it"
	//det:float nothing below is one
	n++ // want-above "//det:float excuses nothing on line 9: remove it"
	//det:orderfree a comment stands between it and the loop
	// want-above "//det:orderfree excuses nothing on line 11: remove it"
	for range m { // want "range over a map in ring 0"
		n++
	}
	//det:orderfree
	// want-above "//det:orderfree needs a reason behind it"
	return n
}
