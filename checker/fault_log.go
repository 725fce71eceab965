package checker

import "pestle/faults"

// faultLog knows which faults are active and when those of each kind were.
type faultLog struct {
	kinds         []faultKind // those of the plan, in its order
	kindByName    map[string]int
	running       map[faultEdge]bool // faults that took effect and have not ended
	effective     int64              // faults that took effect
	lastEffective int64

	all    activity // of faults, by the broker they are on
	clocks activity // of faults of a clock
}

// activity is when faults were active, by broker. Those of the network, and of
// other processes, count for any.
type activity struct {
	running []int
	ended   lastTimes
}

func (a *activity) begin(broker int) {
	a.running = grown(a.running, broker)
	a.running[broker]++
}

func (a *activity) end(broker int, now int64) {
	a.running[broker]--
	a.ended.at(broker, now)
}

// noneSince reports that none was active at any time from t to now that may
// have to do with the broker.
func (a *activity) noneSince(broker int, t int64) bool {
	for i, running := range a.running {
		if running > 0 && concerns(i, broker) {
			return false
		}
	}
	return !a.ended.since(broker, t)
}

// faultEdge names one fault on one process: one fault may hit several.
type faultEdge struct {
	ref    int
	target string
}

type faultKind struct {
	name      string
	effective int64
	active    int
	ended     bool // at least one has ended
	lastEnded int64
}

func newFaultLog(kinds []string) faultLog {
	l := faultLog{kindByName: make(map[string]int), running: make(map[faultEdge]bool)}
	for i, name := range kinds {
		l.kinds = append(l.kinds, faultKind{name: name})
		l.kindByName[name] = i
	}
	return l
}

func (l *faultLog) begin(edge faultEdge, kind string, broker int, now int64) {
	l.running[edge] = true
	l.effective++
	l.lastEffective = now
	l.all.begin(broker)
	if classOf(kind) == faults.OfClock {
		l.clocks.begin(broker)
	}
	if i, known := l.kindByName[kind]; known {
		l.kinds[i].effective++
		l.kinds[i].active++
	}
}

func (l *faultLog) end(edge faultEdge, kind string, broker int, now int64) {
	delete(l.running, edge)
	l.all.end(broker, now)
	if classOf(kind) == faults.OfClock {
		l.clocks.end(broker, now)
	}
	if i, known := l.kindByName[kind]; known {
		k := &l.kinds[i]
		k.active--
		k.ended, k.lastEnded = true, now
	}
}

// ends reports that a fault of the kind is the end of its process.
func ends(kind string) bool {
	switch faults.Kind(kind) {
	case faults.Kill, faults.OutOfMemory, faults.Stop, faults.PowerLoss, faults.Wipe, faults.Replace:
		return true
	}
	return false
}

func classOf(kind string) faults.Class {
	spec, _ := faults.Find(faults.Kind(kind))
	return spec.Class
}

// touched reports that a fault of the kind was active at some time from since
// to now: it is still active, or the last to end did so after since.
func (k *faultKind) touched(since int64) bool {
	return k.active > 0 || k.ended && k.lastEnded >= since
}
