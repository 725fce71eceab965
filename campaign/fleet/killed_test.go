package fleet

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pestle/campaign/result"
)

// Parent and workers are killed twice while seeds run; the third start ends
// with what an unbroken campaign finds.
func TestKilledTwice(t *testing.T) {
	const seeds = 2000
	o := options(t, losing, seeds)
	for _, least := range []int{seeds / 5, seeds / 2} {
		parent := exec.Command(os.Args[0], o.Dir, fmt.Sprint(seeds))
		parent.Env = append(os.Environ(), roleVar+"="+roleCampaign)
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, fmt.Sprintf("%d seeds are done", least), func() bool { return records(o) >= least })
		if err := parent.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := parent.Wait(); err == nil {
			t.Fatalf("the campaign was over before it was killed: give it more than %d seeds", seeds)
		}
		until(t, "no worker is left", func() bool { return !others(t, o.Worker[2]) })
	}
	had := records(o)
	c := carryOut(t, o)
	if had >= seeds || int64(seeds-had) != c.Throughput.Runs || c.Runs.Done != seeds {
		t.Errorf("%d of %d seeds were done; %d were run then, %d are there", had, seeds, c.Throughput.Runs, c.Runs.Done)
	}
	sameFindings(t, "killed twice and unbroken", carryOut(t, options(t, losing, seeds)), c)
}

// A killed campaign takes a worker with it that does not even look at its
// input.
func TestKilledWithAHangingWorker(t *testing.T) {
	o := options(t, tiny, 0)
	parent := exec.Command(os.Args[0], o.Dir, "1000000")
	parent.Env = append(os.Environ(), roleVar+"="+roleCampaign, troubleVar+"=hang:5")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the other worker is past that seed", func() bool { return records(o) > 20 })
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Error("the killed campaign ended without an error")
	}
	until(t, "no worker is left", func() bool { return !others(t, o.Worker[2]) })
}

// A worker that breaks down or hangs costs its seed, which is named; the
// campaign goes on with another worker.
func TestLostWorkers(t *testing.T) {
	for _, c := range []struct{ trouble, want string }{
		{"panic:5", "the worker is lost: it ended with exit status 2; panic: planted: the worker breaks down; the stack is in "},
		{"exit:5", "the worker is lost: it ended with exit status 7; its last words: planted: one line | and another"},
		{"hang:5", "the worker is lost: it gave no answer within 2s and was killed"},
	} {
		o := options(t, tiny, 9)
		o.Worker = append([]string{"/usr/bin/env", troubleVar + "=" + c.trouble}, o.Worker[1:]...)
		o.within = 2 * time.Second
		got := carryOut(t, o)
		if got.Runs != (result.Outcomes{Done: 9, Passed: 8, HarnessError: 1}) || got.ExitCode != 2 {
			t.Errorf("%s: %+v, exit code %d; want 8 passing runs and a harness error", c.trouble, got.Runs, got.ExitCode)
		}
		if len(got.HarnessErrors) != 1 || got.HarnessErrors[0].Seed != 5 || !strings.HasPrefix(got.HarnessErrors[0].Example, c.want) {
			t.Errorf("%s: %+v, want seed 5 with %q", c.trouble, got.HarnessErrors, c.want)
		}
	}
}

// records is how many a campaign has written so far.
func records(o Options) int {
	text, err := os.ReadFile(filepath.Join(o.Dir, ResultsName))
	if err != nil {
		return 0 // not yet
	}
	return bytes.Count(text, []byte("\n")) - 1
}

// others tells whether another process runs this binary.
func others(t *testing.T, binary string) bool {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range entries {
		exe, err := os.Readlink(link)
		if err == nil && exe == binary && filepath.Base(filepath.Dir(link)) != fmt.Sprint(os.Getpid()) {
			return true
		}
	}
	return false
}

// until polls for something that other processes do; it fails after 60 s.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !done() {
		time.Sleep(5 * time.Millisecond)
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute until %s", what)
		}
	}
}
