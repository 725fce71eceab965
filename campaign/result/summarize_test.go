package result

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/checker"
	"pestle/faults"
	"pestle/reports"
)

// about is a campaign of the scenario tiny in sim, with that many seeds from 1.
func about(seeds uint64) About {
	a := About{
		Command: "pestle campaign tiny", Started: "2026-05-04T03:02:01Z", Ended: EndedDone, From: 1, Seeds: seeds,
		Scenarios: []Asked{{Name: "tiny", File: "tiny.yaml", World: "sim"}},
	}
	a.Reproduce = func(scenario int, seed uint64) string { return fmt.Sprint("run tiny ", seed) }
	return a
}

// failing makes records of tiny, with seeds from 1: each shows the symptoms
// that are named, separated by commas, or passes.
func failing(runs []string) []Record {
	var list []Record
	for i, symptoms := range runs {
		r := Record{Scenario: "tiny", Seed: uint64(i + 1), Outcome: reports.Passed, Judged: true, Events: 1000}
		for _, s := range strings.FieldsFunc(symptoms, func(c rune) bool { return c == ',' }) {
			property, cause, _ := strings.Cut(s, "/")
			r.Outcome = reports.Failed
			r.Violations = append(r.Violations, Violation{Property: property, Cause: cause, At: 5, Detail: "detail of " + s})
			if r.NotPassed == nil {
				r.NotPassed = map[string]checker.Status{}
			}
			r.NotPassed[property] = checker.Fail
		}
		list = append(list, r)
	}
	return list
}

// Over a campaign a violation counts most, then a broken harness, then a run
// that proved nothing.
func TestStatus(t *testing.T) {
	passed, failed := failing([]string{"", "", ""}), failing([]string{"", loss})
	broken := Record{Scenario: "tiny", Seed: 8, Outcome: reports.HarnessError, Error: "no disk"}
	vague := Record{Scenario: "tiny", Seed: 9, Outcome: reports.Inconclusive, Missing: []string{"drain: not proven"}, Judged: true}
	for _, c := range []struct {
		name    string
		records []Record
		ended   Ended
		code    int
		reason  string
	}{
		{"all pass", passed, EndedDone, 0, ""},
		{"the time was up", passed, EndedBudget, 0, ""},
		{"no run", nil, EndedBudget, 3, "no run was finished"},
		{"interrupted", passed, EndedInterrupted, 3, "interrupted after 3 of 10 runs"},
		{"inconclusive", append(passed, vague), EndedDone, 3, "1 of 4 runs were inconclusive; most often: drain: not proven"},
		{"harness over inconclusive", append(passed, vague, broken), EndedDone, 2, "the harness failed in 1 of 5 runs: no disk"},
		{"violation over harness", append(failed, vague, broken), EndedInterrupted, 1, "1 of 4 runs failed: no-data-loss in 1"},
	} {
		a := about(10)
		a.Ended = c.ended
		got := Summarize(a, c.records)
		if got.ExitCode != c.code || got.Reason != c.reason || got.ExitCode != got.Status.ExitCode() {
			t.Errorf("%s: exit code %d (%s), reason %q; want %d, %q", c.name, got.ExitCode, got.Status, got.Reason, c.code, c.reason)
		}
	}
}

