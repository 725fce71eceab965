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
)

func worlds() []string { return []string{Sim, Process} }

// RunsIn says what of the plan a world cannot carry out, or nil.
func (p Plan) RunsIn(world string) error {
	for _, f := range p.Faults {
		if err := faultRunsIn(world, f.Kind, f.Anchor.After); err != nil {
			return fmt.Errorf("fault %d of the plan: %w", f.Ref, err)
		}
	}
	if _, err := targetRunsIn(world, p.Target, p.Network != nil, p.Target.Knobs != nil); err != nil {
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
		if path, err := targetRunsIn(world, s.Target, s.network != nil, s.knobs != nil); err != nil {
			return s.contradiction(path, "cannot be with this list of worlds: %v", err)
		}
		if err := judgedIn(world, s.properties); err != nil {
			return s.contradiction("properties", "cannot be with this list of worlds: %v", err)
		}
		for _, f := range s.faults {
			var after *faults.Event
			if f.after != nil {
				after = &faults.Event{Point: f.after.point}
			}
			if err := faultRunsIn(world, faults.Kind(f.kind), after); err != nil {
				return s.contradiction(f.path, "cannot be with this list of worlds: %v", err)
			}
		}
	}
	return nil
}

// judgedIn finds a property that a world gives no evidence for.
func judgedIn(world string, properties []string) error {
	if world != Sim && slices.Contains(properties, checker.FlowControl) {
		return fmt.Errorf("the clients of the world %s do not tell what they hold, so %s cannot be judged", world, checker.FlowControl)
	}
	return nil
}

func faultRunsIn(world string, kind faults.Kind, after *faults.Event) error {
	spec, _ := faults.Find(kind) // checked before
	switch {
	case !spec.In(world):
		return fmt.Errorf("the world %s cannot carry out a %s", world, kind)
	case world != Sim && after != nil && after.Point != "":
		return fmt.Errorf("the world %s does not see the broker pass %s", world, after.Point)
	}
	return nil
}

// targetRunsIn finds what of the target a world does not have, and the key that
// asks for it.
func targetRunsIn(world string, t Target, network, knobs bool) (path string, err error) {
	if !slices.Contains(worlds(), world) {
		return "worlds", fmt.Errorf("there is no world %q", world)
	}
	if world == Sim {
		switch {
		case t.Kind != "pestle":
			return "target.kind", fmt.Errorf("the world sim runs Pestle's own broker, not %s", t.Kind)
		case len(t.Flags) > 0:
			return "target.flags", fmt.Errorf("the world sim starts no program that could take flags")
		}
		return "", nil
	}
	switch {
	case t.Disk == DiskLying:
		return "target.disk", fmt.Errorf("the world %s has no disk that lies", world)
	case knobs:
		return "target.knobs", fmt.Errorf("the program that the world %s starts has no such flags", world)
	case network:
		return "network", fmt.Errorf("the world %s takes the network as it is", world)
	}
	return "", nil
}
