package sim_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pestle/faults"
	"pestle/sim"
)

// hashesVariable makes this test binary print trace hashes and do nothing
// else: for TestHashIsEverywhereTheSame, and for CI to compare what is built
// otherwise (-race, GOAMD64).
const hashesVariable = "PESTLE_SIM_HASHES"

const swarm = "../scenarios/swarm.yaml"

// TestHashes prints one line for each run: scenario, seed, events, hash.
func TestHashes(t *testing.T) {
	for _, path := range []string{firstLight, swarm} {
		for seed := uint64(1); seed <= 3; seed++ {
			result, err := sim.Run(sim.Options{Plan: plan(t, path, seed)})
			if err != nil {
				t.Fatal(err)
			}
			if os.Getenv(hashesVariable) != "" {
				fmt.Printf("%s %d %d %016x\n", path, seed, result.Events, result.TraceHash)
			}
		}
	}
}

// The same plans give the same hashes in a process of their own, whatever the
// Go runtime does meanwhile.
func TestHashIsEverywhereTheSame(t *testing.T) {
	hashes := func(environment ...string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHashes$", "-test.count=1")
		cmd.Env = append(append(os.Environ(), hashesVariable+"=1"), environment...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s%s", environment, err, out, &stderr)
		}
		var lines []string
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "../scenarios/") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	want := hashes("GOMAXPROCS=1")
	if strings.Count(want, "\n") != 6 {
		t.Fatalf("want six hashes, got\n%s", want)
	}
	for _, environment := range [][]string{{"GOMAXPROCS=2"}, {"GOGC=5"}, {"GOGC=off", "GOMAXPROCS=2"}} {
		if got := hashes(environment...); got != want {
			t.Errorf("with %v\n%swithout\n%s", environment, got, want)
		}
	}
}

// A run does not depend on what its process ran before, nor on being watched.
func TestHashAfterOtherRuns(t *testing.T) {
	p := withFaults(t, 1, func(int) faults.Fault { return example(faults.PowerLoss) })
	first, _, err := judged(p, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sim.Run(sim.Options{Plan: plan(t, swarm, 9)}); err != nil {
		t.Fatal(err)
	}
	lines := 0
	second, err := sim.Run(sim.Options{Plan: p, Log: func(string) { lines++ }})
	if err != nil || second.TraceHash != first.TraceHash || second.Events != first.Events {
		t.Errorf("after another run, without a sink and with a log: hash %016x after %d events, before %016x after %d; error %v",
			second.TraceHash, second.Events, first.TraceHash, first.Events, err)
	}
	if uint64(lines) != second.Events {
		t.Errorf("%d lines of log for %d events and effects", lines, second.Events)
	}
	other, err := sim.Run(sim.Options{Plan: p, Noise: 1})
	if err != nil || other.TraceHash == first.TraceHash {
		t.Errorf("other noise has the hash %016x too; error %v", other.TraceHash, err)
	}
}

func TestBisect(t *testing.T) {
	at := func(delay int64) sim.Options {
		p := withFaults(t, 1, func(int) faults.Fault { return example(faults.Kill) })
		p.Faults[1].Anchor.At += delay
		return sim.Options{Plan: p}
	}
	if d, err := sim.Bisect(at(0), at(0)); err != nil || d.Event != 0 {
		t.Errorf("a run and itself: %v, %v", d, err)
	}
	d, err := sim.Bisect(at(0), at(millisecond))
	if err != nil || d.Event == 0 || !strings.Contains(d.A, "broker-1 kill effective 2") || d.A == d.B {
		t.Errorf("a fault that comes a millisecond later: %v, %v", d, err)
	}
	shorter := at(0)
	shorter.Until.Steps = 10_000
	d, err = sim.Bisect(at(0), shorter)
	if err != nil || d.Event < 10_000 || d.Event > 10_100 {
		t.Errorf("a run that stops earlier: %v, %v", d, err)
	}
}
