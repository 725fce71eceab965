package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pestle/broker/plant"
)

// TestMain makes this test binary the `pestle` of the scripts; being a copy
// named so, it also serves as the broker and the workload of their runs.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pestle": main})
}

// TestScripts runs testdata/script/*.txtar: what a stranger types, and what he
// gets to see.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true,
		Condition: func(name string) (bool, error) {
			switch name {
			case "plant":
				return plant.Built, nil
			case "root":
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
	})
}
