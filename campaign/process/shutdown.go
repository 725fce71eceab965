package process

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"pestle/history"
	"pestle/workload/driver"
)

// shutDown ends what still runs and closes the streams. It goes on whatever
// fails: nothing may stay behind.
func (w *World) shutDown() error {
	if w.nursery == nil {
		return nil
	}
	var errs []error
	left := 0
	for _, c := range w.children {
		if c.running() {
			left++
			errs = append(errs, c.askTo(syscall.SIGKILL))
		}
	}
	for timeout := time.After(goneWithin); left > 0; {
		select {
		case e := <-w.nursery.exits:
			e.child.gone()
			left--
		case <-timeout:
			errs = append(errs, fmt.Errorf("%d killed processes are not gone after %v", left, goneWithin))
			left = 0
		}
	}
	w.nursery.close()
	errs = append(errs, w.reconcile(), w.enter(history.PhaseEnd), w.journal.Close(), w.inbox.finish(w.observe))
	return errors.Join(errs...)
}

// reconcile completes the histories of the workload, now that all of it is
// gone, from its state files. The two contradicting each other is an error.
func (w *World) reconcile() error {
	for _, c := range w.children {
		if c.role == roleBroker || c.lives == 0 {
			continue
		}
		if err := driver.Reconcile(w.Plan, w.Dir, c.name); err != nil {
			return err
		}
		w.inbox.open(c.name) // what was added is still to be read
	}
	return nil
}
