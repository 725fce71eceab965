package main

import (
	"path/filepath"

	"pestle/workload/antithesis/composer"
	"pestle/workload/antithesis/quiet"
)

// arguments returns the arguments of a command line. The program has other names,
// as links, where something else than a person calls it; each stands for a
// command.
func arguments(line []string) []string {
	name := filepath.Base(line[0])
	if name == quiet.LinkName {
		return append([]string{"stop-faults"}, line[1:]...)
	}
	for _, c := range composer.Commands() {
		if name == c.Name {
			return append([]string{"antithesis", name}, line[1:]...)
		}
	}
	return line[1:]
}
