package conductor

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pestle/faults"
)

// A broker that ends itself while its disk fails is started again, as a
// supervisor would. Without such a fault its end is a bug, and so are ends of any
// other kind.
func TestABrokerMayEndItselfForItsDisk(t *testing.T) {
	for _, c := range []struct {
		name string
		kind faults.Kind
		end  Exit
		want string // of the error; "": it is started again
	}{
		{"protects its data", faults.FsyncError, Exit{Code: exitProtects, How: "exit status 1"}, ""},
		{"cannot start on a full disk", faults.DiskFull, Exit{Code: exitRefuses, How: "exit status 2"}, ""},
		{"a panic", faults.FsyncError, Exit{Code: 134, How: "exit status 134"}, "ended by itself"},
		{"killed by others", faults.FsyncError, Exit{Signal: syscall.SIGKILL, How: "signal: killed"}, "ended by itself"},
		{"for a link", faults.Cut, Exit{Code: exitProtects, How: "exit status 1"}, "ended by itself"},
	} {
		f := faults.Fault{Kind: c.kind, Target: "broker-1", For: 50 * millisecond}
		if c.kind == faults.Cut {
			f.Peer = "broker-2"
		}
		run, host := newCluster(t, f)
		until(t, run, func() bool { return run.took == 1 })
		host.calls()
		host.end("broker-1", c.end)
		if c.want != "" {
			if err := run.step(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			}
			continue
		}
		until(t, run, func() bool { return run.recovered() && run.process("broker-1").lives == 2 })
		if !slices.Contains(host.calls(), "start broker-1") {
			t.Errorf("%s: it is not started again", c.name)
		}
	}
}

// A broker whose medium was harmed may refuse to start, and the run goes on
// without it; while the fault lasts, the next start may still do.
func TestAHarmedBrokerMayRefuseToStart(t *testing.T) {
	refuses := Exit{Code: exitRefuses, How: "exit status 2"}
	run, host := newCluster(t, faults.Fault{Kind: faults.BitRot, Target: "broker-1", Count: 1, For: 300 * millisecond})
	until(t, run, func() bool { return run.took == 1 })
	host.end("broker-1", refuses)
	until(t, run, func() bool { return run.process("broker-1").lives == 2 })
	carryOut(t, run, 1)
	host.end("broker-1", refuses)
	until(t, run, func() bool { return len(run.members(false)) == 2 })
	if !run.recovered() {
		t.Error("the run waits for a broker that is out")
	}
}

// So may one that was killed and comes back while its bits are turned: it is
// tried again until they are as they were, and the kill is over when it serves,
// or when nothing more is to be hoped for.
func TestAHarmedBrokerComesBackFromAKill(t *testing.T) {
	for _, last := range []bool{false, true} {
		run, host := newCluster(t,
			faults.Fault{Kind: faults.BitRot, Target: "broker-1", Count: 1, For: 600 * millisecond},
			faults.Fault{Kind: faults.Kill, Target: "broker-1", For: millisecond, Anchor: faults.Anchor{After: &faults.Event{Fault: 1}}})
		life := func(n int) func() bool { return func() bool { return run.process("broker-1").lives == n } }
		refuses := Exit{Code: exitRefuses, How: "exit status 2"}
		busy := func(list ...string) { host.mu.Lock(); defer host.mu.Unlock(); host.idle = list }
		busy("broker-1")
		until(t, run, life(2))
		host.end("broker-1", refuses)
		until(t, run, life(3))
		if last {
			until(t, run, func() bool { return run.scheduler.Entries()[0].Ended != faults.Never })
			host.end("broker-1", refuses)
		}
		busy()
		carryOut(t, run, 1, 2)
		if out := run.process("broker-1").node.out; out != last {
			t.Errorf("the broker is given up: %t, want %t", out, last)
		}
	}
}

// A kill of a broker that ended itself just before has nothing to hit.
func TestAKillOfABrokerThatIsGone(t *testing.T) {
	run, host := newCluster(t,
		faults.Fault{Kind: faults.FsyncError, Target: "broker-1", Count: 1, For: millisecond},
		faults.Fault{Kind: faults.Kill, Target: "broker-1", Anchor: faults.Anchor{After: &faults.Event{Fault: 1}}})
	until(t, run, func() bool { return run.took == 1 })
	host.end("broker-1", Exit{Code: exitProtects})
	entries := carryOut(t, run, 1, 2)
	if entries[1].Effective != faults.Never {
		t.Errorf("fault 2: %+v, want that it had no effect", entries[1])
	}
	until(t, run, run.recovered)
}

// A signal that comes too late for a broker that ended itself is no fault: it has
// no effect, and the broker is started again for what ended it.
func TestASignalThatHitsNobody(t *testing.T) {
	run, host := newCluster(t,
		faults.Fault{Kind: faults.FsyncError, Target: "broker-1", Count: 1, For: millisecond},
		faults.Fault{Kind: faults.Kill, Target: "broker-1", Anchor: faults.Anchor{After: &faults.Event{Fault: 1}}})
	until(t, run, func() bool { return run.took == 1 })
	host.refuse = os.ErrProcessDone
	entries := carryOut(t, run, 1, 2)
	host.refuse = nil
	if entries[1].Effective != faults.Never || len(run.actions) > 0 {
		t.Errorf("fault 2: %+v, active %v; want that it had no effect", entries[1], run.actions)
	}
	if got, want := lines(t, run), []string{"fsync-error broker-1 effective", "fsync-error broker-1 ended"}; !slices.Equal(got, want) {
		t.Errorf("the history has %q, want %q", got, want)
	}
	host.end("broker-1", Exit{Code: exitProtects, How: "exit status 1"})
	until(t, run, func() bool { return run.recovered() && run.process("broker-1").lives == 2 })
}
