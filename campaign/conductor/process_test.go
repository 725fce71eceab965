package conductor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pestle/history"
	"pestle/scenarios"
)

// Whether a process ended as it was asked to is told by how it ended: a signal
// also reaches one that has just crashed by itself.
func TestAnEndIsComparedWithWhatWasAsked(t *testing.T) {
	killed, stopped := Exit{Signal: syscall.SIGKILL, How: "signal: killed"}, Exit{Signal: syscall.SIGTERM, How: "signal: terminated"}
	inOrder, crashed := Exit{How: "exit status 0"}, Exit{Code: 2, How: "exit status 2"}
	for _, c := range []struct {
		name  string
		end   Exit
		asked syscall.Signal
		want  string // of the error; empty: the end is as it was asked for
	}{
		{"killed", killed, syscall.SIGKILL, ""},
		{"stopped in order", inOrder, syscall.SIGTERM, ""},
		{"stopped before it had a handler", stopped, syscall.SIGTERM, ""},
		{"crashed just before the kill", crashed, syscall.SIGKILL, "by SIGKILL (exit status 2)"},
		{"ended in order just before the kill", inOrder, syscall.SIGKILL, "by SIGKILL (exit status 0)"},
		{"crashed while it stopped", crashed, syscall.SIGTERM, "by SIGTERM (exit status 2)"},
		{"killed by others while it stopped", killed, syscall.SIGTERM, "by SIGTERM (signal: killed)"},
		{"unasked", inOrder, 0, "ended by itself (exit status 0); its log ends: the last words of broker-1"},
		{"could not be started", Exit{Err: errors.New("no such image")}, 0, "run broker-1: no such image"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run, _ := newRun(t, scenarios.Plan{})
			broker := run.process("broker-1")
			broker.running, broker.lives, broker.asked = true, 1, c.asked
			c.end.Process, c.end.Life = "broker-1", 1
			err := run.exited(c.end)
			if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// What a process lives in may break while the process does not even run.
func TestABrokenHostIsToldInItsOwnWords(t *testing.T) {
	run, _ := newRun(t, scenarios.Plan{})
	err := run.exited(Exit{Process: "broker-1", Err: errors.New("its agent has ended")})
	if err == nil || err.Error() != "run broker-1: its agent has ended" {
		t.Errorf("error %v, want what the host said", err)
	}
}

// A signal to a process that has just ended by itself asks for nothing: its
// exit will say more.
func TestAskingAProcessThatIsGone(t *testing.T) {
	run, host := newRun(t, scenarios.Plan{})
	broker := run.process("broker-1")
	host.refuse = os.ErrProcessDone
	if err := run.askToEnd(broker, syscall.SIGTERM); err != nil || broker.asked != 0 {
		t.Errorf("error %v, asked %v; want neither", err, broker.asked)
	}
	host.refuse = errors.New("the engine does not answer")
	if err := run.askToEnd(broker, syscall.SIGTERM); !errors.Is(err, host.refuse) {
		t.Errorf("error %v, want %v", err, host.refuse)
	}
}

// An interrupt ends a run without an error, but hides none: not even one that
// the end of the run brings up.
func TestAnInterruptHidesNoFailure(t *testing.T) {
	broken := errors.New("the history cannot be true")
	for _, want := range []error{nil, broken} {
		host := newScripted(t)
		outcome, err := New(Options{
			Plan: scenarios.Plan{Target: scenarios.Target{Kind: "pestle", Durability: "fsync"}},
			Dir:  t.TempDir(), Host: host,
			Sink: func(e history.Event) error {
				if e.What == history.PhaseEnd {
					return want
				}
				return nil
			},
		}).Run(cancelled(t))
		if !outcome.Interrupted || !errors.Is(err, want) {
			t.Errorf("interrupted %t, error %v; want true, %v", outcome.Interrupted, err, want)
		}
		if calls := host.calls(); calls[len(calls)-1] != "close" {
			t.Errorf("the host was told %q, want close in the end", calls)
		}
	}
}

// A host that cannot even be prepared is closed all the same.
func TestAFailedPreparationIsCleanedUp(t *testing.T) {
	host := newScripted(t)
	host.refuse = ErrTargetMissing
	_, err := New(Options{Dir: t.TempDir(), Host: host}).Run(t.Context())
	if calls := host.calls(); !errors.Is(err, ErrTargetMissing) || len(calls) != 1 || calls[0] != "close" {
		t.Errorf("error %v, the host was told %q; want ErrTargetMissing and close", err, calls)
	}
}

func TestLastWords(t *testing.T) {
	for _, c := range []struct{ name, log, want string }{
		{"nothing", "", "it wrote nothing"},
		{"the last three lines", "a\nb\n\tc\nd\n", "b | c | d"},
		{"a crash says why far above its end", "up\npanic: core: two syncs\n\ngoroutine 1 [running]:\n" + strings.Repeat("\tcore.go:1\n", 500), "panic: core: two syncs"},
		{"and so does one of the runtime", "fatal error: concurrent map writes\n\ngoroutine 1:\na\nb\nc\n", "fatal error: concurrent map writes"},
		{"or by a signal", "SIGABRT: abort\nPC=0x47 m=0\n\ngoroutine 0:\ncs 0x33\nfs 0x0\ngs 0x0\n", "SIGABRT: abort"},
	} {
		log := filepath.Join(t.TempDir(), "broker-1.log")
		if err := os.WriteFile(log, []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := LastWords(log); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Bounds are for a machine that goes on: one that stood still is given the time
// again, whether the run waited for something or did it.
func TestAMachineThatStandsStillIsNotWaitedForInVain(t *testing.T) {
	run, _ := newRun(t, scenarios.Plan{})
	looks := 0
	err := run.wait(t.Context(), 100*time.Millisecond, "it does not come", func() bool {
		if looks++; looks == 2 {
			time.Sleep(longestCycle + 10*time.Millisecond) // what a machine looks like that stands still
		}
		return looks == 4
	})
	if err != nil {
		t.Errorf("after %d looks: %v", looks, err)
	}
	var slow *late
	if err := run.wait(t.Context(), 20*time.Millisecond, "it does not come", func() bool { return false }); !errors.As(err, &slow) {
		t.Errorf("it never comes: %v", err)
	}
}