// What proves nothing is grouped by its words, whatever the numbers in them.
func TestReasons(t *testing.T) {
	var records []Record
	for i, missing := range [][]string{
		{"the warm-up reached only 13 of 50 acks"},
		{"claim gave-up was not reached", "the warm-up reached only 7 of 50 acks"},
		{"producer-1 sent nothing", "producer-2 sent nothing"},
	} {
		records = append(records, Record{Scenario: "tiny", Seed: uint64(i + 1), Outcome: reports.Inconclusive, Missing: missing})
	}
	var got []string
	for _, r := range Summarize(about(10), records).Inconclusive {
		got = append(got, fmt.Sprintf("%d %s | %s | %s", r.Runs, r.Reason, r.Example, r.Command))
	}
	want := []string{
		"2 the warm-up reached only N of N acks | the warm-up reached only 13 of 50 acks | run tiny 1",
		"1 claim gave-up was not reached | claim gave-up was not reached | run tiny 2",
		"1 producer-N sent nothing | producer-1 sent nothing | run tiny 3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Records of other seeds and scenarios are no part of the campaign.
func TestOnlyWhatWasAskedFor(t *testing.T) {
	records := failing(repeat(10, loss))
	records[4].Scenario = "removed"
	a := about(4)
	a.From = 3
	if c := Summarize(a, records); c.Runs.Done != 3 || c.Findings[0].First.Seed != 3 {
		t.Errorf("%d runs from seed %d, want the 3 of tiny with the seeds 3 to 6", c.Runs.Done, c.Findings[0].First.Seed)
	}
}

func TestProperties(t *testing.T) {
	a := about(10)
	a.Scenarios[0].Required = []string{checker.NoDataLoss}
	records := failing([]string{"", loss, loss, ""})
	records[0].NotPassed = map[string]checker.Status{checker.NoDataLoss: checker.Inconclusive, checker.MessageOrdering: checker.NotApplicable}
	records = append(records, Record{Scenario: "tiny", Seed: 5, Outcome: reports.HarnessError, Error: "lost"})
	s := Summarize(a, records).Scenarios[0]
	if got, want := s.Runs, (Outcomes{Done: 5, Passed: 2, Failed: 2, HarnessError: 1}); got != want {
		t.Errorf("runs %+v, want %+v", got, want)
	}
	for _, p := range s.Properties {
		want := Property{Slug: p.Slug, Class: p.Class, Passed: 4}
		switch p.Slug {
		case checker.NoDataLoss:
			want.Required, want.Passed, want.Failed, want.Inconclusive = true, 1, 2, 1
		case checker.MessageOrdering:
			want.Passed, want.NotApplicable = 3, 1
		}
		if p != want {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
}

// No failure in n runs bounds the rate below 3/n; a failure bounds nothing.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		runs  []string
		bound int64
	}{
		{repeat(2, ""), 0},
		{repeat(3, ""), 1_000_000},
		{repeat(7, ""), 428_572},
		{repeat(3000, ""), 1_000},
		{append(repeat(3000, ""), loss), 0},
	} {
		b := Summarize(about(4000), failing(c.runs)).Bound
		if b.PerMillion != c.bound || b.Text == "" {
			t.Errorf("%d runs: %d per million (%s), want %d", len(c.runs), b.PerMillion, b.Text, c.bound)
		}
	}
}

// The curve counts kinds of fault with sizes of the points' counts, each once.
func TestCover(t *testing.T) {
	records := failing(repeat(12, ""))
	for i := range records {
		records[i].Faults = []FaultCount{{Kind: "kill", Planned: 1, Effective: 1}, {Kind: "reset", Planned: 1}}
		records[i].Points = []PointCount{{Name: "ack", Times: int64(i + 1)}} // sizes 1, 2 2, 3 3 3 3, 4 …
	}
	records[2].Faults = nil
	records[5].Points = append(records[5].Points, PointCount{Name: "delivery", Times: 2})
	c := Summarize(about(20), records)
	if diff := cmp.Diff([]Step{{1, 1}, {2, 2}, {5, 4}, {10, 6}, {12, 6}}, c.Cover.Curve); diff != "" {
		t.Errorf("curve:\n%s", diff)
	}
	if c.Cover.Reached != 2 || len(c.Cover.Points) != len(faults.Points()) {
		t.Errorf("%d of %d points reached, want 2 of %d", c.Cover.Reached, len(c.Cover.Points), len(faults.Points()))
	}
	for _, p := range c.Cover.Points {
		switch {
		case p.Name == "ack" && (p.Times != 78 || p.Runs != 12), p.Name == "delivery" && (p.Times != 2 || p.Runs != 1):
			t.Errorf("%s: %d times in %d runs", p.Name, p.Times, p.Runs)
		}
	}
	never := c.NotExercised.Points
	if len(never) != len(faults.Points())-2 || slices.Contains(never, "ack") {
		t.Errorf("never reached: %v", never)
	}
}

// A fault of the catalog that never took effect is told, also one that was
// planned.
func TestNotExercised(t *testing.T) {
	records := failing([]string{""})
	records[0].Faults = []FaultCount{{Kind: "kill", Planned: 2, Effective: 1}, {Kind: "reset", Planned: 1}}
	records[0].Claims = []string{checker.ClaimGaveUp}
	n := Summarize(about(1), records).NotExercised
	kinds := strings.Join(n.FaultKinds, " ")
	if strings.Contains(kinds, "kill") || !strings.Contains(kinds, "reset") || len(n.FaultKinds) != len(faults.Kinds())-1 {
		t.Errorf("kinds: %s", kinds)
	}
	if fmt.Sprint(n.Planned) != "[reset]" {
		t.Errorf("planned and never met: %v", n.Planned)
	}
	if len(n.Claims) != len(checker.ClaimNames())-1 {
		t.Errorf("claims: %v", n.Claims)
	}

	processes := about(1)
	processes.Scenarios[0].World = "process"
	n = Summarize(processes, records).NotExercised
	if kinds := strings.Join(n.FaultKinds, " "); strings.Contains(kinds, "power-loss") || len(n.Points) != 0 {
		t.Errorf("told of real processes: kinds %s, points %v", kinds, n.Points)
	}
}

func TestRecoveries(t *testing.T) {
	records := failing(repeat(15, ""))
	for i := range records {
		if i > 0 {
			records[i].Recovery = &Slowest{Kind: "kill", Took: int64(i)}
		}
	}
	list := Summarize(about(15), records).Recoveries
	if len(list) != MaxRecoveries || list[0].Took != 14 || list[0].Seed != 15 || list[MaxRecoveries-1].Took != 5 {
		t.Errorf("%+v", list)
	}
}

// The summary says what a person does next.
func TestSummary(t *testing.T) {
	a := about(300)
	a.Ended = EndedBudget
	a.Throughput = Throughput{Workers: 2, Runs: 3, Elapsed: 30_000_000_000}
	c := Summarize(a, failing(append(repeat(2, ""), loss, loss+","+late, corrupt)))
	c.Findings[0].First.Dir = "runs/tiny-3"
	var b bytes.Buffer
	if err := Summary(&b, "out", c, false); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"FAIL  3 of 5 runs failed: no-data-loss in 2, no-data-corruption in 1",
		"5 runs of 300 (the time was up), 6 a minute with 2 workers",
		"tiny in sim: 5 runs, 2 pass, 3 fail, 0 inconclusive",
		"finding 1  no-data-loss: acked and gone",
		"2 of 5, 40.0 % (95 %: 11.8 % to 76.9 %)",
		"also seen in 1: consumer-progress: late",
		"run tiny 3\n            runs/tiny-3",
		"finding 2  no-data-corruption: other bytes",
		"go on      pestle campaign tiny",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("the summary lacks %q:\n%s", line, b.String())
		}
	}
}
