package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/history"
	"pestle/reports/page"
)

func TestTimelineOfASmallRun(t *testing.T) {
	s := small()
	list := faultRows(s.plan, s.run.FaultLog, s.events)
	s.events = append(s.events, history.Event{T: boot + 2_500*millisecond, Src: "harness", Ev: history.Note, What: history.NoteExited, Target: "broker-1", Text: "exit status 2"})
	s.sort()
	got := newTimeline(s.events, list, nil)
	var b strings.Builder
	for _, x := range got.Bands {
		fmt.Fprintf(&b, "phase %s at %s for %s\n", x.Name, x.X, x.W)
	}
	for _, x := range got.Quiet {
		fmt.Fprintf(&b, "quiet at %s for %s\n", x.X, x.W)
	}
	for _, c := range got.Charts {
		fmt.Fprintf(&b, "%s, top %s, area %s", c.Name, c.Top, c.Area)
		if c.Line != "" {
			fmt.Fprintf(&b, ", line %s", c.Line)
		}
		fmt.Fprintf(&b, "\n  %s\n  %s\n", c.Label, c.Hovers[4].Text)
	}
	for _, l := range got.Lanes {
		for _, m := range l.Marks {
			fmt.Fprintf(&b, "%s: %s %s at %s for %s: %s\n", l.Name, m.Class, m.Label, m.X, m.W, m.Title)
		}
	}
	for _, k := range got.Kinds {
		fmt.Fprintf(&b, "legend %s %s\n", k.Letter, k.Name)
	}
	for _, m := range got.Ticks {
		fmt.Fprintf(&b, "tick %s at %s\n", m.Label, m.X)
	}
	// 3 s and one nanosecond in buckets of 100 ms are 31 buckets.
	golden(t, "small-timeline.txt", []byte(b.String()))
}

// A fault that nobody healed is on until the picture ends, and a lane of
// thousands says how many it does not draw.
func TestLanes(t *testing.T) {
	events := []history.Event{{T: boot}, {T: boot + 10*second - 1}}
	unhealed := []fault{{Ref: 1, Kind: "kill", Target: "broker-1", effective: true, from: boot + 4*second}}
	got := newTimeline(events, unhealed, nil).Lanes[0].Marks[0]
	if got.X != "40.000" || got.W != "60.000" {
		t.Errorf("an unhealed fault is drawn at %s for %s, want 40.000 for 60.000", got.X, got.W)
	}

	many := make([]fault, 2*maxMarks)
	for i := range many {
		many[i] = fault{Ref: i + 1, Kind: "pause", Target: fmt.Sprintf("broker-%02d", i%(maxLanes+1)), effective: true, ended: true, from: boot, to: boot + 1}
	}
	lanes := newTimeline(events, many, nil)
	drawn := 0
	for _, l := range lanes.Lanes {
		drawn += len(l.Marks)
	}
	if len(lanes.Lanes) != maxLanes || drawn > maxMarks || drawn < maxMarks*9/10 {
		t.Errorf("%d lanes with %d marks, want %d with at most %d", len(lanes.Lanes), drawn, maxLanes, maxMarks)
	}
	if want := page.Number(int64(len(many)-drawn)) + " more fault marks not drawn"; !strings.HasPrefix(lanes.Left, want) {
		t.Errorf("left out: %q, want %q", lanes.Left, want)
	}
}

func TestBucketsAreBounded(t *testing.T) {
	for _, row := range []struct {
		length int64
		width  int64
		cells  int
	}{
		{0, 100 * millisecond, 1},
		{second, 100 * millisecond, 11},
		{29 * second, 100 * millisecond, 291},
		{45 * second, 200 * millisecond, 226},
		{60 * minute, 30 * second, 121},
		{24 * 60 * minute, 5 * minute, 289},
		{3_650 * 24 * 60 * minute, 0, 300},
	} {
		s := newScale([]history.Event{{T: boot}, {T: boot + row.length}})
		if row.width != 0 && s.width != row.width || s.cells != row.cells {
			t.Errorf("%s: %d buckets of %s, want %d of %s", page.Span(row.length), s.cells, page.Span(s.width), row.cells, page.Span(row.width))
		}
		if s.cells > maxBuckets {
			t.Errorf("%s: %d buckets, want at most %d", page.Span(row.length), s.cells, maxBuckets)
		}
		if last := s.cell(boot + row.length); last != s.cells-1 {
			t.Errorf("%s: the last event is in bucket %d of %d", page.Span(row.length), last, s.cells)
		}
	}
}

func TestRoundUp(t *testing.T) {
	var got []int64
	for _, n := range []int64{1, 2, 9, 10, 11, 16, 61, 99, 101, 1_001, 4_600} {
		got = append(got, roundUp(n))
	}
	if diff := cmp.Diff([]int64{1, 2, 9, 10, 15, 20, 65, 100, 150, 1_500, 5_000}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBytesWords(t *testing.T) {
	got := []string{bytesWords(999), bytesWords(1_500), bytesWords(2_500_000)}
	if diff := cmp.Diff([]string{"999 bytes", "1.5 kB", "2.5 MB"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
