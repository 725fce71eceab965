package reports

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"pestle/checker"
	"pestle/reports/page"
)

// SummaryViolations is how many violations of a property the summary prints;
// the report has more.
const SummaryViolations = 3

// SummaryWidth is how many columns the table of properties keeps to.
const SummaryWidth = 100

// Summary prints the end of a run for a terminal: the outcome, the
// properties, the first violations, where the report is (unless dir is empty:
// there is none) and how to reproduce the run. Colours are used only when color is true, and say nothing the
// words do not.
func Summary(w io.Writer, dir string, run Run, verdict checker.Verdict, color bool) error {
	var b strings.Builder
	paint := func(outcome, text string) string {
		code, ok := map[string]string{
			string(Passed): "32", string(Failed): "31", string(Inconclusive): "33", string(HarnessError): "35",
		}[outcome]
		if !color || !ok {
			return text
		}
		return "\x1b[1;" + code + "m" + text + "\x1b[0m"
	}

	outcome := string(run.Outcome(verdict))
	fmt.Fprintf(&b, "\n%s  %s\n", paint(outcome, strings.ToUpper(page.StatusWord(outcome))), page.Printable(headline(run, verdict)))
	if run.PlanHash == "" {
		fmt.Fprintf(&b, "%s, a history without its plan\n\n", page.Printable(run.ID))
	} else {
		fmt.Fprintf(&b, "%s, seed %d, world %s, plan %s, %s\n\n", page.Printable(run.Scenario), run.Seed, page.Printable(run.World), shortHash(run.PlanHash), page.Span(run.Elapsed))
	}

	slugs, statuses := 0, 0
	for _, p := range verdict.Properties {
		slugs = max(slugs, len(p.Slug))
		statuses = max(statuses, len(page.StatusWord(string(p.Status))))
	}
	indent := 2 + slugs + 2 + statuses + 2
	for _, p := range verdict.Properties {
		word := page.StatusWord(string(p.Status))
		pad := strings.Repeat(" ", statuses-len(word))
		fmt.Fprintf(&b, "  %-*s  %s%s  %s\n", slugs, p.Slug, paint(string(p.Status), word), pad, hang(page.Printable(propertyWords(p)), indent))
	}
	if words := FailoverWords(run.Failovers); words != "" {
		fmt.Fprintf(&b, "  first ack after %s\n", words)
	}
	for _, c := range verdict.Claims {
		if c.Required && !c.Reached {
			fmt.Fprintf(&b, "  not reached: %s\n", page.Printable(c.Name))
		}
	}
	for _, p := range verdict.Properties {
		if len(p.Violations) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %s\n", p.Slug, page.Counted(p.Total, "violation"))
		for _, v := range p.Violations[:min(len(p.Violations), SummaryViolations)] {
			fmt.Fprintf(&b, "  %s\n", page.Printable(v.Detail))
		}
		if more := p.Total - SummaryViolations; more > 0 {
			fmt.Fprintf(&b, "  … and %s more\n", page.Number(more))
		}
	}

	b.WriteByte('\n')
	if dir != "" {
		fmt.Fprintf(&b, "report     %s\n", filepath.Join(dir, ReportName))
	}
	if run.TraceHash != "" {
		fmt.Fprintf(&b, "trace      %s\n", page.Printable(run.TraceHash))
	}
	if run.Command != "" {
		fmt.Fprintf(&b, "reproduce  %s\n", page.Printable(run.Command))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	return nil
}

// propertyWords is what stands behind a property's status, in one line.
func propertyWords(p checker.Property) string {
	words := strings.Join(exposureWords(p.Exposure), " · ")
	switch {
	case p.Reason == "":
		return words
	case words == "" || p.Status == checker.NotApplicable:
		return p.Reason
	}
	return p.Reason + " (" + words + ")"
}

// hang breaks a text at its spaces, so that lines that begin at column indent
// end before SummaryWidth where words allow it.
func hang(text string, indent int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		width := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+width > SummaryWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	return b.String()
}

// shortHash is enough of a hash for people to tell two plans apart.
func shortHash(hash string) string { return hash[:min(len(hash), 16)] }
