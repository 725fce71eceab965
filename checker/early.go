package checker

import "pestle/history"

// earlyConsumes holds the consumes of ids that nobody has attempted yet. If no
// attempt ever comes, they are phantoms. If one does, they are deliveries like
// any other: but then the history's times contradict each other, and the run
// cannot pass.
type earlyConsumes struct {
	held []heldConsume
	byID map[string][]int // indices into held
	met  int64            // those whose attempt came later
}

type heldConsume struct {
	event     history.Event
	attempted bool
}

// maxHeld is how many are held. A target that makes up more messages has long
// failed; the rest are phantoms at once.
const maxHeld = 1000

// hold keeps e until its id is attempted. It reports false when it is full.
func (c *earlyConsumes) hold(e history.Event) bool {
	if len(c.held) == maxHeld {
		return false
	}
	c.byID[e.ID] = append(c.byID[e.ID], len(c.held))
	c.held = append(c.held, heldConsume{event: e})
	return true
}

// take returns the consumes of an id that is now attempted.
func (c *earlyConsumes) take(id string) []history.Event {
	if len(c.byID) == 0 {
		return nil
	}
	var events []history.Event
	for _, i := range c.byID[id] {
		c.held[i].attempted = true
		c.met++
		events = append(events, c.held[i].event)
	}
	delete(c.byID, id)
	return events
}
