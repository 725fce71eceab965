package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pestle/campaign/conductor"
	"pestle/faults"
	"pestle/scenarios"
)

// newHost returns a prepared host of one broker whose program is a shell
// script.
func newHost(t *testing.T, script string) *Host {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "broker")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"logs", "data/broker-1"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h := NewHost(program)
	if err := h.Prepare(t.Context(), conductor.Layout{
		Plan: scenarios.Plan{Target: scenarios.Target{Kind: "pestle", Durability: "fsync"}}, Dir: dir,
		Processes: []conductor.Process{{Name: "broker-1", Role: faults.Broker, Number: 1}},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// next waits for the next exit.
func next(t *testing.T, h *Host) conductor.Exit {
	t.Helper()
	select {
	case e := <-h.Exits():
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no process ended")
		panic("unreachable")
	}
}

// An exit tells how the process ended: by which signal, or with which code.
func TestAnExitTellsHow(t *testing.T) {
	for _, c := range []struct {
		script string
		want   conductor.Exit
	}{
		{"kill -KILL $$", conductor.Exit{Code: -1, Signal: syscall.SIGKILL, How: "signal: killed"}},
		{"kill -TERM $$", conductor.Exit{Code: -1, Signal: syscall.SIGTERM, How: "signal: terminated"}},
		{"exit 0", conductor.Exit{How: "exit status 0"}},
		{"exit 2", conductor.Exit{Code: 2, How: "exit status 2"}},
	} {
		h := newHost(t, c.script)
		c.want.Process = "broker-1"
		for life := 1; life <= 2; life++ {
			c.want.Life = life
			if err := h.Start("broker-1"); err != nil {
				t.Fatal(err)
			}
			if got := next(t, h); got != c.want {
				t.Errorf("%s: %+v, want %+v", c.script, got, c.want)
			}
		}
	}
}

// A process that has just ended by itself is told apart: its exit is about to
// say more.
func TestSignalToAProcessThatIsGone(t *testing.T) {
	cmd := exec.Command("/bin/true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*child{{name: "broker-1", process: cmd.Process}, {name: "broker-1"}} {
		if err := c.signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("error %v, want os.ErrProcessDone", err)
		}
	}
}

// Nothing is left behind when the host is closed, and what a process printed
// is in its log.
func TestCloseEndsEverything(t *testing.T) {
	h := newHost(t, "echo up\nexec sleep 60")
	if err := h.Start("broker-1"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); h.LastWords("broker-1") != "up"; {
		if time.Now().After(deadline) {
			t.Fatalf("its log is %q, want up", h.LastWords("broker-1"))
		}
		time.Sleep(time.Millisecond)
	}
	pid := h.children["broker-1"].process.Pid
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d: %v, want none", pid, err)
	}
}

// A broker that loses its data comes back to an empty directory.
func TestLosingData(t *testing.T) {
	h := newHost(t, "exit 0")
	if err := os.WriteFile(filepath.Join(h.dataDir("broker-1"), "00000001.journal"), []byte("acknowledged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.LoseData("broker-1"); err != nil {
		t.Fatal(err)
	}
	if held, err := os.ReadDir(h.dataDir("broker-1")); err != nil || len(held) > 0 {
		t.Errorf("its directory holds %v, error %v; want an empty one", held, err)
	}
}

// A target that is not installed tested nothing: the error says how to get it.
func TestMissingNsqdSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	h := NewHost("pestle")
	err := h.Prepare(t.Context(), conductor.Layout{
		Plan:      scenarios.Plan{Target: scenarios.Target{Kind: "nsq"}},
		Processes: []conductor.Process{{Name: "broker-1", Role: faults.Broker, Number: 1}},
	})
	if !errors.Is(err, conductor.ErrTargetMissing) {
		t.Fatalf("error %v, want ErrTargetMissing", err)
	}
	for _, words := range []string{"no nsqd on PATH", "install NSQ", "target.address"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("error %q does not say %q", err, words)
		}
	}
}

// An address of a running nsqd is taken as it is; nothing is started.
func TestRunningNsqdIsNotStarted(t *testing.T) {
	h := NewHost("pestle")
	l := conductor.Layout{Plan: scenarios.Plan{Target: scenarios.Target{Kind: "nsq", Address: "127.0.0.1:1", HTTP: "127.0.0.1:2"}}}
	if err := h.Prepare(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	if a := h.Address(1); a.TCP != "127.0.0.1:1" || a.Call != "127.0.0.1:2" || len(h.children) > 0 {
		t.Errorf("address %+v and %d processes, want the given address and none", a, len(h.children))
	}
}

// The brokers of one machine share its address, and no two a port.
func TestAddressesDiffer(t *testing.T) {
	var all []string
	for n := 1; n <= 5; n++ {
		a := endpointsOf(n)
		if a.Call != a.HTTP {
			t.Errorf("broker %d is called at %s and listens at %s", n, a.Call, a.HTTP)
		}
		all = append(all, a.TCP, a.HTTP, a.Peer)
	}
	size := len(all)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) != size {
		t.Errorf("%d addresses, %d of them different", size, len(all))
	}
}

// Every process id has an address of its own, on loopback and away from the
// address that everybody uses.
func TestLoopbackAddressesDiffer(t *testing.T) {
	seen := map[string]int{}
	for _, pid := range []int{1, 2, 255, 256, 65535, 65536, 1 << 17, 1<<22 - 1} {
		a := loopback(pid)
		if other, taken := seen[a]; taken {
			t.Errorf("processes %d and %d share %s", pid, other, a)
		}
		seen[a] = pid
		if !strings.HasPrefix(a, "127.") || strings.HasPrefix(a, "127.0.") {
			t.Errorf("process %d has address %s", pid, a)
		}
	}
}
