package scenarios

import "testing"

func TestDurations(t *testing.T) {
	for _, c := range []struct {
		text string
		ns   int64
		ok   bool
	}{
		{"0s", 0, true},
		{"250us", 250_000, true},
		{"300ms", 300 * millisecond, true},
		{"2s", 2 * second, true},
		{"5m", 5 * minute, true},
		{"24h", 24 * hour, true},
		{"281474976710655s", 0, false}, // more than 64 bits of nanoseconds
		{"", 0, false},
		{"2", 0, false},
		{"s", 0, false},
		{"-2s", 0, false},
		{"+2s", 0, false},
		{"1.5s", 0, false},
		{"1m30s", 0, false},
		{"02s", 0, false},
		{"2 s", 0, false},
		{"2S", 0, false},
		{"1_000ms", 0, false},
		{"2days", 0, false},
	} {
		ns, ok := parseDuration(c.text)
		if ok != c.ok || ok && ns != c.ns {
			t.Errorf("%q: %d, %v; want %d, %v", c.text, ns, ok, c.ns, c.ok)
		}
	}
}

func TestDurationsInWords(t *testing.T) {
	for _, c := range []struct {
		ns   int64
		want string
	}{
		{0, "0s"}, {1, "1ns"}, {1500, "1500ns"}, {250_000, "250us"}, {1500 * millisecond, "1500ms"},
		{2 * second, "2s"}, {90 * second, "90s"}, {2 * minute, "2m"}, {48 * hour, "48h"},
	} {
		if got := formatDuration(c.ns); got != c.want {
			t.Errorf("%d ns: %s, want %s", c.ns, got, c.want)
		}
	}
}

func TestPercents(t *testing.T) {
	for _, c := range []struct {
		text     string
		permille int64
		ok       bool
	}{
		{"0%", 0, true}, {"1%", 10, true}, {"0.5%", 5, true}, {"12.3%", 123, true}, {"100%", 1000, true},
		{"1", 0, false}, {"%", 0, false}, {".5%", 0, false}, {"1.%", 0, false}, {"0.25%", 0, false}, {"101%", 0, false}, {"-1%", 0, false},
	} {
		permille, ok := parsePercent(c.text)
		if ok != c.ok || ok && permille != c.permille {
			t.Errorf("%q: %d, %v; want %d, %v", c.text, permille, ok, c.permille, c.ok)
		}
		if ok && formatPercent(permille) != c.text {
			t.Errorf("%q is written back as %s", c.text, formatPercent(permille))
		}
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		text string
		want span
		ok   bool
	}{
		{"5", span{5, 5}, true}, {"2..5", span{2, 5}, true}, {"5..2", span{5, 2}, true}, // refused later, with its own words
		{"2..", span{}, false}, {"..5", span{}, false}, {"2...5", span{}, false}, {"1..2..3", span{}, false}, {"2-5", span{}, false},
	} {
		got, ok := parseSpan(c.text, parseInt)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%q: %v, %v; want %v, %v", c.text, got, ok, c.want, c.ok)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		text  string
		bytes int64
		ok    bool
	}{
		{"0", 0, true}, {"1099", 1099, true}, {"1KiB", 1 << 10, true}, {"64KiB", 64 << 10, true}, {"3MiB", 3 << 20, true}, {"1GiB", 1 << 30, true},
		{"9999999999GiB", 0, false}, // more than 64 bits of bytes
		{"1KB", 0, false}, {"KiB", 0, false}, {"1.5KiB", 0, false}, {"-1KiB", 0, false}, {"1 KiB", 0, false}, {"", 0, false},
	} {
		bytes, ok := parseSize(c.text)
		if ok != c.ok || ok && bytes != c.bytes {
			t.Errorf("%q: %d, %v; want %d, %v", c.text, bytes, ok, c.bytes, c.ok)
		}
		if ok && formatSize(bytes) != c.text {
			t.Errorf("%q is written back as %s", c.text, formatSize(bytes))
		}
	}
}

func TestSigned(t *testing.T) {
	for _, c := range []struct {
		text  string
		parse func(string) (int64, bool)
		want  span
		ok    bool
	}{
		{"-2s", parseDuration, span{-2 * second, -2 * second}, true},
		{"-2s..500ms", parseDuration, span{-2 * second, 500 * millisecond}, true},
		{"-200ppm..200ppm", parsePPM, span{-200, 200}, true},
		{"--2s", parseDuration, span{}, false},
		{"-", parseDuration, span{}, false},
		{"-200", parsePPM, span{}, false},
		{"2..-2", parseDuration, span{}, false},
	} {
		got, ok := parseSpan(c.text, signed(c.parse))
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%q: %v, %v; want %v, %v", c.text, got, ok, c.want, c.ok)
		}
	}
}

func TestSuggestions(t *testing.T) {
	words := []string{"timeout", "tries", "backoff"}
	for found, want := range map[string]string{
		"timout":  `; did you mean "timeout"?`,
		"tiemout": `; did you mean "timeout"?`,
		"Backoff": `; did you mean "backoff"?`,
		"zzzz":    ``,
		"":        ``,
	} {
		if got := didYouMean(found, words); got != want {
			t.Errorf("%q: %s, want %s", found, got, want)
		}
	}
}

func FuzzValues(f *testing.F) {
	for _, seed := range []string{"300ms..2s", "80/s", "0.5%", "100..1099", "-2s..2s", "64KiB..1MiB", "-200ppm", "9223372036854775807h", "..", "1..2..3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, ok := parseSpan(text, parseDuration); ok {
			again, ok := parseSpan(formatSpan(s, formatDuration), parseDuration)
			if !ok || again != s || s.lo < 0 || s.hi < 0 {
				t.Errorf("%q is %v, written %s, read back %v", text, s, formatSpan(s, formatDuration), again)
			}
		}
		if s, ok := parseSpan(text, signed(parsePPM)); ok {
			if again, ok := parseSpan(formatSpan(s, formatPPM), signed(parsePPM)); !ok || again != s {
				t.Errorf("%q is %v, written %s", text, s, formatSpan(s, formatPPM))
			}
		}
		if n, ok := parseSize(text); ok {
			if again, ok := parseSize(formatSize(n)); !ok || again != n || n < 0 {
				t.Errorf("%q is %d bytes, written %s", text, n, formatSize(n))
			}
		}
		if n, ok := parsePercent(text); ok && (n < 0 || n > 1009) {
			t.Errorf("%q is %d permille", text, n)
		}
		if n, ok := parseRate(text); ok && n < 0 {
			t.Errorf("%q is %d/s", text, n)
		}
	})
}
