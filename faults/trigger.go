package faults

import (
	"fmt"
	"slices"

	"pestle/history"
)

// Settle is the time a plan keeps free between the end of a fault and the next
// quiet window, the end of chaos or the next fault on the same target: the
// restarted process has to come up and its clients have to find it again.
const Settle = second

// Margin is the part of Settle that the Scheduler insists on when it carries
// the plan out. The rest is what a fault may be late before it has to move to
// the other side of a quiet window.
const Margin = 400 * millisecond

// Clearance is how long after a quiet window a fault can begin at the earliest.
// Worlds look at the clock in steps, and one that finds the end of the window
// and a fault in the same step must not spoil the window.
const Clearance = 20 * millisecond

// Never stands for a moment that did not come.
const Never = int64(-1)

// Seek is how long a fault on a selector waits before it looks again for whom
// it stands for.
const Seek = 20 * millisecond

// Scheduler decides when each fault of a plan is due. It is told what happened
// and what became of the faults it handed out; all times are nanoseconds since
// the start of chaos and must not go back.
//
// A fault that is due waits while its target is under another fault, while too
// many brokers are away (Fault.Away), and while it could not be over Margin
// before the next quiet window. It is dropped when there is no room left before
// the end of chaos. One that waited for a point of recovery ends its target
// while that is being started again after a fault.
//
// A fault on a selector holds nobody while it waits. When it is due, Seeks says
// so, the world tells by Lead who leads, and Due returns the fault on the
// process that the selector stands for then; that process it holds. Where nobody
// leads, or that process is under another fault, it looks again Seek later.
type Scheduler struct {
	items    []item // by Ref
	quiet    []Window
	chaos    int64
	now      int64
	acks     int64
	attempts int64
	points   int // faults that wait for a point
	cluster  Cluster
}

// item is one fault on its way. state only grows.
type item struct {
	fault     Fault
	state     state
	breaksIn  bool  // it can end its target during recovery
	takesAway bool  // a broker
	due       int64 // known from armed on
	again     int64 // a fault on a selector looks again then
	unfound   bool  // nobody was whom its selector stands for, when it looked last
	passed    int64 // times that its point was passed
	asked     int64
	effective int64
	ended     int64
}

type state uint8

const (
	waiting  state = iota // its trigger has not come
	armed                 // due is known
	underway              // handed out, holds its target
	over                  // ended
	dropped               // no room left
)

// New returns the scheduler of faults that Validate accepts. It keeps no
// reference to its arguments.
func New(faults []Fault, quiet []Window, chaos int64) *Scheduler {
	s := &Scheduler{quiet: append([]Window(nil), quiet...), chaos: chaos}
	for _, f := range faults {
		it := item{fault: f, takesAway: takesAway(f), due: Never, asked: Never, effective: Never, ended: Never}
		switch after := f.Anchor.After; {
		case after == nil:
			it.state, it.due = armed, f.Anchor.At
		case after.Point != "":
			point, _ := FindPoint(after.Point)
			it.breaksIn = point.Recovery && endsProcess(f.Kind)
			s.points++
		}
		s.items = append(s.items, it)
	}
	return s
}

// Observe counts what triggers wait for. It wants every event from the start
// of chaos on; other events than attempts and acks change nothing.
func (s *Scheduler) Observe(now int64, e history.Event) {
	s.tick(now)
	switch e.Ev {
	case history.Ack:
		s.acks++
	case history.Attempt:
		s.attempts++
	default:
		return
	}
	for i := range s.items {
		it := &s.items[i]
		if it.state != waiting {
			continue
		}
		after := it.fault.Anchor.After
		if after.Acks > 0 && s.acks >= after.Acks || after.Attempts > 0 && s.attempts >= after.Attempts {
			it.state, it.due = armed, now+after.Delay
		}
	}
}

// Point counts that a process passed a point of the table Points, for the
// faults that wait for it. It costs next to nothing when none does.
func (s *Scheduler) Point(now int64, process, name string) {
	s.tick(now)
	if s.points == 0 {
		return
	}
	for i := range s.items {
		it := &s.items[i]
		if it.state != waiting || it.fault.Anchor.After.Point != name {
			continue
		}
		if of := it.fault.Anchor.After.Process; of != AnyProcess && of != process {
			continue
		}
		if it.passed++; it.passed == it.fault.Anchor.After.Count {
			it.state, it.due = armed, now+it.fault.Anchor.After.Delay
			s.points--
		}
	}
}

// Seeks tells whether Due has to know who leads: a fault on a selector could
// begin now.
func (s *Scheduler) Seeks(now int64) bool {
	s.tick(now)
	for i := range s.items {
		it := &s.items[i]
		if it.state != armed || it.due > now || it.again > now || !it.fault.selects() {
			continue
		}
		if at, ok := s.room(now, it.fault); ok && at == now && !s.busy(it.fault, it.breaksIn) {
			return true
		}
	}
	return false
}

// Lead tells what the target looks like, for the next call of Due.
func (s *Scheduler) Lead(c Cluster) { s.cluster = c }

// Due returns the faults to begin now, in the order they became due. Each is
// returned once, on processes in the place of selectors, and holds its target
// until Ended.
func (s *Scheduler) Due(now int64) []Fault {
	s.tick(now)
	var out []Fault
	for {
		it := s.next(now)
		if it == nil {
			s.cluster = Cluster{}
			return out
		}
		it.state, it.asked = underway, now
		it.fault, _ = Resolve(it.fault, s.cluster)
		out = append(out, it.fault)
	}
}

