// Package quiet carries a request for quiet from a process of a run to the
// harness that leads it, and the answer back. A request asks, for a number of
// seconds, for no faults: what Antithesis' stop-faults command does there.
//
// It owns the files of the request in a directory that both sides see, and the
// lock by which the harness shows that it is there. It never ends a fault and
// never says what quiet is: the conductor does both.
//
// The side of the harness:
//
//	desk, err := quiet.Open(filepath.Join(runDir, quiet.Dir))
//	requests, err := desk.Requests() // new ones
//	err = desk.Answer(requests[0], quiet.Answer{Quiet: true, Until: until})
//
// The side of a process, which waits until quiet is real:
//
//	answer, err := quiet.Ask(ctx, os.Getenv(quiet.DirVariable), 30)
//
// Files, each written under another name and renamed, so that nobody sees a
// part of one; n is 16 hex digits:
//
//	harness      empty; the harness holds a lock (flock) on it while it lives
//	n.request    {"schema":1,"seconds":30}; the harness removes it when it has read it
//	n.answer     {"schema":1,"quiet":true,"until":…} or {"schema":1,"quiet":false,"reason":"…"}; the asker removes it
//	stop-faults  process world: a link to Pestle's program, which then asks
package quiet

const (
	// Dir is the directory's name in a run directory.
	Dir = "quiet"

	// LinkName is the name under which Pestle's program is the stop-faults
	// command.
	LinkName = "stop-faults"

	// Variable has the path of the stop-faults command, in the environment of
	// every process of a workload. Its name is Antithesis'.
	Variable = "ANTITHESIS_STOP_FAULTS"

	// DirVariable has the path of the directory, in the same environment.
	DirVariable = "PESTLE_QUIET_DIR"

	// MaxSeconds is the longest quiet that can be asked for at once: an hour,
	// longer than any run. Whoever wants more asks again.
	MaxSeconds = 3600
)
