package page

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// MaxText bounds one text that came from a run, in characters.
const MaxText = 600

// Nanoseconds of the units people read.
const (
	microsecond = 1_000
	millisecond = 1_000_000
	second      = 1_000_000_000
	minute      = 60 * second
	hour        = 60 * minute
)

// Span writes a length of time with three or four digits that matter: 850 µs,
// 24.3 ms, 1.250 s, 3 min 5 s, 33 h 20 min.
func Span(ns int64) string {
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
	case a < 2*hour:
		return fmt.Sprintf("%d min %d s", ns/minute, ns%minute/second)
	}
	return fmt.Sprintf("%d h %d min", ns/hour, ns%hour/minute)
}

// Clock writes a moment of the run as seconds since its start, to the
// millisecond: the unit in which a person compares two moments.
func Clock(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/second) }

// Number groups digits by three: 1,234,567.
func Number(n int64) string {
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

// Counted writes a number with its noun: 1 message, 2 messages.
func Counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		return Number(n) + " " + stem + "ries"
	}
	return Number(n) + " " + noun + "s"
}

// Share writes parts per million as percents, the rarer the finer: 15.0 %,
// 2.35 %, 0.030 %.
func Share(ppm int64) string {
	digits := 3
	switch {
	case ppm >= 100_000:
		digits = 1
	case ppm >= 10_000:
		digits = 2
	case ppm == 0:
		digits = 0
	}
	return strconv.FormatFloat(float64(ppm)/10_000, 'f', digits, 64) + " %"
}

// Signed writes a distance between two moments with its sign.
func Signed(ns int64) string {
	if ns < 0 {
		return "−" + Span(-ns)
	}
	return "+" + Span(ns)
}

// Clip bounds a text that came from the run, which may be of any length.
func Clip(s string) string {
	runes := 0
	for i := range s {
		if runes == MaxText {
			return s[:i] + "…"
		}
		runes++
	}
	return s
}

// Printable makes a text one harmless line.
func Printable(s string) string {
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

// UpperFirst begins a sentence with s.
func UpperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// StatusWord writes a status or an outcome as people say it.
func StatusWord(status string) string { return strings.ReplaceAll(status, "-", " ") }

// Glyph tells a status or an outcome without colours.
func Glyph(status string) string {
	switch status {
	case "pass":
		return "✓"
	case "fail":
		return "✕"
	case "inconclusive":
		return "?"
	case "not-applicable":
		return "–"
	}
	return "!"
}
