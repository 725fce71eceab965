package conductor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
)

// action is a fault that was begun and has not ended. Times are
// CLOCK_MONOTONIC.
type action struct {
	fault faults.Fault
	on    *process      // that it hits
	due   int64         // when it should have taken effect
	asked int64         // when its signal was sent, or the host told
	began int64         // when it was certain that it had taken effect; 0 before
	since time.Duration // by the run's awake time: when it was asked for what is waited for now

	// Of a fault that leaves the process alive.
	lifted   int64  // when its end was asked for; 0: not yet
	over     int64  // when it was certain that it had ended; 0 before
	evidence string // of that

	// Of a fault that ends a process.
	gone    int64    // when it was seen gone; 0 before
	started int64    // when again was started
	again   *process // started afterwards, itself or its replacement; nil before
	joined  <-chan error
}

// signalOf returns the signal that begins a fault of the kind. Others are the
// host's affair.
func signalOf(k faults.Kind) (s syscall.Signal, known bool) {
	switch k {
	case faults.Kill, faults.Wipe, faults.Replace:
		return syscall.SIGKILL, true
	case faults.Stop:
		return syscall.SIGTERM, true
	case faults.Pause:
		return syscall.SIGSTOP, true
	}
	return 0, false
}

// ends tells whether a kind ends its target, which is then started again, or
// another one in its place.
func ends(k faults.Kind) bool {
	switch k {
	case faults.Kill, faults.Stop, faults.Wipe, faults.Replace, faults.PowerLoss, faults.OutOfMemory:
		return true
	}
	return false
}

// needsProcess tells whether a kind has nothing to hit while its target does
// not run.
func needsProcess(k faults.Kind) bool { return ends(k) || k == faults.Pause }

// actuate moves every active fault on and, when allowed, begins those that
// are due. While quiet is asked for it ends them early, and those that are due
// wait.
func (c *Conductor) actuate(begin bool) error {
	asked := c.quiet.asked()
	var active []*action
	for i, a := range c.actions {
		if asked {
			a.cutShort(stream.Now())
		}
		ended, err := c.advance(a)
		if err != nil {
			c.actions = append(active, c.actions[i:]...)
			return err
		}
		if !ended {
			active = append(active, a)
		}
	}
	c.actions = active
	if err := c.revive(); err != nil {
		return err
	}
	if !begin || asked || !c.sought() {
		return nil
	}
	for _, f := range c.scheduler.Due(c.sinceChaos()) {
		if err := c.begin(f); err != nil {
			return err
		}
	}
	return nil
}

// sought sees to it that the scheduler knows who leads when it has to, and
// tells whether it does. The brokers are asked in the background; faults that
// are due wait for the answer.
func (c *Conductor) sought() bool {
	if c.seeking == nil {
		if !c.scheduler.Seeks(c.sinceChaos()) {
			return true
		}
		c.seeking = c.ask()
	}
	select {
	case s := <-c.seeking:
		c.seeking = nil
		c.scheduler.Lead(s.cluster(c.members(false)))
		return true
	default:
		return false
	}
}

// begin sends the fault's signal, or tells the host.
func (c *Conductor) begin(f faults.Fault) error {
	p := c.process(f.Target)
	if !p.running && (needsProcess(f.Kind) || p.spare()) {
		c.scheduler.Ended(f.Ref, c.sinceChaos()) // it could not be carried out
		return nil
	}
	a := &action{fault: f, on: p, asked: stream.Now(), since: c.awake()}
	c.actions = append(c.actions, a)
	c.diary.expect(f.Ref, a.asked)
	c.hurt(a)
	if sig, known := signalOf(f.Kind); known {
		c.strike(a, sig, history.EdgeEffective)
		return nil
	}
	if ends(f.Kind) {
		p.asked = syscall.SIGKILL
	}
	c.Host.Impose(f)
	return nil
}

// strike sends the signal that begins or ends a fault. It may take a while to be
// delivered, and nothing waits for it: what became of it comes as a host's answer.
func (c *Conductor) strike(a *action, sig syscall.Signal, edge string) {
	if ends(a.fault.Kind) {
		a.on.asked = sig
	}
	ref, name := a.fault.Ref, a.on.Name
	go func() {
		err := c.Host.Signal(name, sig)
		c.struck <- Actuation{Ref: ref, Edge: edge, Done: stream.Now(), Evidence: "sent " + unix.SignalName(sig), Err: err}
	}()
}

// askToEnd sends a signal that is to end a process. That it has ended by itself
// just now is no error here: its exit is about to be reported, as one that
// nobody asked for.
func (c *Conductor) askToEnd(p *process, sig syscall.Signal) error {
	err := c.Host.Signal(p.Name, sig)
	switch {
	case err == nil:
		p.asked = sig
	case errors.Is(err, os.ErrProcessDone):
		return nil
	}
	return err
}

// effective notes that a fault has taken effect, which was certain at done. Its
// history line bears the moment before it was asked for, so that no consequence
// is older than its cause.
func (c *Conductor) effective(a *action, done int64, evidence string) error {
	a.began = done
	f := a.fault
	if f.Kind == faults.Wipe || f.Kind == faults.Replace {
		a.on.node.member = false
	}
	now := c.sinceChaos()
	c.scheduler.Effective(f.Ref, now)
	a.due = now - c.scheduler.Entries()[f.Ref-1].Lateness + c.chaosBegan
	c.took++
	return errors.Join(
		c.noteFault(f, history.EdgeEffective, a.asked), c.diary.settled(f.Ref),
		c.journal.write(c.line(a, history.EdgeEffective, a.due, a.asked, done, evidence)))
}

