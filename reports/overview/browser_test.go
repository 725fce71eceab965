package overview

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pestle/campaign/result"
	"pestle/reports"
	"pestle/reports/page/pagetest"
)

// commas are those that group digits, for people.
var commas = regexp.MustCompile(`([0-9]),([0-9]{3})`)

// plain is a text as a machine would write its numbers.
func plain(texts []string) []string {
	for i, text := range texts {
		for commas.MatchString(text) {
			text = commas.ReplaceAllString(text, "$1$2")
		}
		texts[i] = text
	}
	return texts
}

// A browser shows campaign.json's numbers, writes nothing to its console and
// asks for nothing.
func TestNumbersInABrowser(t *testing.T) {
	for name, c := range map[string]result.Campaign{"sample": sample(), "clean": clean(), "process world": unseen()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := result.Write(dir, c); err != nil {
				t.Fatal(err)
			}
			if err := Write(dir, c); err != nil {
				t.Fatal(err)
			}
			c, err := result.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			seen := pagetest.Open(t, filepath.Join(dir, reports.ReportName))

			r := c.Runs
			has(t, seen, "li",
				fmt.Sprintf("%d of %d runs done", r.Done, asked(c)), fmt.Sprintf("%d passed", r.Passed), fmt.Sprintf("%d failed", r.Failed),
				fmt.Sprintf("%d inconclusive", r.Inconclusive), fmt.Sprintf("%d failed of the harness", r.HarnessError), fmt.Sprintf("%d distinct findings", len(c.Findings)))
			var rows []string
			for _, s := range c.Scenarios {
				has(t, seen, "h3", fmt.Sprintf("%s %s, %s: %d runs, %d passed, %d failed, %d inconclusive, %d failed of the harness",
					s.Name, s.File, s.World, s.Runs.Done, s.Runs.Passed, s.Runs.Failed, s.Runs.Inconclusive, s.Runs.HarnessError))
				rows = append(rows, "property pass fail inconclusive not applicable")
				for _, p := range s.Properties {
					class := string(p.Class)
					if !p.Required {
						class += ", not required"
					}
					rows = append(rows, fmt.Sprintf("%s %s %d %d %d %d", p.Slug, class, p.Passed, p.Failed, p.Inconclusive, p.NotApplicable))
				}
			}
			for _, list := range [][]result.Reason{c.HarnessErrors, c.Inconclusive} {
				if len(list) > 0 {
					rows = append(rows, "runs reason")
				}
				for _, reason := range list {
					rows = append(rows, fmt.Sprintf("%d %s first %s, seed %d: %s %s", reason.Runs, reason.Reason, reason.Scenario, reason.Seed, reason.Example, reason.Command))
				}
			}
			if len(c.Cover.Points) > 0 {
				has(t, seen, "b", fmt.Sprintf("%d of %d", c.Cover.Reached, len(c.Cover.Points)))
				rows = append(rows, "point passed when runs times")
				for _, p := range c.Cover.Points {
					rows = append(rows, fmt.Sprintf("%s %s %d %d", p.Name, p.When, p.Runs, p.Times))
				}
			}
			for i, f := range c.Findings {
				if got, want := plain(seen.Texts("summary"))[i], fmt.Sprintf("%s %s %s, %s", f.Property, f.Cause, f.Class, f.Fingerprint); got != want {
					t.Errorf("finding %d is %q, want %q", i, got, want)
				}
				if !slices.ContainsFunc(plain(seen.Texts("p")), func(p string) bool {
					return strings.HasPrefix(p, fmt.Sprintf("%d of %d runs, ", f.Rate.K, f.Rate.N))
				}) {
					t.Errorf("the page does not show the rate %d of %d", f.Rate.K, f.Rate.N)
				}
				has(t, seen, "code", f.First.Command, f.Shortest.Command)
				has(t, seen, "a", fmt.Sprintf("%s, seed %d", f.First.Scenario, f.First.Seed), fmt.Sprintf("%s, seed %d", f.Shortest.Scenario, f.Shortest.Seed))
			}
			for _, step := range c.Cover.Curve {
				has(t, seen, "title", strings.Replace(fmt.Sprintf("%d states after %d runs", step.States, step.Runs), "after 1 runs", "after 1 run", 1))
			}
			shown := plain(seen.Texts("tr"))
			if n := min(len(rows), len(shown)); !slices.Equal(shown[:n], rows) {
				t.Errorf("the tables show\n%s\nwant\n%s", strings.Join(shown, "\n"), strings.Join(rows, "\n"))
			}
			if got, want := len(shown)-len(rows), len(c.Recoveries); got != want && got != want+1 {
				t.Errorf("%d rows about recoveries, want %d and a head", got, want)
			}
		})
	}
}

// has checks that some element of that name reads exactly so, for each text.
func has(t *testing.T, seen pagetest.Seen, name string, wanted ...string) {
	t.Helper()
	texts := plain(seen.Texts(name))
	for _, want := range wanted {
		if !slices.Contains(texts, want) {
			t.Errorf("no <%s> reads %q; there are\n%s", name, want, strings.Join(texts, "\n"))
		}
	}
}
