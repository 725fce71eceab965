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
//		if s.Seeks(now) {                 // a fault on the leader is due:
//			s.Lead(world.Cluster())       //   who is that?
//		}
//		for _, f := range s.Due(now) {    // its target, peer and side are processes
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

// Kind names a fault; each has a file of its name in this package, with
// underscores.
type Kind string

// The kinds. The table Kinds in catalog.go says what each does.
const (
	Kill  Kind = "kill"  // SIGKILL; the process is started again after For
	Stop  Kind = "stop"  // SIGTERM and wait; the process is started again after For
	Pause Kind = "pause" // SIGSTOP, SIGCONT after For

	PowerLoss Kind = "power-loss" // of the process's machine; it is started again after For

	OutOfMemory Kind = "out-of-memory" // the kernel kills the process; it is started again after For
	CPUSlow     Kind = "cpu-slow"      // what the process computes takes Factor times as long

	Wipe    Kind = "wipe"    // the broker is killed and loses its data; it is started again after For
	Replace Kind = "replace" // the broker is killed for good; a new one takes its place after For

	DiskFull       Kind = "disk-full"        // no new space
	DiskSlow       Kind = "disk-slow"        // everything takes Factor times as long
	DiskStuck      Kind = "disk-stuck"       // nothing completes
	DiskReadError  Kind = "disk-read-error"  // Rate of the reads fail
	DiskWriteShort Kind = "disk-write-short" // the next Count writes fail after a part
	FsyncError     Kind = "fsync-error"      // the next Count syncs fail

	BitRot           Kind = "bit-rot"           // Count stored bits turn
	MisdirectedWrite Kind = "misdirected-write" // Rate of the writes land elsewhere
	LostWrite        Kind = "lost-write"        // Rate of the writes do not land

	Partition Kind = "partition" // the processes are split by Shape and Side
	Cut       Kind = "cut"       // nothing passes between the target and Peer
	Clog      Kind = "clog"      // the link to Peer carries BytesPerSecond at most
	Jam       Kind = "jam"       // what is sent on the links to Peer is held, and arrives in a burst after For
	Latency   Kind = "latency"   // Delay and up to Jitter more on the links to Peer
	Loss      Kind = "loss"      // Rate of the packets are lost on the links to Peer
	Reorder   Kind = "reorder"   // Rate of the packets come later by Delay on the links to Peer
	Duplicate Kind = "duplicate" // Rate of the packets arrive twice on the links to Peer
	Corrupt   Kind = "corrupt"   // a bit turns in Rate of the packets on the links to Peer, another broker
	Refuse    Kind = "refuse"    // connections to Peer are torn, and new ones refused
	Reset     Kind = "reset"     // connections are torn, both ends are told
	HalfOpen  Kind = "half-open" // connections are torn, only the target is told
	Silence   Kind = "silence"   // nothing from or to the target arrives, nobody is told

	ClockJump   Kind = "clock-jump"   // the wall clock is off by Offset
	ClockDrift  Kind = "clock-drift"  // the clocks run Drift ppm fast
	ClockFreeze Kind = "clock-freeze" // the clocks stand still
)

// Fault is one planned failure. Times are nanoseconds. Which of the parameters
// behind For a kind takes stands in its Spec; the others are zero.
type Fault struct {
	Ref    int    `json:"ref"`    // number in the plan, from 1
	Kind   Kind   `json:"kind"`   //
	Target string `json:"target"` // a process: broker-1, producer-2, consumer-ordered-1; or a selector: leader, follower-1
	Anchor Anchor `json:"anchor"` //
	For    int64  `json:"for"`    // until it is healed; what that means stands in Spec.ForIs

	// Maybe says that the scenario leaves the fault to chance: no verdict has
	// to rest on it.
	Maybe bool `json:"maybe,omitempty"`

	// Away is how many brokers may be away at once, the target among them, see
	// Spec.TakesAway: the fault waits while it would be one too many. 0: any number.
	Away int `json:"away,omitempty"`

	Rate           int64 `json:"rate,omitempty"`             // permille of operations or packets
	Count          int64 `json:"count,omitempty"`            // operations that fail, bits that turn
	Delay          int64 `json:"delay,omitempty"`            // of every packet
	Jitter         int64 `json:"jitter,omitempty"`           // up to so much more, drawn for each packet
	Offset         int64 `json:"offset,omitempty"`           // of the wall clock, either way
	Drift          int64 `json:"drift,omitempty"`            // ppm: how much faster a clock runs, or slower
	Factor         int64 `json:"factor,omitempty"`           // how many times as long
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"` // each way

	Shape Shape    `json:"shape,omitempty"` // of a partition
	Among Role     `json:"among,omitempty"` // who takes part in a partition, all others reach everybody; "": every process
	Side  []string `json:"side,omitempty"`  // processes or selectors; see Shape
	Peer  string   `json:"peer,omitempty"`  // the process or selector at the other end; "" where the kind allows it: every other one
}

// Anchor says when a fault is due: at a time, or some time after something
// was seen. Exactly one of At and After counts; At is meaningful when After
// is nil.
type Anchor struct {
	At    int64  `json:"at"`              // since the start of chaos
	After *Event `json:"after,omitempty"` //
}

// Event is what a triggered fault waits for, counted from the start of chaos.
// Exactly one of Acks, Attempts, Fault and Point is set.
type Event struct {
	Acks     int64  `json:"acks,omitempty"`     // that many acks seen, over all producers
	Attempts int64  `json:"attempts,omitempty"` // that many attempts seen
	Fault    int    `json:"fault,omitempty"`    // the fault of this Ref took effect
	Point    string `json:"point,omitempty"`    // Process passed the point of that name, see Points,
	Count    int64  `json:"count,omitempty"`    // for the Count-th time: from 1, 0 without Point
	Process  string `json:"process,omitempty"`  // a broker, or AnyProcess: all are counted together; "" without Point
	Delay    int64  `json:"delay,omitempty"`    // wait so long after it
}

// AnyProcess is the Event.Process of a point that any broker may pass.
const AnyProcess = "any"

// Window is a stretch of chaos, since its start: no fault is active in a quiet
// one.
type Window struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}