// next returns the fault that became due first among those that can begin
// now, and drops those that never can again.
func (s *Scheduler) next(now int64) *item {
	var first *item
	for i := range s.items {
		it := &s.items[i]
		if it.state != armed || it.due > now || it.again > now {
			continue
		}
		at, ok := s.room(now, it.fault)
		switch {
		case !ok:
			it.state = dropped
		case at > now || !s.free(it, now):
		case first == nil || it.due < first.due:
			first = it
		}
	}
	return first
}

// free tells whether nothing holds the target of a fault that is due. One on a
// selector that is not free looks again later.
func (s *Scheduler) free(it *item, now int64) bool {
	f, found := Resolve(it.fault, s.cluster)
	it.unfound = !found
	if found && !s.busy(f, it.breaksIn) {
		return true
	}
	if it.fault.selects() {
		it.again = now + Seek
	}
	return false
}

// Next returns the moment at which Due may have something to return, if
// nothing is reported until then. Without one, ok is false.
func (s *Scheduler) Next() (deadline int64, ok bool) {
	for i := range s.items {
		it := &s.items[i]
		if it.state != armed || s.busy(it.fault, it.breaksIn) {
			continue
		}
		at, fits := s.room(max(it.due, it.again, s.now), it.fault)
		if fits && (!ok || at < deadline) {
			deadline, ok = at, true
		}
	}
	return deadline, ok
}

// Effective reports that the fault took effect; faults that wait for it are
// armed. It panics when the fault is not underway.
func (s *Scheduler) Effective(ref int, now int64) {
	it := s.underway(ref, now)
	it.effective = now
	for i := range s.items {
		w := &s.items[i]
		if w.state == waiting && w.fault.Anchor.After.Fault == ref {
			w.state, w.due = armed, now+w.fault.Anchor.After.Delay
		}
	}
}

// Ended reports that the fault is healed and its target ready again; without
// Effective before, that it could not be carried out. It panics when the fault
// is not underway.
func (s *Scheduler) Ended(ref int, now int64) {
	it := s.underway(ref, now)
	it.state, it.ended = over, now
}

func (s *Scheduler) underway(ref int, now int64) *item {
	s.tick(now)
	if ref < 1 || ref > len(s.items) || s.items[ref-1].state != underway {
		panic(fmt.Sprintf("faults: report about fault %d, which is not underway", ref))
	}
	return &s.items[ref-1]
}

func (s *Scheduler) tick(now int64) {
	if now < s.now {
		panic(fmt.Sprintf("faults: time went back from %d to %d ns", s.now, now))
	}
	s.now = now
}

// busy says whether f has to wait: another fault holds its target, or too many
// brokers are away.
func (s *Scheduler) busy(f Fault, breaksIn bool) bool {
	for i := range s.items {
		o := &s.items[i]
		if o.state != underway || o.fault.Target != f.Target || Together(o.fault.Kind, f.Kind) {
			continue
		}
		if !breaksIn || !endsProcess(o.fault.Kind) {
			return true
		}
	}
	return s.crowded(f)
}

// crowded says whether so many other brokers are away that f would take one too
// many.
func (s *Scheduler) crowded(f Fault) bool {
	if f.Away == 0 {
		return false
	}
	var away []string
	for i := range s.items {
		o := &s.items[i]
		if o.state == underway && o.takesAway && o.fault.Target != f.Target && !slices.Contains(away, o.fault.Target) {
			away = append(away, o.fault.Target)
		}
	}
	return len(away) >= f.Away
}

// takesAway tells whether a fault takes a broker away.
func takesAway(f Fault) bool {
	spec, _ := Find(f.Kind)
	role, _ := TargetRole(f.Target)
	return spec.TakesAway && role == Broker
}

// endsProcess tells whether a kind ends its target, which is then started
// again.
func endsProcess(k Kind) bool { return k == Kill || k == Stop || k == PowerLoss || k == Wipe }

// room returns the first moment from t on at which f can begin and be over
// Margin before the next quiet window and the end of chaos.
func (s *Scheduler) room(t int64, f Fault) (int64, bool) {
	for _, w := range s.quiet {
		if t < w.To+Clearance && t+f.For+Margin > w.From {
			t = w.To + Clearance
		}
	}
	return t, t+f.For+Margin <= s.chaos
}

// Entries returns the journal so far, by Ref. A fault that had no effect
// says why in its Note.
func (s *Scheduler) Entries() []Entry {
	out := make([]Entry, 0, len(s.items))
	for i := range s.items {
		out = append(out, s.entry(&s.items[i]))
	}
	return out
}

func (s *Scheduler) entry(it *item) Entry {
	e := Entry{
		Ref: it.fault.Ref, Kind: it.fault.Kind, Target: it.fault.Target,
		Asked: it.asked, Effective: it.effective, Ended: it.ended,
	}
	if it.effective != Never {
		e.Lateness = it.effective - it.due
	}
	switch {
	case it.state == waiting:
		e.Note = "its trigger did not come"
	case it.state == armed && it.due <= s.now && s.crowded(it.fault):
		e.Note = "too many brokers were away"
	case it.state != over && it.unfound:
		e.Note = "there was nobody that its selector stands for"
	case it.state == armed && s.busy(it.fault, it.breaksIn):
		e.Note = "its target was still under another fault"
	case it.state == armed && it.due > s.now:
		e.Note = "not due yet"
	case it.state == over && it.effective == Never:
		e.Note = "its target was not there to be hit"
	case it.state == armed, it.state == dropped:
		e.Note = "no room before the end of chaos"
	}
	return e
}
