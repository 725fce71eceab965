// Package hog lets a process run out of memory: it is the second process that
// the Docker world puts beside it into its container.
//
// It names its victim to the kernel as the first to be killed, then takes
// memory until there is none. What it takes are pages of a file that lies
// nowhere, which count for the container.
//
//	err := hog.Starve(1, 1<<30) // does not return where the container has less
package hog
