package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A release cannot be told to fail: what a build with the tag chaos can do to
// its data is not in it.
func TestReleaseHasNoChaos(t *testing.T) {
	for tags, has := range map[string]bool{"": false, "chaos": true} {
		list, err := exec.Command("go", "list", "-tags="+tags, "-deps", "-f", `{{.ImportPath}} {{join .Imports " "}}`, ".").Output()
		if err != nil {
			t.Fatalf("go list -deps: %v", err)
		}
		importers := map[string][]string{}
		for line := range strings.Lines(string(list)) {
			fields := strings.Fields(line)
			for _, p := range fields[1:] {
				importers[p] = append(importers[p], fields[0])
			}
		}
		for _, p := range []string{"pestle/faults/disk", "pestle/faults/clock", "pestle/faults/control/port"} {
			// What the port itself needs comes with it.
			by := slices.DeleteFunc(importers[p], func(p string) bool { return p == "pestle/faults/control/port" })
			if (len(by) > 0) != has {
				t.Errorf("in a build with tags %q %s is imported by %q; only broker_chaos.go may: the harness has pestle/faults/control", tags, p, by)
			}
		}
	}
}
