package sim

import (
	"pestle/faults"
	"pestle/sim/network"
)

// networkInjection is the table of faults of the network.
func networkInjection(k faults.Kind) (injection, bool) {
	switch k {
	case faults.Partition, faults.Cut, faults.Silence, faults.Clog, faults.Jam, faults.Latency,
		faults.Loss, faults.Reorder, faults.Duplicate, faults.Corrupt:
		return injection{begin: impose, end: lift}, true
	case faults.Refuse:
		return injection{begin: refuse, end: lift}, true
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

func impose(w *world, now int64, a *action) {
	c := conditionOf(now, a.fault)
	for _, l := range w.affected(a) {
		w.net.Impose(now, a.fault.Ref, l.from, l.to, c)
	}
}

func lift(w *world, now int64, a *action) {
	for _, l := range w.affected(a) {
		w.net.Lift(now, a.fault.Ref, l.from, l.to)
	}
}

// refuse closes the links first: whoever is told that its connection is torn
// may try again in the same moment.
func refuse(w *world, now int64, a *action) {
	impose(w, now, a)
	for _, l := range w.affected(a) {
		if l.from == a.process.host {
			w.notify(now, w.net.ResetBetween(now, l.from, l.to))
		}
	}
}

// conditionOf is what a fault that begins now does to each of its links.
func conditionOf(now int64, f faults.Fault) network.Condition {
	switch f.Kind {
	case faults.Clog:
		return network.Condition{BytesPerSecond: f.BytesPerSecond, Delay: f.Delay}
	case faults.Jam:
		return network.Condition{HeldUntil: now + f.For}
	case faults.Latency:
		return network.Condition{Delay: f.Delay, Jitter: f.Jitter}
	case faults.Loss:
		return network.Condition{LossPermille: f.Rate}
	case faults.Reorder:
		return network.Condition{ReorderPermille: f.Rate, ReorderBy: f.Delay}
	case faults.Duplicate:
		return network.Condition{DuplicatePermille: f.Rate}
	case faults.Corrupt:
		return network.Condition{CorruptPermille: f.Rate}
	case faults.Refuse:
		return network.Condition{Refused: true}
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
			if a.fault.Hits(from.name, to.name) {
				list = append(list, direction{from.host, to.host})
			}
		}
	}
	return list
}
