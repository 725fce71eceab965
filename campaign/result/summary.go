package result

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"pestle/reports"
	"pestle/reports/page"
)

// SummaryLines bounds how many findings, reasons and names of one list the
// summary prints; campaign.json has all.
const SummaryLines = 10

// Summary prints the end of a campaign for a terminal: the outcome, runs ×
// properties, the findings with the commands that repeat them, and what was not
// tested. dir is the campaign's directory. Colours are used only when color is
// true, and say nothing the words do not.
func Summary(w io.Writer, dir string, c Campaign, color bool) error {
	var b strings.Builder
	headline(&b, c, color)
	for _, s := range c.Scenarios {
		table(&b, s)
	}
	for i, f := range c.Findings {
		finding(&b, i+1, f)
	}
	reasons(&b, "harness errors", c.HarnessErrors)
	reasons(&b, "inconclusive", c.Inconclusive)
	coverage(&b, c)
	fmt.Fprintf(&b, "\nreport     %s\ncampaign   %s\n", filepath.Join(dir, reports.ReportName), filepath.Join(dir, Name))
	if c.Ended == EndedInterrupted || c.Ended == EndedBudget {
		fmt.Fprintf(&b, "go on      %s\n", page.Printable(c.Command))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	return nil
}

func headline(b *strings.Builder, c Campaign, color bool) {
	word := strings.ToUpper(page.StatusWord(string(c.Status)))
	if color {
		code := map[reports.Outcome]string{reports.Passed: "32", reports.Failed: "31", reports.Inconclusive: "33", reports.HarnessError: "35"}[c.Status]
		word = "\x1b[1;" + code + "m" + word + "\x1b[0m"
	}
	reason := c.Reason
	if reason == "" {
		reason = c.Bound.Text
	}
	fmt.Fprintf(b, "\n%s  %s\n", word, page.Printable(reason))
	ended := map[Ended]string{
		EndedDone: "all of them", EndedBudget: "the time was up", EndedFinding: "stopped at the first failure", EndedInterrupted: "interrupted",
	}[c.Ended]
	fmt.Fprintf(b, "%s of %s (%s), %s a minute with %s\n",
		page.Counted(c.Runs.Done, "run"), page.Number(int64(c.Seeds)*int64(len(c.Scenarios))), ended,
		page.Number(c.Throughput.PerMinute), page.Counted(int64(c.Throughput.Workers), "worker"))
}

// table prints what came of one scenario, property by property.
func table(b *strings.Builder, s Scenario) {
	fmt.Fprintf(b, "\n%s in %s: %s, %s pass, %s fail, %s inconclusive", page.Printable(s.Name), s.World, page.Counted(s.Runs.Done, "run"),
		page.Number(s.Runs.Passed), page.Number(s.Runs.Failed), page.Number(s.Runs.Inconclusive))
	if s.Runs.HarnessError > 0 {
		fmt.Fprintf(b, ", %s of the harness", page.Counted(s.Runs.HarnessError, "error"))
	}
	width := 0
	for _, p := range s.Properties {
		width = max(width, len(p.Slug))
	}
	fmt.Fprintf(b, "\n  %-*s  %8s  %8s  %12s\n", width, "", "pass", "fail", "inconclusive")
	for _, p := range s.Properties {
		fmt.Fprintf(b, "  %-*s  %8s  %8s  %12s", width, p.Slug, page.Number(p.Passed), page.Number(p.Failed), page.Number(p.Inconclusive))
		if p.NotApplicable > 0 {
			fmt.Fprintf(b, "  not promised in %s", page.Number(p.NotApplicable))
		}
		if !p.Required {
			b.WriteString("  does not count")
		}
		b.WriteByte('\n')
	}
}

func finding(b *strings.Builder, number int, f Finding) {
	if number > SummaryLines {
		if number == SummaryLines+1 {
			b.WriteString("\nfurther findings are in campaign.json\n")
		}
		return
	}
	fmt.Fprintf(b, "\nfinding %d  %s: %s\n  %s\n", number, f.Property, page.Printable(f.Cause), f.Rate)
	for _, s := range f.AlsoSeen {
		alone := ""
		if s.Alone > 0 {
			alone = fmt.Sprintf(" (alone in %s)", page.Number(s.Alone))
		}
		fmt.Fprintf(b, "  also seen in %s%s: %s: %s\n", page.Number(s.Runs), alone, s.Property, page.Printable(s.Cause))
	}
	example(b, "first", f.First)
	if f.Shortest.Seed != f.First.Seed || f.Shortest.Scenario != f.First.Scenario {
		example(b, "shortest", f.Shortest)
	}
	switch s := f.Story; {
	case s == nil:
	case s.Error != "":
		fmt.Fprintf(b, "  not shrunk: %s\n", page.Printable(s.Error))
	default:
		fmt.Fprintf(b, "  smallest  %s and %s, of %d and %d\n            %s\n",
			page.Counted(int64(s.Faults), "fault"), page.Counted(int64(s.Messages), "message"), s.WasFaults, s.WasMessages, page.Printable(s.Command))
	}
}

func example(b *strings.Builder, which string, e Example) {
	fmt.Fprintf(b, "  %-8s  %s\n            %s\n", which, page.Printable(e.Detail), page.Printable(e.Command))
	if e.Dir != "" {
		fmt.Fprintf(b, "            %s\n", e.Dir)
	}
}

func reasons(b *strings.Builder, title string, list []Reason) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for i, r := range list {
		if i == SummaryLines {
			fmt.Fprintf(b, "  … and %d more reasons\n", len(list)-i)
			return
		}
		fmt.Fprintf(b, "  %6s  %s\n          first: %s\n", page.Number(r.Runs), page.Printable(r.Example), page.Printable(r.Command))
	}
}

func coverage(b *strings.Builder, c Campaign) {
	b.WriteByte('\n')
	if n := len(c.Cover.Points); n > 0 {
		fmt.Fprintf(b, "points     %d of %d reached", c.Cover.Reached, n)
		names(b, c.NotExercised.Points, "; never ")
		if steps := c.Cover.Curve; len(steps) > 0 {
			last := steps[len(steps)-1]
			fmt.Fprintf(b, "states     %s after %s", page.Number(last.States), page.Counted(last.Runs, "run"))
			if len(steps) > 1 {
				before := steps[len(steps)-2]
				fmt.Fprintf(b, ", %s after %s", page.Number(before.States), page.Number(before.Runs))
			}
			b.WriteByte('\n')
		}
	}
	if len(c.NotExercised.FaultKinds) > 0 {
		b.WriteString("no fault   ")
		names(b, c.NotExercised.FaultKinds, "")
	}
	if len(c.NotExercised.Claims) > 0 {
		b.WriteString("no claim   ")
		names(b, c.NotExercised.Claims, "")
	}
	if len(c.Recoveries) > 0 {
		r := c.Recoveries[0]
		fmt.Fprintf(b, "recovery   at the slowest %s after a %s: %s\n", page.Span(r.Took), r.Kind, page.Printable(r.Command))
	}
	if c.Determinism.Repeated > 0 {
		fmt.Fprintf(b, "repeated   %s, %s diverged\n", page.Counted(c.Determinism.Repeated, "run"), page.Number(c.Determinism.Diverged))
	}
}

// names prints a list on the rest of the line, as far as people read it.
func names(b *strings.Builder, list []string, before string) {
	if len(list) > 0 {
		b.WriteString(before + strings.Join(list[:min(len(list), SummaryLines)], ", "))
		if more := len(list) - SummaryLines; more > 0 {
			fmt.Fprintf(b, " and %d more", more)
		}
	}
	b.WriteByte('\n')
}
