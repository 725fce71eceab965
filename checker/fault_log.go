package checker

import (
	"sort"

	"pestle/faults"
)

// faultLog knows which faults are active and when those of each kind were.
type faultLog struct {
	kinds         []faultKind // those of the plan, in its order
	kindByName    map[string]int
	running       map[faultEdge]bool // faults that took effect and have not ended
	effective     int64              // faults that took effect
	lastEffective int64
	anyEnded      bool
	lastEnded     int64

	wrongClocks   int // clock faults that are active
	clocksEnded   bool
	clocksEndedAt int64
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

func (l *faultLog) begin(edge faultEdge, kind string, now int64) {
	l.running[edge] = true
	l.effective++
	l.lastEffective = now
	if ofClock(kind) {
		l.wrongClocks++
	}
	if i, known := l.kindByName[kind]; known {
		l.kinds[i].effective++
		l.kinds[i].active++
	}
}

func (l *faultLog) end(edge faultEdge, kind string, now int64) {
	delete(l.running, edge)
	l.anyEnded, l.lastEnded = true, now
	if ofClock(kind) {
		l.wrongClocks--
		l.clocksEnded, l.clocksEndedAt = true, now
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
	case faults.Kill, faults.Stop, faults.PowerLoss:
		return true
	}
	return false
}

func ofClock(kind string) bool {
	spec, _ := faults.Find(faults.Kind(kind))
	return spec.Class == faults.OfClock
}

// noneSince reports that no fault was active at any time from t to now.
func (l *faultLog) noneSince(t int64) bool {
	return len(l.running) == 0 && !(l.anyEnded && l.lastEnded >= t)
}

// clocksRightSince reports the same of faults of a clock.
func (l *faultLog) clocksRightSince(t int64) bool {
	return l.wrongClocks == 0 && !(l.clocksEnded && l.clocksEndedAt >= t)
}

// touched reports that a fault of the kind was active at some time from since
// to now: it is still active, or the last to end did so after since.
func (k *faultKind) touched(since int64) bool {
	return k.active > 0 || k.ended && k.lastEnded >= since
}

// causes are the recorded reasons why positions may be delivered again: of one
// stream, or of the broker and so of every stream. One cause explains one more
// delivery of each position that was sent before the cause was over.
type causes struct {
	active int     // faults that are not over
	over   []int64 // when each other one was over, ascending
}

func (c *causes) begin()           { c.active++ }
func (c *causes) end(at int64)     { c.active--; c.over = append(c.over, at) }
func (c *causes) instant(at int64) { c.over = append(c.over, at) }

// since counts the causes that were not over before t.
func (c *causes) since(t int64) int64 {
	before := sort.Search(len(c.over), func(i int) bool { return c.over[i] >= t })
	return int64(c.active + len(c.over) - before)
}
