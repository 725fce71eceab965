package process

import (
	"fmt"
	"syscall"
	"time"

	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
)

// action is a fault that was begun and has not ended.
type action struct {
	fault faults.Fault
	child *child
	began int64 // when its signal was sent
	gone  int64 // kill, stop: when the process was seen gone; 0 before
	again bool  // kill, stop: its successor was started
}

// actuate moves every active fault on and, when allowed, begins those that
// are due.
func (w *World) actuate(begin bool) error {
	var active []*action
	for _, a := range w.actions {
		ended, err := w.advance(a)
		if err != nil {
			return err
		}
		if !ended {
			active = append(active, a)
		}
	}
	w.actions = active
	if !begin {
		return nil
	}
	for _, f := range w.scheduler.Due(w.sinceChaos()) {
		if err := w.begin(f); err != nil {
			return err
		}
	}
	return nil
}

// begin sends the fault's signal. Its history line bears the moment before
// the signal, so that no consequence is older than its cause.
func (w *World) begin(f faults.Fault) error {
	c := w.child(f.Target)
	a := &action{fault: f, child: c, began: stream.Now()}
	var err error
	switch f.Kind {
	case faults.Kill:
		err = c.askTo(syscall.SIGKILL)
	case faults.Stop:
		err = c.askTo(syscall.SIGTERM)
	case faults.Pause:
		err = c.signal(syscall.SIGSTOP)
	default:
		err = fmt.Errorf("the process world cannot carry out a %s", f.Kind)
	}
	if err != nil {
		return err
	}
	w.effective++
	w.scheduler.Effective(f.Ref, w.sinceChaos())
	w.actions = append(w.actions, a)
	return w.noteFault(f, history.EdgeEffective, a.began)
}

func (w *World) noteFault(f faults.Fault, edge string, t int64) error {
	return w.note(history.Event{T: t, Ev: history.Fault, What: string(f.Kind), Target: f.Target, Edge: edge, Ref: f.Ref})
}

// advance moves one active fault on and tells whether it has ended.
func (w *World) advance(a *action) (ended bool, err error) {
	if a.fault.Kind == faults.Pause {
		if stream.Now() < a.began+a.fault.For {
			return false, nil
		}
		if err := a.child.signal(syscall.SIGCONT); err != nil {
			return false, err
		}
		return true, w.ended(a)
	}
	now := stream.Now()
	switch {
	case a.gone == 0 && a.child.running():
		return false, w.overdue(a, now)
	case a.gone == 0:
		a.gone = now
	case !a.again && now >= a.gone+a.fault.For:
		a.again = true
		return false, w.start(a.child)
	case a.again && a.child.ready:
		return true, w.ended(a)
	case a.again && now > a.gone+a.fault.For+int64(bootWithin):
		return false, fmt.Errorf("%s is not ready %v after its restart; its log ends: %s", a.child.name, bootWithin, a.child.lastWords())
	}
	return false, nil
}

func (w *World) ended(a *action) error {
	w.scheduler.Ended(a.fault.Ref, w.sinceChaos())
	return w.noteFault(a.fault, history.EdgeEnded, 0)
}

// overdue looks after a process that was told to end and still runs.
func (w *World) overdue(a *action, now int64) error {
	waited := time.Duration(now - a.began)
	switch {
	case a.fault.Kind == faults.Kill && waited > goneWithin:
		return fmt.Errorf("%s is still there %v after SIGKILL", a.child.name, goneWithin)
	case a.fault.Kind == faults.Stop && waited > stopWithin:
		return fmt.Errorf("%s does not stop within %v of SIGTERM; its log ends: %s", a.child.name, stopWithin, a.child.lastWords())
	}
	return nil
}
