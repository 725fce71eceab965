//go:build !linux

package hog

import "errors"

// Starve is for containers, and these are Linux.
func Starve(int, int64) error {
	return errors.New("starve a process: that works in a Linux container only")
}
