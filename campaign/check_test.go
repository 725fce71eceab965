package campaign

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pestle/campaign/conductor"
	"pestle/checker"
	"pestle/history"
	"pestle/reports"
	"pestle/scenarios"
)

// A history file is judged without a plan: each of the checker's saved
// histories breaks the property it is named after, and no other.
func TestCheckJudgesABareHistory(t *testing.T) {
	saved, err := filepath.Glob("../checker/testdata/*.ndjson")
	if want := 1 + len(checker.Catalog()); err != nil || len(saved) != want {
		t.Fatalf("saved histories %v (%v), want a clean one and one for each property", saved, err)
	}
	for _, path := range saved {
		name := strings.TrimSuffix(filepath.Base(path), ".ndjson")
		result, err := Check(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, p := range result.Verdict.Properties {
			want := checker.Pass
			switch p.Slug {
			case checker.AckFinality: // it is proven by the RDY of consumers, which only a plan tells
				want = checker.Inconclusive
			case name:
				want = checker.Fail
			}
			if p.Status != want {
				t.Errorf("%s: %s is %s, want %s: %s", name, p.Slug, p.Status, want, p.Reason)
			}
		}
		want := reports.Failed
		if name == "clean" || name == checker.AckFinality {
			want = reports.Passed
		}
		if result.Outcome != want {
			t.Errorf("%s: outcome %s, want %s", name, result.Outcome, want)
		}
	}
}

// Nothing seen proves nothing.
func TestCheckOfAnEmptyHistoryIsInconclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.ndjson")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := Check(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range result.Verdict.Properties {
		if p.Status != checker.Inconclusive {
			t.Errorf("%s is %s, want inconclusive", p.Slug, p.Status)
		}
	}
	if result.Outcome != reports.Inconclusive {
		t.Errorf("outcome %s, want inconclusive", result.Outcome)
	}
}

// Over several runs a violation counts most, then a broken harness, then a
// run that proved nothing.
func TestWorse(t *testing.T) {
	order := []reports.Outcome{reports.Passed, reports.Inconclusive, reports.HarnessError, reports.Failed}
	for i, a := range order {
		for j, b := range order {
			if got, want := Worse(a, b), order[max(i, j)]; got != want {
				t.Errorf("Worse(%s, %s) = %s, want %s", a, b, got, want)
			}
		}
	}
}

// savedRun makes the directory of a run of a scenario with a history of every
// process, and returns its plan.
func savedRun(t *testing.T, dir, name string) scenarios.Plan {
	t.Helper()
	scenario, err := scenarios.Load("../scenarios/"+name+".yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := scenarios.Expand(scenario, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := scenarios.WritePlan(filepath.Join(dir, conductor.PlanName), plan); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "history"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, name := range conductor.Streams(plan) {
		saveStream(t, dir, history.Event{Seq: 1, T: int64(i + 1), Src: name, Ev: history.Note, What: history.NoteTick})
	}
	return plan
}

