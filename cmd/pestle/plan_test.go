package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pestle/scenarios"
)

const planScenario = `name: small
workload:
  channels: [{name: all}]
phases: {chaos: 40s, quiet: {every: 15s, for: 5s}}
faults:
  - {name: freeze, kind: pause, target: broker, for: 1s}
  - {kind: kill, target: producer, for: 100ms, after: {fault: freeze, delay: 50ms}}
  - {kind: stop, target: consumer, for: 1s, after: {acks: 10}}
`

// plan runs pestle plan and returns what it printed and its exit code.
func plan(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	root := rootCommand()
	root.SetOut(&out)
	root.SetErr(&errs)
	code = execute(t.Context(), root, append([]string{"plan"}, args...))
	return out.String(), errs.String(), code
}

func planFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.yaml")
	if err := os.WriteFile(path, []byte(planScenario), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPlanPrintsTheTimetable(t *testing.T) {
	out, errs, code := plan(t, planFile(t), "--seed", "1")
	if code != exitPass || errs != "" {
		t.Fatalf("exit code %d, error %s", code, errs)
	}
	for _, want := range []string{
		"small, seed 1, plan ",
		"target    pestle fsync\n",
		"pause  broker-1",
		"50ms after fault 1 took effect\n",
		"after 10 acks\n",
		"   15.000s  quiet until 20.000s\n",
		"   40.000s  chaos ends\n",
		"\nsha-256 ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// TestPlanAsJSON: standard output is the plan file and nothing else, and the
// hash told beside it is its SHA-256.
func TestPlanAsJSON(t *testing.T) {
	out, errs, code := plan(t, planFile(t), "--seed", "1", "--json", "--set", "workload.topic=bills")
	if code != exitPass {
		t.Fatalf("exit code %d, error %s", code, errs)
	}
	p, err := scenarios.ParsePlan([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	if p.Workload.Topic != "bills" || p.Seed != 1 {
		t.Errorf("topic %s, seed %d", p.Workload.Topic, p.Seed)
	}
	sum := sha256.Sum256([]byte(out))
	if want := "sha-256 " + hex.EncodeToString(sum[:]) + "\n"; !strings.HasSuffix(errs, want) {
		t.Errorf("standard error does not end in %s%s", want, errs)
	}
}

func TestPlanTellsMistakes(t *testing.T) {
	file := planFile(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{file, "--set", "target.durability=memroy"}, `pestle: --set target.durability=memroy: target.durability is "memroy"; did you mean "memory"? allowed: fsync, memory` + "\n"},
		{[]string{file, "--set", "faults.0.for=16s"}, "pestle: " + file + `:4:17: phases.chaos of 40s is too short: faults.0 (pause broker-1) needs 17s with its 1s to settle and finds no place outside the quiet windows; make chaos longer, or ask for fewer or shorter faults` + "\n"},
		{[]string{"nowhere"}, "pestle: read scenario: open nowhere: no such file or directory\n"},
	} {
		_, errs, code := plan(t, c.args...)
		if code != exitUsage || errs != c.want {
			t.Errorf("%v: exit code %d\n got %swant %s", c.args, code, errs, c.want)
		}
	}
}
