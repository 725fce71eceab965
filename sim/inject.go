package sim

import (
	"fmt"

	"pestle/faults"
	"pestle/history"
)

// action is a fault that was begun and has not ended.
type action struct {
	fault   faults.Fault
	process *process
	down    bool // its process was ended, or told to end, and is started again

	replacement *replacement // of a process that is never started again, from the start of the new one on
}

// injection is how the simulated world carries out a kind of fault.
type injection struct {
	begin func(w *world, now int64, a *action)
	// end heals it after For. A fault without it ended its process: For counts
	// from the end of that to the restart, and the fault is over when the
	// process is ready.
	end func(w *world, now int64, a *action)
}

// injectionOf is the table of what this world can do.
func injectionOf(k faults.Kind) (injection, bool) {
	for _, of := range []func(faults.Kind) (injection, bool){processInjection, diskInjection, networkInjection, clockInjection, clusterInjection} {
		if how, ok := of(k); ok {
			return how, true
		}
	}
	return injection{}, false
}

// checkFaults looks whether the plan can be carried out.
func (w *world) checkFaults() error {
	for _, f := range w.plan.Faults {
		if _, ok := injectionOf(f.Kind); !ok {
			return fmt.Errorf("fault %d is a %s, which the simulated world cannot carry out", f.Ref, f.Kind)
		}
		if w.process(f.Target) == nil && !faults.IsSelector(f.Target) {
			return fmt.Errorf("fault %d is a %s of %s, which is no process of this run", f.Ref, f.Kind, f.Target)
		}
		if spec, ok := faults.Find(f.Kind); ok && spec.Cluster && w.plan.Target.Nodes < 2 {
			return fmt.Errorf("fault %d is a %s, and there is one broker: the target needs others beside it", f.Ref, f.Kind)
		}
	}
	return nil
}

// arm sees to it that the conductor wakes when the next fault may be due.
func (w *world) arm() {
	if !w.beginning {
		return
	}
	at, ok := w.scheduler.Next()
	if !ok {
		return
	}
	if at = max(at+w.chaosBegan, w.now()); at < w.armed {
		w.armed = at
		w.later(at, evDue, 0, 0)
	}
}

// beginDue begins the faults that are due.
func (w *world) beginDue(now int64) {
	if !w.beginning {
		return
	}
	if w.scheduler.Seeks(now - w.chaosBegan) {
		w.scheduler.Lead(w.cluster())
	}
	for _, f := range w.scheduler.Due(now - w.chaosBegan) {
		w.begin(now, f)
	}
	w.arm()
}

// begin carries out a fault. Its history line comes first, so that no
// consequence is older than its cause.
func (w *world) begin(now int64, f faults.Fault) {
	p := w.process(f.Target)
	how, _ := injectionOf(f.Kind)
	if !p.running && how.end == nil {
		w.scheduler.Ended(f.Ref, now-w.chaosBegan) // there is nothing to end: it could not be carried out
		return
	}
	a := &action{fault: f, process: p}
	w.actions = append(w.actions, a)
	w.scheduler.Effective(f.Ref, now-w.chaosBegan)
	w.noteFault(now, f, history.EdgeEffective)
	if how.end == nil {
		a.down, p.expected = true, true
	} else {
		w.later(now+f.For, evHeal, uint64(f.Ref), 0)
	}
	if spec, ok := faults.Find(f.Kind); ok && spec.Class == faults.OfMedia {
		w.brokerOf(p).harmed = true
	}
	how.begin(w, now, a)
}

func (w *world) noteFault(now int64, f faults.Fault, edge string) {
	w.say(now, f.Target, string(f.Kind)+" "+edge, uint64(f.Ref), 0)
	w.note(history.Event{Ev: history.Fault, What: string(f.Kind), Target: f.Target, Edge: edge, Ref: f.Ref})
}

// ended sees the end of a process; one that a fault ended is started again.
func (w *world) ended(now int64, p *process) {
	for _, a := range w.actions {
		if a.process == p && a.down {
			w.later(now+a.fault.For, evHeal, uint64(a.fault.Ref), 0)
		}
	}
}

// heal is called when a fault has lasted its time.
func (w *world) heal(now int64, ref int) {
	for _, a := range w.actions {
		if a.fault.Ref != ref {
			continue
		}
		switch {
		case a.fault.Kind == faults.Replace:
			w.replaceNow(now, a)
			return
		case a.down:
			if !a.process.running && !a.process.out {
				a.process.start(now)
			}
			return
		}
		how, _ := injectionOf(a.fault.Kind)
		how.end(w, now, a)
		w.finishAction(now, a)
		return
	}
}

// restarted ends the faults that had ended a process, now that it is ready.
func (w *world) restarted(now int64, p *process) {
	for i := 0; i < len(w.actions); {
		if a := w.actions[i]; a.process == p && a.down {
			w.finishAction(now, a)
			continue
		}
		i++
	}
}

// finishAction notes that a fault is over.
func (w *world) finishAction(now int64, a *action) {
	for i := range w.actions {
		if w.actions[i] == a {
			w.actions = append(w.actions[:i], w.actions[i+1:]...)
			break
		}
	}
	w.scheduler.Ended(a.fault.Ref, now-w.chaosBegan)
	w.noteFault(now, a.fault, history.EdgeEnded)
	w.arm()
}
