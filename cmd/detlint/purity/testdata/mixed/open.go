// Package mixed has a pure file and a driver file.
package mixed

import "os"

// File is a plan on disk.
type File struct{ Name string }

// Read is ring 1: it may do anything except write ring 0's variables.
func (f File) Read() ([]byte, error) {
	go func() {}()
	Limits.Max = 2 // want "assigns to the package-level variable Limits"
	return os.ReadFile(f.Name)
}

// Open opens a plan.
func Open(name string) File { return File{Name: name} }
