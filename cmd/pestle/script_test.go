package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pestle/broker/plant"
	"pestle/compose"
	"pestle/workload/antithesis/composer"
	"pestle/workload/antithesis/quiet"
)

// TestMain makes this test binary the `pestle` of the scripts, by all its names;
// being a copy named so, it also serves as the broker and the workload of their
// runs.
func TestMain(m *testing.M) {
	names := map[string]func(){"pestle": main, quiet.LinkName: main}
	for _, c := range composer.Commands() {
		names[c.Name] = main
	}
	testscript.Main(m, names)
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
			case "docker":
				engine, err := compose.Connect(t.Context())
				return err == nil && engine.Close() == nil, nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
	})
}
