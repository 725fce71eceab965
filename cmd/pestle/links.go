package main

import (
	"path/filepath"

	"pestle/workload/antithesis/quiet"
)

// arguments returns the arguments of a command line. The program has other names,
// as links, where something else than a person calls it; each stands for a
// command.
func arguments(line []string) []string {
	if filepath.Base(line[0]) == quiet.LinkName {
		return append([]string{"stop-faults"}, line[1:]...)
	}
	return line[1:]
}
