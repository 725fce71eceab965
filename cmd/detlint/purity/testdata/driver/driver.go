// Package driver is not in the table: anything goes but writing ring 0.
package driver

import "mixed"

var calls int

//det:ring0
// want-above "//det:ring0, but the table"

//det:orderfree drivers may range as they like
// want-above "//det:orderfree means nothing outside ring 0"

func run() {
	calls++
	mixed.Limits.Max = 4 // want "assigns to the package-level variable Limits"
	mixed.Limits.Raise() // want "calls a pointer method of the package-level variable Limits"
}
