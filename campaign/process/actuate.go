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
	fault  faults.Fault
	child  *child // that it hit
	began  int64  // when its signal was sent
	gone   int64  // what ends a process: when it was seen gone; 0 before
	again  *child // what ends a process: started afterwards, itself or its replacement; nil before
	joined <-chan error
}

// signalOf returns the signal that begins a fault of the kind.
func signalOf(k faults.Kind) (s syscall.Signal, ends, known bool) {
	switch k {
	case faults.Kill, faults.Wipe, faults.Replace:
		return syscall.SIGKILL, true, true
	case faults.Stop:
		return syscall.SIGTERM, true, true
	case faults.Pause:
		return syscall.SIGSTOP, false, true
	}
	return 0, false, false
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
	if !begin || !w.sought() {
		return nil
	}
	for _, f := range w.scheduler.Due(w.sinceChaos()) {
		if err := w.begin(f); err != nil {
			return err
		}
	}
	return nil
}

// sought sees to it that the scheduler knows who leads when it has to, and
// tells whether it does. The brokers are asked in the background; faults that
// are due wait for the answer.
func (w *World) sought() bool {
	if w.seeking == nil {
		if !w.scheduler.Seeks(w.sinceChaos()) {
			return true
		}
		w.seeking = w.ask()
	}
	select {
	case s := <-w.seeking:
		w.seeking = nil
		w.scheduler.Lead(s.cluster(w.members(false)))
		return true
	default:
		return false
	}
}

// begin sends the fault's signal. Its history line bears the moment before
// the signal, so that no consequence is older than its cause.
func (w *World) begin(f faults.Fault) error {
	c := w.child(f.Target)
	if c.spare() && !c.running() {
		w.scheduler.Ended(f.Ref, w.sinceChaos()) // it was replaced: the fault could not be carried out
		return nil
	}
	sig, ends, known := signalOf(f.Kind)
	if !known {
		return fmt.Errorf("the process world cannot carry out a %s", f.Kind)
	}
	send := c.signal
	if ends {
		send = c.askTo
	}
	a := &action{fault: f, child: c, began: stream.Now()}
	if err := send(sig); err != nil {
		return err
	}
	if f.Kind == faults.Wipe || f.Kind == faults.Replace {
		c.node.member = false
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
	now := stream.Now()
	if a.fault.Kind == faults.Pause {
		if now < a.began+a.fault.For {
			return false, nil
		}
		if err := a.child.signal(syscall.SIGCONT); err != nil {
			return false, err
		}
		return true, w.ended(a)
	}
	switch {
	case a.gone == 0 && a.child.running():
		return false, w.overdue(a, now)
	case a.gone == 0:
		a.gone = now
		if a.fault.Kind == faults.Wipe {
			return false, a.child.node.loseData()
		}
	case a.again == nil && now >= a.gone+a.fault.For:
		return false, w.successor(a)
	case a.again != nil && a.again.ready:
		return w.joined(a)
	case a.again != nil && now > a.gone+a.fault.For+int64(bootWithin):
		return false, fmt.Errorf("%s is not ready %v after its start; its log ends: %s", a.again.name, bootWithin, a.again.lastWords())
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
