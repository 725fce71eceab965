package conductor

import (
	"slices"
	"time"

	"pestle/faults"
	"pestle/history/stream"
)

// What a broker ends with when it ends itself: see pestle broker --help.
const (
	exitProtects = 1 // stopped to protect the data, a failed sync for example
	exitRefuses  = 2 // could not start
)

// restartAfter is how soon a supervisor starts a broker again that ended
// itself.
const restartAfter = 100 * time.Millisecond

// supervise decides about a process that ended without having been asked to, and
// tells whether that is all right. A broker may end itself for what is wrong
// with its disk; it is started again, as a supervisor would. One that refuses to
// start from a medium that may have lost something does what it must, and the run
// goes on without it.
func (c *Conductor) supervise(p *process, e Exit) bool {
	switch {
	case p.node == nil || !p.troubled || e.Signal != 0 || e.Code != exitProtects && e.Code != exitRefuses:
		return false
	case e.Code == exitRefuses && p.node.harmed && !c.diskFault(p):
		p.node.member, p.node.out = false, true
	default:
		p.again = stream.Now() + int64(restartAfter)
	}
	return true
}

// diskFault tells whether the disk of a broker is under a fault now.
func (c *Conductor) diskFault(p *process) bool {
	return slices.ContainsFunc(c.actions, func(a *action) bool {
		spec, _ := faults.Find(a.fault.Kind)
		return a.on == p && !ends(a.fault.Kind) && (spec.Class == faults.OfDisk || spec.Class == faults.OfMedia)
	})
}

// revive starts the brokers again that ended themselves. One that is under a
// fault that ends it is that fault's affair until that has started it.
func (c *Conductor) revive() error {
	now := stream.Now()
	for _, p := range c.processes {
		if p.again == 0 || now < p.again || c.ending(p) {
			continue
		}
		if err := c.start(p); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conductor) ending(p *process) bool {
	return slices.ContainsFunc(c.actions, func(a *action) bool { return a.on == p && a.again == nil && ends(a.fault.Kind) })
}

// recovered tells whether every broker that ended itself serves again.
func (c *Conductor) recovered() bool {
	return !slices.ContainsFunc(c.processes, func(p *process) bool {
		return p.node != nil && p.node.member && p.lives > 0 && !p.ready
	})
}
