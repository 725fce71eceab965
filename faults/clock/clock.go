// Package clock is the clock of a real process that can be set wrong: the
// machine's time as sim/clock distorts it, for the kinds of clock faults of the
// catalog. It owns what a process reads; it never touches the machine's clock,
// and a new process begins with an exact one.
//
//	c := clock.New()
//	err := c.Impose(faults.Fault{Ref: 4, Kind: faults.ClockDrift, Drift: 500})
//	mono, wall := c.Read() // ns; mono never goes back
//	c.Lift(4)
//
// As in the simulation a jump moves the wall clock only, and is taken back when
// it is lifted; drift and a freeze are of both clocks, and what they did to
// them stays.
package clock

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"pestle/faults"
	"pestle/sim/clock"
)

// Clock is the clock of a process. Its methods may be called by several
// goroutines at once.
type Clock struct {
	mu    sync.Mutex
	began time.Time
	runs  *clock.Clock
	on    map[faults.Kind]faults.Fault
}

// New returns an exact clock, whose monotonic reading begins at 0.
func New() *Clock {
	now := time.Now()
	return &Clock{began: now, runs: clock.New(0, now.UnixNano()), on: map[faults.Kind]faults.Fault{}}
}

// now is the time of the machine since the clock was made, ns.
func (c *Clock) now() int64 { return int64(time.Since(c.began)) }

// Read returns the monotonic reading in ns, and the wall clock in ns since the
// Unix epoch.
func (c *Clock) Read() (mono, wall int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.now()
	return c.runs.Mono(t), c.runs.Wall(t)
}

// State is how wrong a clock is.
type State struct {
	Offset int64 `json:"offset"` // ns by which the wall clock is ahead of the machine's
	Drift  int64 `json:"drift"`  // ppm by which it runs fast
	Frozen bool  `json:"frozen"`
}

// State returns how wrong the clock is.
func (c *Clock) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.now()
	_, frozen := c.on[faults.ClockFreeze]
	return State{
		Offset: c.runs.Wall(t) - c.began.UnixNano() - t,
		Drift:  c.on[faults.ClockDrift].Drift,
		Frozen: frozen,
	}
}

// Does reports whether a Clock can carry a kind of fault out.
func Does(k faults.Kind) bool {
	return k == faults.ClockJump || k == faults.ClockDrift || k == faults.ClockFreeze
}

// ErrUnderWay says that another fault of a kind has to be lifted first.
var ErrUnderWay = errors.New("is of the same kind and under way")

// Impose begins a fault of a kind that Does knows. A fault that was imposed
// already stays as it is; another one of the kind has to be lifted first.
func (c *Clock) Impose(f faults.Fault) error {
	spec, known := faults.Find(f.Kind)
	if !known || !Does(f.Kind) {
		return fmt.Errorf("impose %q: it is no fault of a clock", f.Kind)
	}
	for _, p := range spec.Params {
		if v := f.Value(p.Name); v < p.Min || v > p.Max {
			return fmt.Errorf("impose %s: %s is %d; it takes %d to %d", f.Kind, p.Name, v, p.Min, p.Max)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, on := c.on[f.Kind]; on {
		if now.Ref == f.Ref {
			return nil
		}
		return fmt.Errorf("impose %s of fault %d: fault %d %w; lift it first", f.Kind, f.Ref, now.Ref, ErrUnderWay)
	}
	c.on[f.Kind] = f
	switch t := c.now(); f.Kind {
	case faults.ClockJump:
		c.runs.Jump(t, f.Offset)
	case faults.ClockDrift:
		c.runs.Drift(t, f.Drift)
	case faults.ClockFreeze:
		c.runs.Freeze(t)
	}
	return nil
}

// Lift ends a fault; one that is not there is lifted already.
func (c *Clock) Lift(ref int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for kind, f := range c.on {
		if f.Ref != ref {
			continue
		}
		delete(c.on, kind)
		switch t := c.now(); kind {
		case faults.ClockJump:
			c.runs.Jump(t, -f.Offset)
		case faults.ClockDrift:
			c.runs.Drift(t, 0)
		case faults.ClockFreeze:
			c.runs.Thaw(t)
		}
	}
}

// Faults lists what is imposed, in the order of the catalog.
func (c *Clock) Faults() []faults.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []faults.Fault{}
	for _, spec := range faults.Kinds() {
		if f, on := c.on[spec.Kind]; on {
			list = append(list, f)
		}
	}
	return list
}
