// Package stream keeps histories in files: one NDJSON file per process, which
// that process alone appends to and anyone may read at the same time.
//
// It owns the writing of lines so that a SIGKILL at any instant loses at most
// a torn last line, the repair of such a line, and the reading of live and of
// saved files. It never judges what the lines say: that is the checker's.
//
//	w, err := stream.OpenWriter("run/history/producer-1.ndjson", "producer-1")
//	if err != nil {
//		return err
//	}
//	defer w.Close()
//	_, err = w.Append(history.Event{Ev: history.Note, What: history.NoteStarted, Try: 1})
//
//	events, err := stream.ReadDir("run") // every history/*.ndjson, in one order
//
// A line counts once its newline is written; what follows the last newline is
// a torn line.
package stream

import "golang.org/x/sys/unix"

// Now returns CLOCK_MONOTONIC in nanoseconds: the one clock of all processes
// of a run, which never goes back while the machine is up.
func Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("CLOCK_MONOTONIC cannot be read: " + err.Error()) // Linux always has it
	}
	return ts.Nano()
}
