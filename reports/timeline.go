package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pestle/history"
	"pestle/reports/page"
)

// Bounds of the picture: a day's run draws as much as a minute's.
const (
	maxBuckets  = 300 // about three pixels each on a wide page
	maxChannels = 4   // beyond it the deliveries of all channels are one chart
	maxLanes    = 24
	maxMarks    = 1_000
	chartTop    = 1_000 // height of a chart's own coordinates
	tickCount   = 8
)

// steps are the bucket widths and tick distances that people read easily.
var steps = []int64{
	100 * millisecond, 200 * millisecond, 500 * millisecond,
	second, 2 * second, 5 * second, 10 * second, 30 * second,
	minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, 60 * minute,
	180 * minute, 360 * minute, 720 * minute,
}

// timeline is the picture of a run. Horizontal positions are percents of its
// length, so that the page may have any width.
type timeline struct {
	Bands  []band // phases
	Quiet  []band // windows without faults
	Charts []chart
	Lanes  []lane // one per target of a fault
	Proven []mark // moments at which a violation was proven
	Ticks  []mark
	Kinds  []key // of the faults drawn

	Left string // what was left out, in words; empty when nothing was
}

// band is a stretch of time with a name.
type band struct {
	X, W string
	Name string
	Long bool // long enough to carry its name
}

// chart is a rate over time.
type chart struct {
	Name   string
	Class  string
	Cells  int    // width in the chart's own coordinates
	Area   string // path
	Line   string // path of what is compared with it; empty for none
	Top    string // the rate at the upper line
	Label  string // the picture in one sentence
	Hovers []hover
}

// hover is what one bucket says when pointed at.
type hover struct {
	X, W string
	Text string
}

// lane is one target with the faults that hit it.
type lane struct {
	Name  string
	Marks []mark
}

// key is one line of the legend.
type key struct{ Name, Letter, Class string }

// mark is one moment or stretch of a lane.
type mark struct {
	X, W  string
	Class string
	Label string
	Title string
	Href  string // fragment within the page; empty for none
}

// scale maps CLOCK_MONOTONIC to percents and buckets.
type scale struct {
	origin int64 // ns
	width  int64 // of a bucket, ns
	cells  int
}

func newScale(events []history.Event) scale {
	first, last := events[0].T, events[0].T
	for i := range events {
		first = min(first, events[i].T)
		last = max(last, events[i].T)
	}
	length := last - first + 1
	width := length/maxBuckets + 1
	for _, s := range steps {
		if s >= width {
			width = s
			break
		}
	}
	return scale{origin: first, width: width, cells: int((length + width - 1) / width)}
}

func (s scale) length() int64 { return int64(s.cells) * s.width }

func (s scale) cell(t int64) int {
	return max(0, min(s.cells-1, int((t-s.origin)/s.width)))
}

// percent places a length of time in the picture.
func (s scale) percent(ns int64) string {
	return strconv.FormatFloat(100*float64(ns)/float64(s.length()), 'f', 3, 64)
}

func (s scale) at(t int64) string { return s.percent(t - s.origin) }

func (s scale) band(from, to int64, name string) band {
	// A name of up to eight letters needs about a twelfth of a narrow page.
	return band{X: s.at(from), W: s.percent(to - from), Name: name, Long: (to-from)*12 >= s.length()}
}

// newTimeline draws a history that has at least one event.
func newTimeline(events []history.Event, list []fault, found []finding) timeline {
	s := newScale(events)
	t := timeline{}
	t.Bands, t.Quiet = phases(s, events)
	t.Charts = charts(s, events)
	t.lanes(s, events, list)
	for _, f := range found {
		if len(t.Proven) == maxMarks {
			break
		}
		t.Proven = append(t.Proven, mark{
			X: s.at(f.t), Title: f.Slug + " proven violated at " + page.Clock(f.t-s.origin), Href: "#" + f.Anchor,
		})
	}
	step := s.length()/tickCount + 1
	for _, nice := range steps {
		if nice >= step {
			step = nice
			break
		}
	}
	for at := int64(0); at < s.length(); at += step {
		t.Ticks = append(t.Ticks, mark{X: s.percent(at), Label: tickLabel(at)})
	}
	return t
}

func tickLabel(ns int64) string {
	if ns%second != 0 {
		return fmt.Sprintf("%.1f s", float64(ns)/second)
	}
	if ns < 10*minute {
		return fmt.Sprintf("%d s", ns/second)
	}
	return fmt.Sprintf("%d min", ns/minute)
}

