//det:ring0

package scenarios

import (
	"fmt"
	"strconv"
	"strings"
)

// span is a value that may be a range, both ends included. A single value has
// equal ends.
type span struct{ lo, hi int64 }

// parseInt reads a decimal number without sign, underscores or leading zeros.
func parseInt(s string) (int64, bool) {
	if s == "" || len(s) > 18 || len(s) > 1 && s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// unit is a suffix and what one of it counts.
type unit struct {
	name string
	size int64
}

func durationUnits() []unit {
	return []unit{{"ms", millisecond}, {"us", 1000}, {"s", second}, {"m", minute}, {"h", hour}}
}

// parseDuration reads a whole number with its unit: 250us, 300ms, 2s, 5m, 1h.
func parseDuration(s string) (int64, bool) {
	for _, u := range durationUnits() {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			if v, ok := parseInt(n); ok && v <= (1<<62)/u.size {
				return v * u.size, true
			}
		}
	}
	return 0, false
}

// formatDuration writes nanoseconds as parseDuration reads them, in the
// largest unit that leaves a whole number; what no unit fits is in ns.
func formatDuration(ns int64) string {
	for _, u := range []unit{{"h", hour}, {"m", minute}, {"s", second}, {"ms", millisecond}, {"us", 1000}} {
		if ns != 0 && ns%u.size == 0 {
			return strconv.FormatInt(ns/u.size, 10) + u.name
		}
	}
	if ns == 0 {
		return "0s"
	}
	return strconv.FormatInt(ns, 10) + "ns"
}

// parseRate reads messages per second: 80/s.
func parseRate(s string) (int64, bool) {
	n, ok := strings.CutSuffix(s, "/s")
	if !ok {
		return 0, false
	}
	return parseInt(n)
}

// parsePPM reads millionths: 500ppm.
func parsePPM(s string) (int64, bool) {
	n, ok := strings.CutSuffix(s, "ppm")
	if !ok {
		return 0, false
	}
	return parseInt(n)
}

// signed makes a parser read a minus sign too.
func signed(parse func(string) (int64, bool)) func(string) (int64, bool) {
	return func(s string) (int64, bool) {
		positive, negative := strings.CutPrefix(s, "-")
		n, ok := parse(positive)
		if negative {
			n = -n
		}
		return n, ok
	}
}

func sizeUnits() []unit {
	return []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

// parseSize reads a number of bytes, with or without its unit: 100, 64KiB.
func parseSize(s string) (int64, bool) {
	for _, u := range sizeUnits() {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			v, ok := parseInt(n)
			return v * u.size, ok && v <= (1<<62)/u.size
		}
	}
	return parseInt(s)
}

// formatSize writes what parseSize reads, in the largest unit that leaves a
// whole number.
func formatSize(n int64) string {
	for _, u := range sizeUnits() {
		if n != 0 && n%u.size == 0 {
			return formatInt(n/u.size) + u.name
		}
	}
	return formatInt(n)
}

func formatInt(n int64) string  { return strconv.FormatInt(n, 10) }
func formatRate(n int64) string { return formatInt(n) + "/s" }
func formatPPM(n int64) string  { return formatInt(n) + "ppm" }

func formatPercent(permille int64) string {
	if permille%10 == 0 {
		return formatInt(permille/10) + "%"
	}
	return fmt.Sprintf("%d.%d%%", permille/10, permille%10)
}

// parsePercent reads a share with one decimal place at most and returns it in
// permille: 1% is 10, 0.5% is 5.
func parsePercent(s string) (int64, bool) {
	n, ok := strings.CutSuffix(s, "%")
	if !ok {
		return 0, false
	}
	whole, tenth, dot := strings.Cut(n, ".")
	w, ok := parseInt(whole)
	if !ok || w > 100 {
		return 0, false
	}
	if !dot {
		return w * 10, true
	}
	t, ok := parseInt(tenth)
	return w*10 + t, ok && t <= 9
}

// parseSpan reads lo..hi or a single value, each end by parse.
func parseSpan(s string, parse func(string) (int64, bool)) (span, bool) {
	lo, hi, isRange := strings.Cut(s, "..")
	a, ok := parse(lo)
	if !ok || !isRange {
		return span{a, a}, ok
	}
	b, ok := parse(hi)
	return span{a, b}, ok
}

// formatSpan writes what parseSpan reads.
func formatSpan(s span, format func(int64) string) string {
	if s.lo == s.hi {
		return format(s.lo)
	}
	return fmt.Sprintf("%s..%s", format(s.lo), format(s.hi))
}
