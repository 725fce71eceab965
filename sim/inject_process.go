package sim

import "pestle/faults"

// processInjection is the table of faults of a process and its machine.
func processInjection(k faults.Kind) (injection, bool) {
	switch k {
	case faults.Kill, faults.OutOfMemory:
		return injection{begin: func(_ *world, now int64, a *action) { a.process.end(now, false) }}, true
	case faults.Stop:
		return injection{begin: func(_ *world, now int64, a *action) { a.process.post(now, evTerminate, 0) }}, true
	case faults.PowerLoss:
		return injection{begin: func(_ *world, now int64, a *action) { a.process.end(now, true) }}, true
	case faults.Pause:
		return injection{
			begin: func(_ *world, _ int64, a *action) { a.process.paused = true },
			end:   func(_ *world, now int64, a *action) { a.process.resume(now) },
		}, true
	case faults.CPUSlow:
		return injection{
			begin: func(_ *world, _ int64, a *action) { a.process.slow = a.fault.Factor },
			end:   func(_ *world, now int64, a *action) { a.process.quicken(now) },
		}, true
	}
	return injection{}, false
}
