package reports

import (
	"testing"

	"pestle/checker"
)

func TestOutcome(t *testing.T) {
	required := []checker.Property{
		{Slug: "no-data-loss", Required: true, Status: checker.Fail, Total: 3},
		{Slug: "message-ordering", Status: checker.Fail, Total: 1},
		{Slug: "producer-progress", Required: true, Status: checker.Fail, Total: 1},
	}
	for _, row := range []struct {
		name    string
		run     Run
		verdict checker.Verdict
		outcome Outcome
		code    int
		reason  string
	}{
		{"pass", Run{}, checker.Verdict{Status: checker.Pass}, Passed, 0, ""},
		{"fail names the required properties only", Run{}, checker.Verdict{Status: checker.Fail, Properties: required}, Failed, 1,
			"violated: no-data-loss, 3 times; producer-progress, 1 time"},
		{"fail with lost lines", Run{}, checker.Verdict{Status: checker.Fail, Reason: "a line is missing", Properties: required[:1]}, Failed, 1,
			"violated: no-data-loss, 3 times; a line is missing"},
		{"inconclusive", Run{}, checker.Verdict{Status: checker.Inconclusive, Reason: "no quiet window"}, Inconclusive, 3, "no quiet window"},
		{"a verdict that was never reached", Run{}, checker.Verdict{}, Inconclusive, 3, "nothing was judged"},
		{"interrupted with nothing broken", Run{Partial: true}, checker.Verdict{Status: checker.Pass}, Inconclusive, 3, "the run was interrupted before its end"},
		{"interrupted without exposure", Run{Partial: true}, checker.Verdict{Status: checker.Inconclusive, Reason: "no drain"}, Inconclusive, 3, "the run was interrupted before its end; no drain"},
		{"interrupted after a violation", Run{Partial: true}, checker.Verdict{Status: checker.Fail, Properties: required[:1]}, Failed, 1, "violated: no-data-loss, 3 times"},
		{"with faults left out and nothing broken", Run{LeftOut: []string{"no clog was carried out: no tbf"}}, checker.Verdict{Status: checker.Pass}, Inconclusive, 3, "no clog was carried out: no tbf"},
		{"with faults left out, interrupted and without exposure", Run{Partial: true, LeftOut: []string{"a", "b"}}, checker.Verdict{Status: checker.Inconclusive, Reason: "c"}, Inconclusive, 3, "the run was interrupted before its end; a; b; c"},
		{"with faults left out and a violation", Run{LeftOut: []string{"a"}}, checker.Verdict{Status: checker.Fail, Properties: required[:1]}, Failed, 1, "violated: no-data-loss, 3 times"},
		{"a broken harness outranks a violation", Run{HarnessError: "port 4150 is busy"}, checker.Verdict{Status: checker.Fail, Properties: required}, HarnessError, 2, "port 4150 is busy"},
		{"a broken harness outranks a pass", Run{HarnessError: "disk full"}, checker.Verdict{Status: checker.Pass}, HarnessError, 2, "disk full"},
	} {
		t.Run(row.name, func(t *testing.T) {
			outcome := row.run.Outcome(row.verdict)
			if outcome != row.outcome || outcome.ExitCode() != row.code {
				t.Errorf("outcome %s, exit code %d; want %s, %d", outcome, outcome.ExitCode(), row.outcome, row.code)
			}
			if reason := row.run.Reason(row.verdict); reason != row.reason {
				t.Errorf("reason %q, want %q", reason, row.reason)
			}
		})
	}
}
