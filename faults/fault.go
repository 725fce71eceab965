// Package faults is the catalog of injected failures: what kinds there are,
// what their parameters mean, when one is due and the journal of what really
// happened.
//
// It owns the fault vocabulary of plans, the rules that keep faults out of
// quiet windows and off a target that is already broken, and the line format
// of faults.ndjson. It never touches a process, a clock or a file: worlds carry
// faults out and report back.
//
//	s := faults.New(plan.Faults, plan.Phases.Quiet, plan.Phases.Chaos)
//	for now := range ticks {                  // nanoseconds since the start of chaos
//		for _, f := range s.Due(now) {
//			world.Begin(f)                    // then, as it happens:
//		}                                     //   s.Effective(f.Ref, t) its signal was sent
//	}                                         //   s.Ended(f.Ref, t)     its successor is ready
//	for _, e := range s.Entries() {
//		line = faults.AppendEntry(line[:0], e)
//	}
//
// A line of faults.ndjson is one JSON object; its table stands in journal.go.
//
//det:ring0
package faults

// Kind names a fault; each has a file of its name in this package.
type Kind string

// The kinds. The table Kinds in catalog.go says what each does.
const (
	Kill  Kind = "kill"  // SIGKILL; the process is started again after For
	Stop  Kind = "stop"  // SIGTERM and wait; the process is started again after For
	Pause Kind = "pause" // SIGSTOP, SIGCONT after For
)

// Fault is one planned failure. Times are nanoseconds.
type Fault struct {
	Ref    int    `json:"ref"`    // number in the plan, from 1
	Kind   Kind   `json:"kind"`   //
	Target string `json:"target"` // a process: broker-1, producer-2, consumer-ordered-1
	Anchor Anchor `json:"anchor"` //
	For    int64  `json:"for"`    // kill, stop: from its end to the restart; pause: its length
}

// Anchor says when a fault is due: at a time, or some time after something
// was seen. Exactly one of At and After counts; At is meaningful when After
// is nil.
type Anchor struct {
	At    int64  `json:"at"`              // since the start of chaos
	After *Event `json:"after,omitempty"` //
}

// Event is what a triggered fault waits for, counted from the start of chaos.
// Exactly one of Acks, Attempts and Fault is set.
type Event struct {
	Acks     int64 `json:"acks,omitempty"`     // that many acks seen, over all producers
	Attempts int64 `json:"attempts,omitempty"` // that many attempts seen
	Fault    int   `json:"fault,omitempty"`    // the fault of this Ref took effect
	Delay    int64 `json:"delay,omitempty"`    // wait so long after it
}

// Window is a stretch of chaos, since its start: no fault is active in a quiet
// one.
type Window struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}
