package overview

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/campaign/result"
	"pestle/reports"
	"pestle/reports/page"
	"pestle/reports/page/pagetest"
)

var update = flag.Bool("update", false, "write the golden file anew: go test ./reports/overview -update")

func renderPage(t *testing.T, c result.Campaign) []byte {
	t.Helper()
	content, err := render(c)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// What the page says, read from top to bottom, is a text that people can judge.
func TestPageOfACampaign(t *testing.T) {
	content := string(renderPage(t, sample()))
	for _, code := range []string{page.Style, page.Script} {
		content = strings.Replace(content, code, "", 1)
	}
	var lines []string
	for line := range strings.Lines(content) {
		if said := pagetest.Text(line); said != "" {
			lines = append(lines, said)
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", "sample.txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); if the change is meant: go test ./reports/overview -update\n%s", path, diff)
	}
}

func TestPageIsWholeAndAlone(t *testing.T) {
	for name, c := range map[string]result.Campaign{
		"sample": sample(), "clean": clean(), "process world": unseen(), "empty": {}, "huge": huge(), "hostile": hostile(),
	} {
		t.Run(name, func(t *testing.T) {
			content := renderPage(t, c)
			if !bytes.Equal(content, renderPage(t, c)) {
				t.Error("drawn twice, it differs")
			}
			pagetest.Alone(t, content, func(link string) bool {
				return link == "campaign.json" || link == "results.ndjson" ||
					strings.HasPrefix(link, "./runs/") && strings.HasSuffix(link, "/report.html") ||
					name == "hostile" && strings.HasPrefix(link, "./") // a file that is not there, at worst
			})
			const limit = 3 << 20
			if len(content) > limit {
				t.Errorf("%d bytes, want at most %d", len(content), limit)
			}
		})
	}
}

func TestHeadline(t *testing.T) {
	campaign := func(done, passed, failed, inconclusive, harness int64, ended result.Ended) result.Campaign {
		c := result.Campaign{
			Runs:  result.Outcomes{Done: done, Passed: passed, Failed: failed, Inconclusive: inconclusive, HarnessError: harness},
			Seeds: 1_000, Scenarios: make([]result.Scenario, 2), Ended: ended,
		}
		if failed > 0 {
			c.Findings = make([]result.Finding, 2)
		}
		return c
	}
	for _, row := range []struct {
		campaign result.Campaign
		want     string
	}{
		{campaign(2_000, 2_000, 0, 0, 0, result.EndedDone), "Of 2,000 runs none failed, 2,000 passed."},
		{campaign(2_000, 1_985, 12, 2, 1, result.EndedDone), "Of 2,000 runs 12 failed, in 2 findings, 1,985 passed, 2 were inconclusive, in 1 the harness itself failed."},
		{campaign(7, 6, 1, 0, 0, result.EndedFinding), "Of 7 of 2,000 runs (stopped at the first finding) 1 failed, in 2 findings, 6 passed."},
		{campaign(7, 7, 0, 0, 0, result.EndedBudget), "Of 7 of 2,000 runs (the time was up) none failed, 7 passed."},
		{campaign(0, 0, 0, 0, 0, result.EndedInterrupted), "No run was finished: interrupted."},
	} {
		if got := headline(row.campaign); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}

func TestCurve(t *testing.T) {
	got := newCurve([]result.Step{{Runs: 1, States: 25}, {Runs: 10, States: 50}, {Runs: 50, States: 90}, {Runs: 90, States: 95}, {Runs: 100, States: 100}})
	want := &curve{
		Path: "M0.0 750.0L500.0 500.0L849.5 100.0L977.1 50.0L1000.0 0.0",
		Dots: []dot{
			{"0.00", "75.00", "25 states after 1 run"}, {"50.00", "50.00", "50 states after 10 runs"},
			{"84.95", "10.00", "90 states after 50 runs"}, {"97.71", "5.00", "95 states after 90 runs"}, {"100.00", "0.00", "100 states after 100 runs"},
		},
		Ticks: []dot{{X: "0.00", Text: "1"}, {X: "50.00", Text: "10"}, {X: "100.00", Text: "100"}},
		Width: curveWidth, Height: curveHeight, Top: "100 states",
		Label: "Distinct states over runs: 25 after the first, 100 after 100 runs",
		Rise:  "10.0 % of the states were met only after run 50.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := newCurve([]result.Step{{Runs: 1, States: 4}}); got.Path != "M1000.0 0.0" || got.Rise != "" {
		t.Errorf("one run is drawn as %+v", got)
	}
	for _, steps := range [][]result.Step{nil, {{Runs: 1}}} {
		if newCurve(steps) != nil {
			t.Errorf("%v is drawn", steps)
		}
	}
}

func TestWriteNamesTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := Write(dir, sample()); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, reports.ReportName)) {
		t.Errorf("error %v, want one that names %s", err, dir)
	}
}
