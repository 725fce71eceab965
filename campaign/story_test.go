package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/reports"
	"pestle/scenarios"
	"pestle/sim"
)

// Two halves of a wrong order share the turns of the processes, and a batch may
// hold both: it is told once, with where it came from.
func TestMerged(t *testing.T) {
	turn := sim.Moment{Event: 1, Who: "broker-1", What: "start 1"}
	batch := sim.Moment{Event: 7, Who: "broker-1", What: "network connection 5 brings producer-1-1 producer-1-2"}
	from := batch
	from.From = 4
	one := sim.Story{Moments: []sim.Moment{turn, {Event: 3, What: "producer-1-1"}, batch}}
	two := sim.Story{Moments: []sim.Moment{turn, {Event: 4, What: "producer-1-2"}, from}}
	want := []sim.Moment{turn, {Event: 3, What: "producer-1-1"}, {Event: 4, What: "producer-1-2"}, from}
	if diff := cmp.Diff(want, merged([]*sim.Story{&one, &two})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A run that loses messages draws the story of one; a run that passes has none.
func TestReportDrawsTheStory(t *testing.T) {
	for _, row := range []struct {
		durability string
		outcome    reports.Outcome
	}{{"memory", reports.Failed}, {"fsync", reports.Passed}} {
		scenario, err := scenarios.Load("../scenarios/first-light.yaml", []string{"target.durability=" + row.durability})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := scenarios.Expand(scenario, 1)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		result, err := Run(t.Context(), plan, Options{World: WorldSim, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if result.Outcome != row.outcome {
			t.Fatalf("durability %s, seed 1: %s, want %s: %s", row.durability, result.Outcome, row.outcome, result.File.Reason)
		}
		text, err := os.ReadFile(filepath.Join(dir, reports.ReportName))
		if err != nil {
			t.Fatal(err)
		}
		_, ids, failed := reports.Subject(result.Verdict)
		drawn := strings.Contains(string(text), `aria-label="Sequence diagram of `)
		if drawn != failed || drawn != (row.outcome == reports.Failed) {
			t.Errorf("durability %s, seed 1: a story is drawn: %v; messages %q", row.durability, drawn, ids)
		}
		for _, id := range ids {
			if !strings.Contains(string(text), "<code>"+id+"</code>") {
				t.Errorf("the story is not that of %s", id)
			}
		}
	}
}
