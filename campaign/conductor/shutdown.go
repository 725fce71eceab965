package conductor

import (
	"errors"

	"pestle/faults"
	"pestle/history"
	"pestle/workload/driver"
)

// shutDown ends what still runs and closes the streams. It goes on whatever
// fails: nothing may stay behind.
func (c *Conductor) shutDown() error {
	return errors.Join(c.Host.Close(), c.doubtful(), c.reconcile(), c.enter(history.PhaseEnd),
		c.diary.close(), c.journal.close(), c.inbox.finish(c.observe), c.quiet.close())
}

// doubtful notes the faults whose answer never came as effective: they may have
// had consequences, which must not be held against the target.
func (c *Conductor) doubtful() error {
	var errs []error
	for _, a := range c.actions {
		if a.began == 0 {
			errs = append(errs, c.noteFault(a.fault, history.EdgeEffective, a.asked), c.diary.settled(a.fault.Ref))
		}
	}
	return errors.Join(errs...)
}

// reconcile completes the histories of the workload, now that all of it is
// gone, from its state files. The two contradicting each other is an error.
func (c *Conductor) reconcile() error {
	for _, p := range c.processes {
		if p.Role == faults.Broker || p.lives == 0 {
			continue
		}
		if err := driver.Reconcile(c.Plan, c.Dir, p.Name); err != nil {
			return err
		}
		c.inbox.open(p.Name) // what was added is still to be read
	}
	return nil
}
