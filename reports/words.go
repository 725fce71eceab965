package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"pestle/checker"
)

// Nanoseconds of the units people read.
const (
	microsecond = 1_000
	millisecond = 1_000_000
	second      = 1_000_000_000
	minute      = 60 * second
)

// span writes a length of time with three or four digits that matter: 850 µs,
// 24.3 ms, 1.250 s, 3 min 5 s.
func span(ns int64) string {
	switch a := max(ns, -ns); {
	case a < millisecond:
		return fmt.Sprintf("%d µs", ns/microsecond)
	case a < 100*millisecond:
		return fmt.Sprintf("%.1f ms", float64(ns)/millisecond)
	case a < second:
		return fmt.Sprintf("%d ms", ns/millisecond)
	case a < 10*second:
		return fmt.Sprintf("%.2f s", float64(ns)/second)
	case a < 2*minute:
		return fmt.Sprintf("%.1f s", float64(ns)/second)
	}
	return fmt.Sprintf("%d min %d s", ns/minute, ns%minute/second)
}

// clock writes a moment of the run as seconds since its start, to the
// millisecond: the unit in which a person compares two moments.
func clock(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/second) }

// number groups digits by three: 1,234,567.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted writes a number with its noun: 1 message, 2 messages.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		return number(n) + " " + stem + "ries"
	}
	return number(n) + " " + noun + "s"
}

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
		words[i] = number(e[name]) + " " + name
	}
	return words
}

// statusWord writes a status as people say it.
func statusWord(status string) string {
	switch status {
	case string(checker.NotApplicable):
		return "not applicable"
	case string(HarnessError):
		return "harness error"
	}
	return status
}

// failedWords says which required properties failed and how often.
func failedWords(v checker.Verdict) string {
	var parts []string
	for _, p := range v.Properties {
		if p.Status == checker.Fail && p.Required {
			parts = append(parts, p.Slug+", "+counted(p.Total, "time"))
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
		return upperFirst(run.Reason(v)) + "."
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

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// signed writes a distance between two moments with its sign.
func signed(ns int64) string {
	if ns < 0 {
		return "−" + span(-ns)
	}
	return "+" + span(ns)
}

// clip bounds a text that came from the run, which may be of any length.
func clip(s string) string {
	runes := 0
	for i := range s {
		if runes == maxText {
			return s[:i] + "…"
		}
		runes++
	}
	return s
}

// printable makes a text one harmless line.
func printable(s string) string {
	return strings.Map(harmless, strings.ReplaceAll(s, "\n", " "))
}

// harmless replaces control characters and those that turn the direction of
// writing: ids and errors come from the system under test and must neither
// steer a terminal nor make a line read as another one.
func harmless(r rune) rune {
	if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
		return unicode.ReplacementChar
	}
	return r
}