// saveStream writes the history of one process.
func saveStream(t *testing.T, dir string, events ...history.Event) {
	t.Helper()
	var lines []byte
	for _, e := range events {
		lines = history.AppendLine(lines, e)
	}
	if err := os.WriteFile(filepath.Join(dir, "history", events[0].Src+".ndjson"), lines, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What a failover cost is found in the history again.
func TestCheckMeasuresFailovers(t *testing.T) {
	const ms = 1_000_000
	dir := t.TempDir()
	plan := savedRun(t, dir, "leader-kill")
	saveStream(t, dir, history.Event{Seq: 1, T: 1000 * ms, Src: "harness", Ev: history.Fault, What: "kill", Target: "broker-2", Edge: history.EdgeEffective, Ref: 1})
	saveStream(t, dir,
		history.Event{Seq: 1, T: 1100 * ms, Src: "producer-1", Ev: history.Attempt, ID: "producer-1-1", Try: 1, Topic: plan.Workload.Topic, Size: 1, Sum: "00"},
		history.Event{Seq: 2, T: 1650 * ms, Src: "producer-1", Ev: history.Ack, ID: "producer-1-1", Try: 1, Topic: plan.Workload.Topic})
	result, err := Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []reports.Failover{{Fault: 1, Process: "broker-2", FirstAck: 650 * ms}}
	if !slices.Equal(result.Run.Failovers, want) || !slices.Equal(result.File.Failovers, want) {
		t.Errorf("failovers %v, in the file %v; want %v", result.Run.Failovers, result.File.Failovers, want)
	}
	var summary strings.Builder
	if err := reports.Summary(&summary, dir, result.Run, result.Verdict, false); err != nil {
		t.Fatal(err)
	}
	if want := "first ack after 1 leader kill · p50 650 ms"; !strings.Contains(summary.String(), want) {
		t.Errorf("the summary does not say %q:\n%s", want, summary.String())
	}
}

// A run directory that lacks something must not be judged by the rest: the
// consumes of a producer whose history is gone would all be phantoms.
func TestCheckOfAnIncompleteRun(t *testing.T) {
	const gone = "history/producer-1.ndjson"
	for _, c := range []struct {
		name    string
		verdict reports.VerdictFile // what the run left; without a schema: nothing, it was killed
		remove  string
		want    string // of the error or the reason
		fails   bool
	}{
		{"of a finished run a process's history is gone", reports.VerdictFile{Schema: 1, World: "process", Status: reports.Passed, Origin: 1}, gone, "the history of one of its processes is gone", true},
		{"of an interrupted run one is gone", reports.VerdictFile{Schema: 1, World: "process", Status: reports.Inconclusive, Origin: 1, Partial: true}, gone, "no message was consumed", false},
		{"of a killed run one is gone", reports.VerdictFile{}, gone, "no message was consumed", false},
		{"its plan is another", reports.VerdictFile{Schema: 1, World: "process", Status: reports.Passed, Origin: 1, PlanHash: "00ff"}, "", "the run was of plan 00ff", true},
		{"the target was not installed", reports.VerdictFile{Schema: 1, World: "process", Status: reports.Inconclusive, Reason: "no nsqd on PATH"}, "history", "no nsqd on PATH", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			plan := savedRun(t, dir, "first-light")
			if c.verdict.Schema != 0 {
				if c.verdict.PlanHash == "" {
					c.verdict.PlanHash = plan.Hash()
				}
				if err := reports.WriteVerdict(dir, c.verdict); err != nil {
					t.Fatal(err)
				}
			}
			if c.remove != "" {
				if err := os.RemoveAll(filepath.Join(dir, c.remove)); err != nil {
					t.Fatal(err)
				}
			}
			result, err := Check(dir)
			said := result.File.Reason
			if err != nil {
				said = err.Error()
			}
			if (err != nil) != c.fails || !strings.Contains(said, c.want) {
				t.Errorf("error %v, reason %q; want %q", err, result.File.Reason, c.want)
			}
			if err == nil && (result.Outcome != reports.Inconclusive || result.Run.World != "process") {
				t.Errorf("outcome %s in world %q, want inconclusive in process", result.Outcome, result.Run.World)
			}
		})
	}
}

// What a run left out is remembered: judged again, it passes no more than before.
func TestCheckRemembersWhatWasLeftOut(t *testing.T) {
	dir := t.TempDir()
	plan := savedRun(t, dir, "first-light")
	left := []string{"no clog was carried out: the kernel has no tbf"}
	if err := reports.WriteVerdict(dir, reports.VerdictFile{
		Schema: 1, World: "docker", Status: reports.Inconclusive, Origin: 1, PlanHash: plan.Hash(), LeftOut: left,
	}); err != nil {
		t.Fatal(err)
	}
	result, err := Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(result.Run.LeftOut, left) || !slices.Equal(result.File.LeftOut, left) || !strings.HasPrefix(result.File.Reason, left[0]) {
		t.Errorf("left out %q, in the file %q, reason %q; want %q", result.Run.LeftOut, result.File.LeftOut, result.File.Reason, left)
	}
	if result.Run.Failovers != nil {
		t.Errorf("failovers %v are measured in containers", result.Run.Failovers)
	}
}
