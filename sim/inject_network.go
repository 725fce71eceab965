package sim

import (
	"pestle/faults"
	"pestle/sim/network"
)

// networkInjection is the table of faults of the network.
func networkInjection(k faults.Kind) (injection, bool) {
	switch k {
	case faults.Partition, faults.Cut, faults.Silence, faults.Clog, faults.Latency, faults.Loss:
		return injection{
			begin: func(w *world, now int64, a *action) {
				c := conditionOf(a.fault)
				for _, l := range w.affected(a) {
					w.net.Impose(now, a.fault.Ref, l.from, l.to, c)
				}
			},
			end: func(w *world, now int64, a *action) {
				for _, l := range w.affected(a) {
					w.net.Lift(now, a.fault.Ref, l.from, l.to)
				}
			},
		}, true
	case faults.Reset:
		return injection{
			begin: func(w *world, now int64, a *action) { w.notify(now, w.net.Reset(now, a.process.host)) },
			end:   func(*world, int64, *action) {},
		}, true
	case faults.HalfOpen:
		return injection{
			begin: func(w *world, now int64, a *action) {
				w.notify(now, w.net.HalfOpen(a.process.host, now+a.fault.For))
			},
			end: func(w *world, now int64, a *action) { w.net.Unsilence(now, a.process.host) },
		}, true
	}
	return injection{}, false
}

func conditionOf(f faults.Fault) network.Condition {
	switch f.Kind {
	case faults.Clog:
		return network.Condition{BytesPerSecond: f.BytesPerSecond, Delay: f.Delay}
	case faults.Latency:
		return network.Condition{Delay: f.Delay, Jitter: f.Jitter}
	case faults.Loss:
		return network.Condition{LossPermille: f.Rate}
	default:
		return network.Condition{Cut: true}
	}
}

// direction is one directed link.
type direction struct{ from, to network.Host }

// affected lists the directed links of a fault, in order.
func (w *world) affected(a *action) (list []direction) {
	for _, from := range w.processes {
		for _, to := range w.processes {
			if from != to && hit(a.fault, from.name, to.name) {
				list = append(list, direction{from.host, to.host})
			}
		}
	}
	return list
}

// hit reports whether a fault of the network is on what goes from one process
// to another.
func hit(f faults.Fault, from, to string) bool {
	if f.Kind == faults.Partition {
		return f.Severs(from, to)
	}
	touches := from == f.Target || to == f.Target
	return touches && (f.Peer == "" || from == f.Peer || to == f.Peer)
}
