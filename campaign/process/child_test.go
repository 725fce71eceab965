package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pestle/history"
	"pestle/scenarios"
)

// Whether a process ended as it was asked to is told by how it ended: a signal
// also reaches one that has just crashed by itself.
func TestAnEndIsComparedWithWhatWasAsked(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   string // what the process does
		asked syscall.Signal
		want  string // of the error; empty: the end is as it was asked for
	}{
		{"killed", "kill -KILL $$", syscall.SIGKILL, ""},
		{"stopped in order", "exit 0", syscall.SIGTERM, ""},
		{"stopped before it had a handler", "kill -TERM $$", syscall.SIGTERM, ""},
		{"crashed just before the kill", "exit 2", syscall.SIGKILL, "by SIGKILL (exit status 2)"},
		{"ended in order just before the kill", "exit 0", syscall.SIGKILL, "by SIGKILL (exit status 0)"},
		{"crashed while it stopped", "exit 2", syscall.SIGTERM, "by SIGTERM (exit status 2)"},
		{"killed by others while it stopped", "kill -KILL $$", syscall.SIGTERM, "by SIGTERM (signal: killed)"},
		{"unasked", "exit 0", 0, "ended by itself (exit status 0)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTestWorld(t)
			broker := w.children[0]
			broker.asked = c.asked
			cmd := exec.Command("/bin/sh", "-c", c.end)
			var status *exec.ExitError
			if err := cmd.Run(); err != nil && !errors.As(err, &status) {
				t.Fatal(err)
			}
			err := w.exited(exit{child: broker, state: cmd.ProcessState})
			if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// newTestWorld returns a world of one broker, prepared and not begun.
func newTestWorld(t *testing.T) *World {
	t.Helper()
	w := New(Options{
		Plan: scenarios.Plan{Target: scenarios.Target{Kind: "pestle", Durability: "fsync"}},
		Dir:  t.TempDir(), Program: "/bin/false", Sink: func(history.Event) error { return nil },
	})
	if err := w.prepare(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.shutDown(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// A process that has just ended by itself is no failure of the signal: its
// exit is about to say more.
func TestSignalToAProcessThatIsGone(t *testing.T) {
	cmd := exec.Command("/bin/true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	c := &child{name: "broker-1", process: cmd.Process}
	if err := c.askTo(syscall.SIGTERM); err != nil || c.asked != 0 {
		t.Errorf("error %v, asked %v; want neither", err, c.asked)
	}
}

// An interrupt ends a run without an error, but hides none: not even one that
// the end of the run brings up.
func TestAnInterruptHidesNoFailure(t *testing.T) {
	broken := errors.New("the history cannot be true")
	for _, want := range []error{nil, broken} {
		program := filepath.Join(t.TempDir(), "broker")
		if err := os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := New(Options{
			Plan: scenarios.Plan{Target: scenarios.Target{Kind: "pestle", Durability: "fsync"}},
			Dir:  t.TempDir(), Program: program,
			Sink: func(e history.Event) error {
				if e.What == history.PhaseEnd {
					return want
				}
				return nil
			},
		})
		outcome, err := w.Run(ctx)
		if !outcome.Interrupted || !errors.Is(err, want) {
			t.Errorf("interrupted %t, error %v; want true, %v", outcome.Interrupted, err, want)
		}
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
		dir := t.TempDir()
		child := &child{name: "broker-1", dir: dir}
		if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(child.logPath(), []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := child.lastWords(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
