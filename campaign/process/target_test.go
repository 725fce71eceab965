package process

import (
	"errors"
	"strings"
	"testing"

	"pestle/scenarios"
)

// A target that is not installed tested nothing: the error says how to get it.
func TestMissingNsqdSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := newTarget(scenarios.Target{Kind: "nsq"}, "pestle", t.TempDir())
	if !errors.Is(err, ErrTargetMissing) {
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
	target, err := newTarget(scenarios.Target{Kind: "nsq", Address: "127.0.0.1:1", HTTP: "127.0.0.1:2"}, "pestle", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !target.external() || target.tcp != "127.0.0.1:1" || target.http != "127.0.0.1:2" {
		t.Errorf("target %+v, want the given addresses and no program", target)
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
