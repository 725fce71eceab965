package reports

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/reports/page"
)

var update = flag.Bool("update", false, "write the golden files anew: go test ./reports -update")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); if the change is meant: go test ./reports -update\n%s", path, diff)
	}
}

// The style sheet and script are left out of the golden page: they are the
// same in every report and would only hide its content.
func TestReportOfASmallRun(t *testing.T) {
	s := small()
	files := []file{{Path: "plan.json", Size: "812 bytes", What: "the plan: every choice of the run"}, {Path: "history/producer-1.ndjson", Size: "2.1 kB", What: "what it did, line by line", More: 3}}
	content, err := render(s.run, s.plan, s.verdict, s.events, files)
	if err != nil {
		t.Fatal(err)
	}
	got := string(content)
	for _, part := range []string{page.Style, page.Script, page.Digest(page.Style), page.Digest(page.Script)} {
		got = strings.ReplaceAll(got, part, "…")
		got = strings.ReplaceAll(got, strings.ReplaceAll(part, "+", "&#43;"), "…")
	}
	golden(t, "small.html", []byte(got))
}

func TestVerdictOfASmallRun(t *testing.T) {
	s := small()
	data, err := NewVerdictFile(s.run, s.verdict, s.events).encode("  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "small.json", data)
}

func TestSummaryOfRuns(t *testing.T) {
	interrupted := newSynthetic()
	interrupted.run.Partial = true
	broken := newSynthetic()
	broken.run.HarnessError = "start broker-1: listen tcp 127.0.0.1:4150: address already in use"
	hostile := small()
	hostile.verdict.Properties[1].Reason = "no \x1b]0;title\x07 quiet\u202ewindow"
	hostile.verdict.Properties[0].Violations[0].Detail = "id \x1b[2J\x07 was acked\nand lost"

	var buf bytes.Buffer
	for _, row := range []struct {
		title string
		s     *synthetic
		color bool
	}{
		{"pass", newSynthetic(), false},
		{"fail", failing(), false},
		{"inconclusive", doubtful(), false},
		{"interrupted", interrupted, false},
		{"harness error", broken, false},
		{"control characters", hostile, false},
		{"on a terminal with colours", small(), true},
	} {
		buf.WriteString("=== " + row.title + "\n")
		if err := Summary(&buf, "runs/"+row.s.run.ID, row.s.run, row.s.verdict, row.color); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.ReplaceAll(buf.String(), "\x1b", "ESC") // so that the file can be read
	golden(t, "summary.txt", []byte(got))
}
