package conductor

import (
	"context"
	"fmt"

	"pestle/history"
)

// quarantined notes that a member of the cluster takes part in nothing, and goes
// on without it. One whose medium may have lost something does what it must. Any
// other one has lost by itself what the cluster had counted on: its design rules
// that out, and the run fails as it does in the simulation.
func (c *Conductor) quarantined(n *node, why string) error {
	n.member = false
	if n.harmed {
		return nil
	}
	return c.say(history.Event{
		Ev: history.Note, What: history.NoteInvariant, Target: n.name,
		Text: fmt.Sprintf("quarantine: %s takes part in nothing although its disk has lost nothing: %s", n.name, why),
	})
}

// inspect looks for members that take part in nothing since they run.
func (c *Conductor) inspect(ctx context.Context) error {
	for _, n := range c.members(true) {
		if why := n.quarantine(ctx); why != "" {
			if err := c.quarantined(n, why); err != nil {
				return err
			}
		}
	}
	return nil
}
