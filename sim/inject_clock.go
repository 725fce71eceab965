package sim

import "pestle/faults"

// clockInjection is the table of faults of a broker's clocks.
func clockInjection(k faults.Kind) (injection, bool) {
	// change does something to the clock, and wakes the process by what it
	// shows from then on.
	change := func(do func(now int64, a *action)) func(*world, int64, *action) {
		return func(_ *world, now int64, a *action) {
			do(now, a)
			a.process.rewind(now)
		}
	}
	switch k {
	case faults.ClockJump:
		return injection{
			begin: change(func(now int64, a *action) { a.process.clock.Jump(now, a.fault.Offset) }),
			end:   change(func(now int64, a *action) { a.process.clock.Jump(now, -a.fault.Offset) }),
		}, true
	case faults.ClockDrift:
		return injection{
			begin: change(func(now int64, a *action) { a.process.clock.Drift(now, a.fault.Drift) }),
			end:   change(func(now int64, a *action) { a.process.clock.Drift(now, 0) }),
		}, true
	case faults.ClockFreeze:
		return injection{
			begin: change(func(now int64, a *action) { a.process.clock.Freeze(now) }),
			end:   change(func(now int64, a *action) { a.process.clock.Thaw(now) }),
		}, true
	}
	return injection{}, false
}
