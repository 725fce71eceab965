package page_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/reports/page"
)

const (
	millisecond = 1_000_000
	second      = 1_000_000_000
)

func TestWords(t *testing.T) {
	got := []string{
		page.Span(0), page.Span(999_999), page.Span(1_500_000), page.Span(99_940_000), page.Span(250 * millisecond), page.Span(1_250 * millisecond), page.Span(45 * second), page.Span(185 * second), page.Span(120_000 * second),
		page.Signed(-2 * millisecond), page.Signed(0), page.Number(0), page.Number(999), page.Number(1_000), page.Number(-1_234_567), page.Counted(1, "try"), page.Counted(2, "try"), page.Counted(1_000, "ack"),
		page.Clock(1_234_567_890), page.Share(0), page.Share(30), page.Share(300), page.Share(23_456), page.Share(150_000), page.Share(1_000_000), page.Clip(strings.Repeat("é", page.MaxText))}
	want := []string{
		"0 µs", "999 µs", "1.5 ms", "99.9 ms", "250 ms", "1.25 s", "45.0 s", "3 min 5 s", "33 h 20 min",
		"−2.0 ms", "+0 µs", "0", "999", "1,000", "-1,234,567", "1 try", "2 tries", "1,000 acks",
		"1.235 s", "0 %", "0.003 %", "0.030 %", "2.35 %", "15.0 %", "100.0 %", strings.Repeat("é", page.MaxText),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := page.Clip(strings.Repeat("é", page.MaxText+1)); got != strings.Repeat("é", page.MaxText)+"…" {
		t.Errorf("a long text is cut to %d bytes", len(got))
	}
}