// phases returns the bands of the phases and of the quiet windows.
func phases(s scale, events []history.Event) (bands, quiet []band) {
	var phase, window string
	var phaseFrom, windowFrom, end int64
	closeWindow := func(t int64) {
		if window != "" {
			quiet = append(quiet, s.band(windowFrom, t, window))
			window = ""
		}
	}
	for i := range events {
		e := &events[i]
		end = max(end, e.T)
		if e.Ev != history.Phase {
			continue
		}
		switch e.What {
		case history.PhaseQuiet:
			closeWindow(e.T)
			window, windowFrom = "quiet", e.T
			continue
		case history.PhaseQuietEnd:
			closeWindow(e.T)
			continue
		}
		closeWindow(e.T)
		if phase != "" {
			bands = append(bands, s.band(phaseFrom, e.T, phase))
		}
		phase, phaseFrom = e.What, e.T
	}
	closeWindow(end)
	if phase != "" && phase != history.PhaseEnd {
		bands = append(bands, s.band(phaseFrom, end, phase))
	}
	return bands, quiet
}

// charts draws acks against attempts, sends that were not acked, and the
// deliveries of each channel.
func charts(s scale, events []history.Event) []chart {
	attempts, acks, lost := make([]int64, s.cells), make([]int64, s.cells), make([]int64, s.cells)
	deliveries := map[string][]int64{}
	for i := range events {
		e := &events[i]
		switch e.Ev {
		case history.Attempt:
			attempts[s.cell(e.T)]++
		case history.Ack:
			acks[s.cell(e.T)]++
		case history.Fail, history.Unknown:
			lost[s.cell(e.T)]++
		case history.Consume:
			if deliveries[e.Channel] == nil {
				deliveries[e.Channel] = make([]int64, s.cells)
			}
			deliveries[e.Channel][s.cell(e.T)]++
		}
	}
	list := []chart{
		s.chart("acks", "acks/s", acks, attempts, "attempts/s"),
		s.chart("unacked", "refused or unknown/s", lost, nil, ""),
	}
	channels := make([]string, 0, len(deliveries))
	for channel := range deliveries {
		channels = append(channels, channel)
	}
	slices.Sort(channels)
	if len(channels) > maxChannels {
		all := make([]int64, s.cells)
		for _, channel := range channels {
			for i, n := range deliveries[channel] {
				all[i] += n
			}
		}
		return append(list, s.chart("deliveries", "deliveries/s, all channels", all, nil, ""))
	}
	for _, channel := range channels {
		list = append(list, s.chart("deliveries", "deliveries/s, "+page.Clip(channel), deliveries[channel], nil, ""))
	}
	return list
}

func (s scale) chart(class, name string, counts, against []int64, againstName string) chart {
	rate := func(n int64) int64 { return (n*second + s.width/2) / s.width }
	top := int64(1)
	for i := range counts {
		top = max(top, rate(counts[i]))
		if against != nil {
			top = max(top, rate(against[i]))
		}
	}
	top = roundUp(top)
	c := chart{Name: name, Class: class, Cells: s.cells, Top: page.Number(top) + "/s"}
	c.Area = stairs(counts, rate, top, true)
	if against != nil {
		c.Line = stairs(against, rate, top, false)
	}
	var sum, peak int64
	for i, n := range counts {
		sum += n
		peak = max(peak, rate(n))
		from := int64(i) * s.width
		text := fmt.Sprintf("%s to %s: %s %s", page.Clock(from), page.Clock(from+s.width), page.Number(rate(n)), name)
		if against != nil {
			text += fmt.Sprintf(", %s %s", page.Number(rate(against[i])), againstName)
		}
		c.Hovers = append(c.Hovers, hover{X: s.percent(from), W: s.percent(s.width), Text: text})
	}
	c.Label = fmt.Sprintf("%s over time: %s in all, at most %s per second", name, page.Number(sum), page.Number(peak))
	return c
}

// roundUp returns the next number at or above n that has one digit, or two of
// which the second is a 5.
func roundUp(n int64) int64 {
	for p := int64(1); ; p *= 10 {
		for half := int64(2); half < 20; half++ {
			if r := half * p / 2; half*p%2 == 0 && r >= n {
				return r
			}
		}
	}
}

// stairs draws one step per bucket; a closed path is an area down to zero.
func stairs(counts []int64, rate func(int64) int64, top int64, closed bool) string {
	var b strings.Builder
	last := int64(-1)
	for i, n := range counts {
		y := chartTop - rate(n)*chartTop/top
		switch {
		case i == 0 && closed:
			fmt.Fprintf(&b, "M0 %dV%d", chartTop, y)
		case i == 0:
			fmt.Fprintf(&b, "M0 %d", y)
		case y != last:
			fmt.Fprintf(&b, "H%dV%d", i, y)
		}
		last = y
	}
	fmt.Fprintf(&b, "H%d", len(counts))
	if closed {
		fmt.Fprintf(&b, "V%dZ", chartTop)
	}
	return b.String()
}

// quietWindows counts the quiet windows a history entered.
func quietWindows(events []history.Event) int64 {
	var n int64
	for i := range events {
		if e := &events[i]; e.Ev == history.Phase && e.What == history.PhaseQuiet {
			n++
		}
	}
	return n
}