// missed ends a fault that found no process to hit.
func (c *Conductor) missed(a *action) error {
	c.actions = slices.DeleteFunc(c.actions, func(other *action) bool { return other == a })
	c.scheduler.Ended(a.fault.Ref, c.sinceChaos())
	return c.diary.settled(a.fault.Ref)
}

// hurt remembers what a fault may do to a broker from now on.
func (c *Conductor) hurt(a *action) {
	if a.on.node == nil {
		return
	}
	spec, _ := faults.Find(a.fault.Kind) // the plan's kinds are known
	switch spec.Class {
	case faults.OfMedia:
		if !ends(a.fault.Kind) { // what is wiped or replaced has nothing left that could be wrong
			a.on.node.harmed = true
		}
		a.on.troubled = true
	case faults.OfDisk:
		a.on.troubled = true
	}
}

func (c *Conductor) noteFault(f faults.Fault, edge string, t int64) error {
	return c.say(history.Event{T: t, Ev: history.Fault, What: string(f.Kind), Target: f.Target, Edge: edge, Ref: f.Ref})
}

// answered takes what the host says of a fault.
func (c *Conductor) answered(said Actuation) error {
	for _, a := range c.actions {
		if a.fault.Ref != said.Ref {
			continue
		}
		late := errors.Is(said.Err, os.ErrProcessDone)
		switch {
		case late && said.Edge == history.EdgeEffective && a.began == 0:
			return c.missed(a)
		case said.Err != nil && !late:
			return said.Err
		case said.Edge == history.EdgeEffective && a.began == 0:
			return c.effective(a, said.Done, said.Evidence)
		case said.Edge == history.EdgeEnded && a.lifted != 0 && a.over == 0:
			a.over, a.evidence = said.Done, said.Evidence
			return nil
		}
	}
	return fmt.Errorf("the host says that fault %d is %s, which nobody had asked for", said.Ref, said.Edge)
}

// advance moves one active fault on and tells whether it has ended.
func (c *Conductor) advance(a *action) (ended bool, err error) {
	now := stream.Now()
	switch {
	case a.began == 0:
		if c.awake()-a.since > actWithin {
			return false, fmt.Errorf("fault %d, %s of %s, has not taken effect %v after it was asked for", a.fault.Ref, a.fault.Kind, a.on.Name, actWithin)
		}
		return false, nil
	case ends(a.fault.Kind):
		return c.succeed(a, now)
	case now < a.began+a.fault.For:
		return false, nil
	}
	return c.heal(a, now)
}

// heal ends a fault that has lasted its time.
func (c *Conductor) heal(a *action, now int64) (ended bool, err error) {
	spec, _ := faults.Find(a.fault.Kind)
	switch {
	case spec.MaxFor == 0:
		return true, c.ended(a, a.began, a.began, now, "over at once")
	case a.lifted == 0 && a.fault.Kind == faults.Pause:
		a.lifted, a.since = now, c.awake()
		c.strike(a, syscall.SIGCONT, history.EdgeEnded)
	case a.lifted == 0:
		a.lifted, a.since = now, c.awake()
		c.Host.Lift(a.fault)
	case a.over != 0:
		return true, c.ended(a, a.began+a.fault.For, a.lifted, a.over, a.evidence)
	case c.awake()-a.since > actWithin:
		return false, fmt.Errorf("fault %d, %s of %s, has not ended %v after it was lifted", a.fault.Ref, a.fault.Kind, a.on.Name, actWithin)
	}
	return false, nil
}

// succeed moves on a fault that ends a process.
func (c *Conductor) succeed(a *action, now int64) (ended bool, err error) {
	switch {
	case a.gone == 0 && a.on.running:
		return false, c.overdue(a)
	case a.gone == 0:
		a.gone = now
		if a.fault.Kind == faults.Wipe {
			return false, c.Host.LoseData(a.on.Name)
		}
	case a.again == nil && now >= a.gone+a.fault.For:
		a.started, a.since = now, c.awake()
		return false, c.successor(a)
	case a.again != nil && a.again.ready:
		return c.joined(a)
	case a.again != nil && a.again.node != nil && a.again.node.out:
		return true, c.over(a) // it never will be ready: no fault holds it any longer
	case a.again != nil && c.awake()-a.since > bootWithin:
		return false, fmt.Errorf("%s is not ready %v after its start; its log ends: %s", a.again.Name, bootWithin, c.Host.LastWords(a.again.Name))
	}
	return false, nil
}

// over ends a fault that ended a process.
func (c *Conductor) over(a *action) error {
	evidence := fmt.Sprintf("%s; incarnation %d of %s is ready", a.on.ended, a.again.lives, a.again.Name)
	if a.again.node != nil && a.again.node.out {
		evidence = a.on.ended + "; " + a.again.Name + " refuses to start"
	}
	return c.ended(a, a.gone+a.fault.For, a.started, stream.Now(), evidence)
}

// ended notes that a fault is over.
func (c *Conductor) ended(a *action, due, asked, done int64, evidence string) error {
	c.scheduler.Ended(a.fault.Ref, c.sinceChaos())
	return errors.Join(
		c.noteFault(a.fault, history.EdgeEnded, 0),
		c.journal.write(c.line(a, history.EdgeEnded, due, asked, done, evidence)))
}

// overdue looks after a process that was told to end and still runs.
func (c *Conductor) overdue(a *action) error {
	waited, within := c.awake()-a.since, goneWithin
	if a.fault.Kind == faults.Stop {
		within = stopWithin
	}
	if waited <= within {
		return nil
	}
	return fmt.Errorf("%s is still there %v after fault %d, a %s; its log ends: %s",
		a.on.Name, within, a.fault.Ref, a.fault.Kind, c.Host.LastWords(a.on.Name))
}
