package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A harness that is killed takes its children with it: brokers, producers and
// consumers.
func TestKilledHarnessLeavesNoProcess(t *testing.T) {
	for _, c := range []struct {
		scenario string
		children int
	}{
		{"first-light", 1 + 3 + 3},
		{"leader-kill", 3 + 2 + 3},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			harness := exec.Command("pestle", "run", filepath.Join("..", "..", "scenarios", c.scenario+".yaml"), "--world", "process", "--out", dir)
			if err := harness.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "all children run", func() bool { return len(mentioning(t, dir)) == c.children+1 })
			if err := harness.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := harness.Wait(); err == nil {
				t.Error("the killed harness ended without an error")
			}
			until(t, "no child is left", func() bool { return len(mentioning(t, dir)) == 0 })
		})
	}
}

// until polls for something that other processes do; it fails after 30 s.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		time.Sleep(10 * time.Millisecond)
		if time.Now().After(deadline) {
			t.Fatalf("waited 30 s until %s", what)
		}
	}
}

// mentioning returns the processes with text on their command line.
func mentioning(t *testing.T, text string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !bytes.Contains(line, []byte(text)) {
			continue // not a process, or gone meanwhile
		}
		pid := 0
		for _, digit := range e.Name() {
			pid = pid*10 + int(digit-'0')
		}
		pids = append(pids, pid)
	}
	return pids
}
