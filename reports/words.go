package reports

import (
	"fmt"
	"slices"
	"strings"

	"pestle/checker"
	"pestle/reports/page"
)

// Nanoseconds of the units people read.
const (
	microsecond = 1_000
	millisecond = 1_000_000
	second      = 1_000_000_000
	minute      = 60 * second
)

// exposureNames lists an exposure's names in a fixed order.
func exposureNames(e checker.Exposure) []string {
	names := make([]string, 0, len(e))
	for name := range e {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// exposureWords lists an exposure as "1,204 messages consumed".
func exposureWords(e checker.Exposure) []string {
	words := exposureNames(e)
	for i, name := range words {
		words[i] = page.Number(e[name]) + " " + name
	}
	return words
}

// failedWords says which required properties failed and how often.
func failedWords(v checker.Verdict) string {
	var parts []string
	for _, p := range v.Properties {
		if p.Status == checker.Fail && p.Required {
			parts = append(parts, p.Slug+", "+page.Counted(p.Total, "time"))
		}
	}
	if len(parts) == 0 {
		return "violated: a required property"
	}
	return "violated: " + strings.Join(parts, "; ")
}

// headline is the outcome in one sentence.
func headline(run Run, v checker.Verdict) string {
	switch run.Outcome(v) {
	case HarnessError:
		return "The harness itself failed, so nothing is proven: " + run.HarnessError
	case Failed:
		return page.UpperFirst(run.Reason(v)) + "."
	case Inconclusive:
		return "Not enough was tested: " + strings.TrimRight(run.Reason(v), ".") + "."
	}
	held, required := 0, 0
	for _, p := range v.Properties {
		if p.Required && p.Status != checker.NotApplicable {
			required++
			if p.Status == checker.Pass {
				held++
			}
		}
	}
	return fmt.Sprintf("All %d required properties hold, each with enough exposure to say so.", required)
}
