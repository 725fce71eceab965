package compose

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The labels of every Docker object that this package makes.
const (
	labelRun     = "pestle.run"     // id of the run
	labelOwner   = "pestle.owner"   // process that leads the run: <pid>:<start time>
	labelMachine = "pestle.machine" // where that process is: one engine may serve several machines
)

// owner is the process that leads a run, so that others can tell whether it
// still lives.
type owner struct {
	pid     int
	start   string // moment of its start in words of the system; two processes of one pid differ in it
	machine string
}

// self returns the owner that this process is.
func self() (owner, error) {
	pid := os.Getpid()
	start, err := startOf(pid)
	if err != nil {
		return owner{}, fmt.Errorf("find out when this process began: %w", err)
	}
	return owner{pid: pid, start: start, machine: machine()}, nil
}

// labels are those of an object of a run of this owner.
func (o owner) labels(run string) map[string]string {
	return map[string]string{
		labelRun:     run,
		labelOwner:   fmt.Sprintf("%d:%s", o.pid, o.start),
		labelMachine: o.machine,
	}
}

// ownerOf reads the labels of an object. It reports false where they are not
// what this package writes.
func ownerOf(labels map[string]string) (owner, bool) {
	number, start, ok := strings.Cut(labels[labelOwner], ":")
	pid, err := strconv.Atoi(number)
	if !ok || err != nil || pid < 1 || start == "" {
		return owner{}, false
	}
	return owner{pid: pid, start: start, machine: labels[labelMachine]}, true
}

// dead tells that the owner was a process of this machine and is gone. Of a
// process elsewhere nothing is known, so it is not dead.
func (o owner) dead() bool {
	if o.machine != machine() {
		return false
	}
	start, err := startOf(o.pid)
	switch {
	case os.IsNotExist(err):
		return true
	case err != nil:
		return false
	}
	return start != o.start
}
