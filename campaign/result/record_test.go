package result

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/checker"
	"pestle/reports"
)

func fullRecord() Record {
	return Record{
		Scenario: "tiny", Seed: 1<<64 - 1, Outcome: reports.Failed, Missing: []string{"m"}, Error: "e", Diverged: true, Repeated: true,
		PlanHash: "p", TraceHash: "t", Events: 1, Elapsed: 2, Worked: 3,
		Judged: true, NotPassed: map[string]checker.Status{"no-data-loss": checker.Fail, "message-ordering": checker.Inconclusive},
		Violations: []Violation{{Property: "no-data-loss", Cause: "c", At: 4, Detail: "<d> & \n"}},
		Faults:     []FaultCount{{Kind: "kill", Planned: 2, Effective: 1}}, Points: []PointCount{{Name: "ack", Times: 5}},
		Claims: []string{"gave-up"}, Recovery: &Slowest{Kind: "kill", Took: 6}, Dir: "runs/tiny-1",
	}
}

func TestRecordRoundTrip(t *testing.T) {
	for _, want := range []Record{fullRecord(), {Scenario: "tiny", Outcome: reports.Passed}} {
		line, err := AppendRecord(nil, want)
		if err != nil || strings.Count(string(line), "\n") != 1 {
			t.Fatalf("line %q, error %v", line, err)
		}
		got, err := ParseRecord(line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParseRecordRefuses(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{``, "EOF"},
		{`{"scenario":"tiny","outcome":"pass"`, "unexpected EOF"},
		{`{"scenario":"tiny","outcome":"pass"} {}`, "more than one object"},
		{`{"scenario":"tiny","outcome":"pass","why":1}`, `unknown field "why"`},
		{`{"scenario":"tiny","outcome":"good"}`, `no outcome "good"`},
		{`{"scenario":"tiny","outcome":"fail"}`, "failed without a violation"},
		{strings.Repeat(" ", MaxRecord+1), "the longest is"},
	} {
		if _, err := ParseRecord([]byte(c.line)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.50q: error %v, want one with %q", c.line, err, c.want)
		}
	}
	r := fullRecord()
	r.Error = strings.Repeat("x", MaxRecord)
	if _, err := AppendRecord(nil, r); err == nil {
		t.Error("a record longer than a line is written")
	}
}

// What is parsed is written as it is parsed again.
func FuzzParseRecord(f *testing.F) {
	line, err := AppendRecord(nil, fullRecord())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(`{"scenario":"tiny","seed":1,"outcome":"pass","worked":1,"judged":true}`))
	f.Add([]byte(`{"outcome":"fail","violations":[{}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseRecord(line)
		if err != nil {
			return
		}
		again, err := AppendRecord(nil, r)
		if err != nil {
			return // longer when it is written out
		}
		back, err := ParseRecord(again)
		if err != nil {
			t.Fatalf("%q became %q: %v", line, again, err)
		}
		third, err := AppendRecord(nil, back)
		if err != nil || string(third) != string(again) {
			t.Fatalf("%q became %q and then %q: %v", line, again, third, err)
		}
	})
}

func TestCampaignRoundTrip(t *testing.T) {
	dir := t.TempDir()
	want := Summarize(about(10), failing([]string{"", loss, loss + "," + late, corrupt}))
	want.Findings[0].Story = &Story{Dir: "runs/tiny-2-shrunk", Faults: 1, Messages: 2}
	if err := Write(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	written, err := os.ReadFile(filepath.Join(dir, Name))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(written), "null") {
		t.Error("a list is null")
	}

	other := strings.Replace(string(written), `"schema": 1`, `"schema": 7`, 1)
	if err := os.WriteFile(filepath.Join(dir, Name), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "its schema is 7, this pestle reads 1") {
		t.Errorf("another schema: %v", err)
	}
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is") {
		t.Errorf("no file: %v", err)
	}
}
