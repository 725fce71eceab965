package conductor

import (
	"context"
	"errors"
	"syscall"

	"pestle/faults"
)

// Host is where the processes of a run live: this machine, containers, a test.
// It knows how a process is started and hurt, and nothing of phases, schedules
// or verdicts.
//
// One goroutine, the conductor's, calls it, but for Signal. No call waits for what
// it begins: what became of it comes on the channels. A call may take some ten
// milliseconds; while it does, the whole run stands still. An error of a call
// is a failure of the harness and ends the run.
type Host interface {
	// Prepare makes everything but processes, and does wait: after it every
	// process of the layout can be started. It fails with ErrTargetMissing when
	// the system under test is not to be had here. Close is called whether it
	// failed or not.
	Prepare(ctx context.Context, l Layout) error

	// Address tells where a broker is reached, by its number from 1. It is known
	// once Prepare is over, and stays the same when the broker is started again.
	Address(broker int) Endpoints

	// Start begins an incarnation of a process that does not run. Its output is
	// appended to logs/<process>.log of the run directory. That it could not be
	// started is the error, or an Exit with Err.
	Start(process string) error

	// Signal sends SIGTERM, SIGKILL, SIGSTOP or SIGCONT, and has sent it when it
	// returns. It is called while other calls, also of itself, are under way, and
	// may take its time. Of a process that has just ended by itself its error is
	// os.ErrProcessDone: its Exit is on the way.
	Signal(process string, s syscall.Signal) error

	// Tell writes one control line, without its newline, to a workload process.
	Tell(process, line string) error

	// Exits has one value for each incarnation that was started, once it is gone
	// and its last output is in its log.
	Exits() <-chan Exit

	// LastWords are the last lines of a process's log, for an error message.
	LastWords(process string) string

	// LoseData empties the data directory of a broker that does not run.
	LoseData(broker string) error

	// Can tells why it cannot carry a fault out, in a clause for the verdict
	// ("the kernel has no nfqueue: …"), or "". It is asked once for each fault of
	// the plan after Prepare. The fault's target may be a selector still. Kill,
	// stop, pause, wipe and replace are not asked for: every host has them.
	Can(f faults.Fault) (why string)

	// Impose begins a fault that is none of those five. Its target, peer and side
	// are processes. The host answers with one Actuation of EdgeEffective, or one
	// with Err.
	//
	// Faults that end a process (power-loss, out-of-memory) end it by SIGKILL:
	// they are effective once that was sent, and the process's Exit follows or
	// came before. They are not lifted: the conductor starts the process again
	// after Fault.For, and the host undoes then what kept it from working.
	Impose(f faults.Fault)

	// Lift ends a fault that is effective. The host answers with one Actuation of
	// EdgeEnded, or one with Err. Faults that are over at once (Spec.MaxFor 0)
	// are not lifted. That the target does not run any more is no error.
	Lift(f faults.Fault)

	// Actuations answers Impose and Lift.
	Actuations() <-chan Actuation

	// Close ends what still runs, removes what the host made, but for the files
	// of the run directory, and waits until it is gone.
	Close() error
}

// ErrTargetMissing means that the system under test is not installed here:
// nothing was tested.
var ErrTargetMissing = errors.New("the system under test is not installed")

// Endpoints are the addresses, host:port, of one broker.
type Endpoints struct {
	Call string // where the harness calls its HTTP interface
	TCP  string // where the clients connect; the broker listens there
	HTTP string // where it listens for HTTP
	Peer string // where the other brokers reach it, and it listens for them
}

// Exit is the end of an incarnation.
type Exit struct {
	Process string
	Life    int            // which incarnation, from 1: how often Start was called; 0 with Err: none in particular
	Code    int            // exit code; meaningless when Signal is set or Err is
	Signal  syscall.Signal // that ended it; 0: it ended itself
	How     string         // the same for people: "exit status 2", "signal: killed", "out of memory"
	Err     error          // the incarnation could not be started, its end not be seen, or what it lives in is lost
}

// Actuation tells what became of Impose or Lift.
type Actuation struct {
	Ref      int    // of the fault
	Edge     string // history.EdgeEffective or history.EdgeEnded
	Done     int64  // CLOCK_MONOTONIC ns: when it was certain
	Evidence string // what shows it: Docker's event, a counter, an exit code; for people, one line
	Err      error  // it could not be done, and says which fault and why: the run ends
}
