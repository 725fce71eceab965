package sim

import (
	"slices"

	"pestle/broker/core"
	"pestle/faults"
)

// passed notes which points of its code a broker's core has passed, and lets
// the faults that wait for them begin.
func (w *world) passed(now int64, p *process, points []core.Point) {
	for _, point := range points {
		w.points[point]++
		if w.scheduler != nil && w.waited[point] {
			w.scheduler.Point(now-w.chaosBegan, p.name, point.String())
			w.arm()
		}
	}
}

// waitedPoints marks the points that some fault of the plan waits for. The
// others need not be told, and several are passed at every step.
func waitedPoints(list []faults.Fault) (waited [core.PointCount]bool) {
	for point := range waited {
		name := core.Point(point).String()
		waited[point] = slices.ContainsFunc(list, func(f faults.Fault) bool {
			return f.Anchor.After != nil && f.Anchor.After.Point == name
		})
	}
	return waited
}

// pointCounts lists the points that were passed, in the order of core's table.
func (w *world) pointCounts() (list []Count) {
	for point, times := range w.points {
		if times > 0 {
			list = append(list, Count{core.Point(point).String(), times})
		}
	}
	return list
}
