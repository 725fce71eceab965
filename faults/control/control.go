// Package control is the wire between the harness and a broker of a chaos
// build: requests for faults of its disk and its clock, and for the loss of
// its power. It owns the types and the caller's side; port serves them. A
// broker offers it at --chaos-address, and a released one has none of it.
//
//	method and path     request       answer
//	POST /impose        Imposition    {}: it is in effect
//	POST /lift          Lifting       Lifted: it is over
//	POST /power-loss    PowerLoss     Loss: the files are rolled back; now kill the process
//	GET  /status                      Status
//
// A request that cannot be carried out is answered with status 400 when it is
// wrong, 409 when the state does not allow it, 500 when the real disk failed,
// and a Refusal. Requests may be repeated: what is imposed or lifted already
// stays so. Nothing but damage of the medium outlives the process: what is
// still under way when it is started again has to be imposed again.
//
//	c := control.NewClient("127.0.0.1:4199")
//	err := c.Impose(ctx, fault, seed)
//	bites, err := c.Lift(ctx, fault.Ref)
//	loss, err := c.PowerLoss(ctx, seed)
package control

import "pestle/faults"

// MaxRequest is the longest body of a request in bytes.
const MaxRequest = 64 << 10

// Imposition asks for a fault. Of Fault, Ref, Kind and the parameters of the
// kind count.
type Imposition struct {
	Fault faults.Fault `json:"fault"`
	Seed  uint64       `json:"seed"` // decides all that is drawn
}

// Lifting asks for the end of a fault.
type Lifting struct {
	Ref int `json:"ref"`
}

// Lifted tells how a fault went.
type Lifted struct {
	Bites int64 `json:"bites"` // how often it changed how an operation went, or what is stored; of this process
}

// PowerLoss asks for the loss of power.
type PowerLoss struct {
	Seed uint64 `json:"seed"`
}

// Loss counts what became of the operations that were written and not durable.
type Loss struct {
	Kept    int64 `json:"kept"`    // operations that are there as if they had been durable
	Torn    int64 `json:"torn"`    // of which some sectors are there
	Dropped int64 `json:"dropped"` // of which nothing is there
	Garbage int64 `json:"garbage"` // sectors with garbage in them
}

// Status is what a process is under.
type Status struct {
	PowerLost bool      `json:"power_lost"`
	Lying     bool      `json:"lying"` // its disk makes nothing durable
	Faults    []Imposed `json:"faults"`
	Clock     Clock     `json:"clock"`
}

// Imposed is a fault that is under way.
type Imposed struct {
	Ref   int         `json:"ref"`
	Kind  faults.Kind `json:"kind"`
	Bites int64       `json:"bites"` // 0 for a clock
}

// Clock is how wrong the clocks are.
type Clock struct {
	Offset int64 `json:"offset"` // ns by which the wall clock is ahead of the machine's
	Drift  int64 `json:"drift"`  // ppm by which both run fast
	Frozen bool  `json:"frozen"`
}

// Refusal is the answer to a request that is not carried out.
type Refusal struct {
	Error string `json:"error"`
}

// Carries reports whether a fault of a kind is for the control port of its
// broker. The loss of power is too, by a request of its own.
func Carries(k faults.Kind) bool {
	switch k {
	case faults.DiskFull, faults.DiskSlow, faults.DiskStuck, faults.DiskReadError, faults.DiskWriteShort,
		faults.FsyncError, faults.BitRot, faults.MisdirectedWrite, faults.LostWrite,
		faults.ClockJump, faults.ClockDrift, faults.ClockFreeze:
		return true
	}
	return false
}
