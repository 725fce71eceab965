package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pestle/checker"
	"pestle/reports"
)

// A history file is judged without a plan: each of the checker's saved
// histories breaks the property it is named after, and no other.
func TestCheckJudgesABareHistory(t *testing.T) {
	saved, err := filepath.Glob("../checker/testdata/*.ndjson")
	if err != nil || len(saved) != 8 {
		t.Fatalf("saved histories %v (%v), want a clean one and one for each of the seven properties", saved, err)
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
			if p.Slug == name {
				want = checker.Fail
			}
			if p.Status != want {
				t.Errorf("%s: %s is %s, want %s: %s", name, p.Slug, p.Status, want, p.Reason)
			}
		}
		want := reports.Failed
		if name == "clean" {
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
