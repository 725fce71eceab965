//det:ring0

package scenarios

import (
	"fmt"
	"slices"

	"pestle/checker"
	"pestle/faults"
)

// The worlds.
const (
	Sim     = "sim"     // everything simulated, in one process
	Process = "process" // real processes on this machine
	Docker  = "docker"  // real processes in containers, each with a network of its own
)

func worlds() []string { return []string{Sim, Process, Docker} }

// RunsIn says what of the plan a world cannot carry out, or nil.
func (p Plan) RunsIn(world string) error {
	for _, f := range p.Faults {
		if err := faultRunsIn(world, f.Kind); err != nil {
			return fmt.Errorf("fault %d of the plan: %w", f.Ref, err)
		}
	}
	if _, err := targetRunsIn(world, p.Target, p.Network != nil); err != nil {
		return fmt.Errorf("target of the plan: %w", err)
	}
	if err := judgedIn(world, p.Properties); err != nil {
		return fmt.Errorf("properties of the plan: %w", err)
	}
	return nil
}

// worldsFit holds the scenario to every world it names.
func (s Scenario) worldsFit() error {
	for _, world := range s.Worlds {
		if path, err := targetRunsIn(world, s.Target, s.network != nil); err != nil {
			return s.contradiction(path, "cannot be with this list of worlds: %v", err)
		}
		if err := judgedIn(world, s.properties); err != nil {
			return s.contradiction("properties", "cannot be with this list of worlds: %v", err)
		}
		for _, f := range s.faults {
			if err := faultRunsIn(world, faults.Kind(f.kind)); err != nil {
				return s.contradiction(f.path, "cannot be with this list of worlds: %v", err)
			}
		}
	}
	return nil
}

// judgedIn finds a property that a world gives no evidence for. In docker it is
// not applicable and the run is judged by the others, so that the scenarios of
// the simulation are those of containers too.
func judgedIn(world string, properties []string) error {
	if world == Process && slices.Contains(properties, checker.FlowControl) {
		return fmt.Errorf("the clients of the world %s do not tell what they hold, so %s cannot be judged", world, checker.FlowControl)
	}
	return nil
}

func faultRunsIn(world string, kind faults.Kind) error {
	if spec, _ := faults.Find(kind); !spec.In(world) { // it is known: checked before
		return fmt.Errorf("the world %s cannot carry out a %s", world, kind)
	}
	return nil
}

// targetRunsIn finds what of the target a world does not have, and the key that
// asks for it.
func targetRunsIn(world string, t Target, network bool) (path string, err error) {
	switch {
	case !slices.Contains(worlds(), world):
		return "worlds", fmt.Errorf("there is no world %q", world)
	case world != Process && t.Kind != "pestle":
		return "target.kind", fmt.Errorf("the world %s runs Pestle's own broker, not %s", world, t.Kind)
	case world == Sim && len(t.Flags) > 0:
		return "target.flags", fmt.Errorf("the world sim starts no program that could take flags")
	case world == Process && t.Disk != "":
		return "target.disk", fmt.Errorf("the world process has the disk of the machine, not one that is %s", t.Disk)
	case world == Process && network:
		return "network", fmt.Errorf("the world process takes the network as it is")
	}
	return "", nil
}
