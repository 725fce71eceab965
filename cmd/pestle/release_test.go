package main

import (
	"os/exec"
	"strings"
	"testing"
)

// A release cannot be told to fail: what a build with the tag chaos can do to
// its data is not in it.
func TestReleaseHasNoChaos(t *testing.T) {
	for tags, has := range map[string]bool{"": false, "chaos": true} {
		list, err := exec.Command("go", "list", "-tags="+tags, "-deps", ".").Output()
		if err != nil {
			t.Fatalf("go list -deps: %v", err)
		}
		packages := strings.Fields(string(list))
		for _, p := range []string{"pestle/faults/disk", "pestle/faults/clock", "pestle/faults/control/port"} {
			found := false
			for _, dep := range packages {
				found = found || dep == p
			}
			if found != has {
				t.Errorf("a build with tags %q has package %s: %v", tags, p, found)
			}
		}
	}
}
