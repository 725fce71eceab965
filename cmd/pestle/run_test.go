package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The line that reproduces a run is what its user typed, so that a shell takes
// it apart into the same words.
func TestReproduceNamesTheSameRun(t *testing.T) {
	for _, c := range []struct {
		scenario, world string
		set, want       []string
	}{
		{"first-light", "", nil, []string{"pestle", "run", "first-light", "--seed", "7"}},
		{"first-light", "process", nil, []string{"pestle", "run", "first-light", "--world", "process", "--seed", "7"}},
		{"my runs/a.yaml", "", []string{"phases.drain=1m", "target.flags=[--a, --b=it's]"},
			[]string{"pestle", "run", "my runs/a.yaml", "--seed", "7", "--set", "phases.drain=1m", "--set", "target.flags=[--a, --b=it's]"}},
	} {
		line := reproduce(c.scenario, 7, runFlags{world: c.world, set: c.set})
		out, err := exec.Command("/bin/sh", "-c", `printf '%s\n' `+line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := strings.Split(strings.TrimSpace(string(out)), "\n"); !slices.Equal(got, c.want) {
			t.Errorf("%s reads as %q, want %q", line, got, c.want)
		}
	}
}
