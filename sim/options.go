package sim

import (
	"pestle/broker/core"
	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
	"pestle/sim/network"
)

// Options say what to run.
type Options struct {
	Plan  scenarios.Plan
	Noise uint64 // seed of what the plan leaves open

	Sink  func(history.Event) error // gets every event in merged order; an error ends the run
	Until Limit                     // where to stop; zero: at the end
	Log   func(line string)         // gets every event and effect in words; nil: nobody wants them, and the run is many times faster

	// Statistics gets what each broker answers when it is asked for its
	// statistics, once a second; now is virtual. nil: nobody wants them, and a
	// broker alone is not asked.
	Statistics func(now int64, broker string, s *core.Stats)
}

// Limit is a place in a run. A zero field does not limit.
type Limit struct {
	Steps uint64 // events and effects, as Result.Events counts them
	Time  int64  // virtual, ns
}

// Result is what a run amounts to beyond its history's verdict.
type Result struct {
	TraceHash   uint64   // of every event and effect
	Checkpoints []uint64 // the hash after every CheckpointEvery of them
	Events      uint64   // how many there were
	Steps       uint64   // of the broker's core and the clients' machines, among them
	Elapsed     int64    // virtual ns

	Faults    []faults.Entry // nil when chaos never began
	Histories []Stream       // by process, the harness first
	States    []State        // by process: the state files of the workload
	Logs      []State        // by process: what the brokers logged, a line each with its time

	Bites    []Bites     // how often faults of the disk made a difference, by kind
	Met      network.Met // what faults did to packets between brokers
	Points   []Count     // how often each named point of the broker was passed
	WarmedUp bool        // warm-up reached the plan's floor
	Partial  bool        // Until came first
}

// Stream is the history of one process.
type Stream struct {
	Name   string
	Events []history.Event
}

// State is a file of one process.
type State struct {
	Name    string
	Content []byte
}

// Bites counts the operations that one kind of disk fault changed.
type Bites struct {
	Kind  string
	Times int64
}

// Count says how often something happened.
type Count struct {
	Name  string
	Times int64
}
