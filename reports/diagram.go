package reports

import (
	"fmt"
	"strconv"
	"strings"

	"pestle/reports/page"
)

// Measures of the diagram, in pixels.
const (
	headHeight = 44
	rowHeight  = 32
	gapHeight  = 22
	beside     = 9 // from a mark to its words
	// Where the foot of words stands, from their moment's line: beside it, or
	// out of the way of an arrow that leaves downwards or came from above.
	level  = 4
	raised = -4
	sunk   = 13
	// maxSaid is how many characters stand beside a mark: half a narrow page.
	maxSaid = 40
	// maxHead is how many characters of a name stand on one line of a head.
	maxHead = 11
)

// head names a column.
type head struct {
	X     string
	Lines []headLine
	Title string
}

type headLine struct {
	Y    int
	Text string
}

// stretch is a part of a column.
type stretch struct {
	X     string
	Y, H  int
	Class string
	Title string
}

// Foot is where it ends.
func (s stretch) Foot() int { return s.Y + s.H }

// arrow leads from where something was sent to where it arrived.
type arrow struct {
	X1, X2 string
	Y1, Y2 int
	Tip    string // path of its head, from where it ends
}

// row is one moment, or a place where some are left out.
type row struct {
	Y      int
	At     string
	X      string // of its mark
	Glyph  string
	Class  string
	WordsX string
	DX     int // from WordsX to the words
	Foot   int // of the words
	Anchor string
	Words  string
	Title  string
}

// diagram is a sequence being drawn.
type diagram struct {
	*picked
	*sequence
	origin  int64
	columns map[string]int
	lines   []int          // by moment: its line if drawn, else the end of the row before it
	byEvent map[uint64]int // event number of a drawn moment → its place in the story
}

// disk names the column of a broker's disk.
func disk(broker string) string { return broker + " disk" }

func (s *sequence) draw(p *picked, origin, proven int64) {
	d := diagram{picked: p, sequence: s, origin: origin, columns: map[string]int{}, lines: make([]int, len(p.story)), byEvent: map[uint64]int{}}
	d.head()
	y, left := headHeight, 0
	for i, m := range p.story {
		if !p.drawn[i] {
			d.lines[i] = y
			if !p.isEcho(i) {
				left++
			}
			continue
		}
		if left > 0 {
			d.gap(y, left)
			y, left = y+gapHeight, 0
		}
		d.lines[i] = y + rowHeight/2
		d.byEvent[m.Event] = i
		d.moment(i)
		y += rowHeight
	}
	if left > 0 {
		d.gap(y, left)
		y += gapHeight
	}
	s.Proof = row{Y: y + rowHeight/2, At: micros(proven - origin), Glyph: "◆", Words: "here the violation was proven"}
	d.stretches(y)
	s.Height = y + rowHeight
}

// head gives each process its column, and a broker that uses its disk one
// more.
func (d *diagram) head() {
	disks := map[string]bool{}
	for i, m := range d.story {
		if d.drawn[i] && deedOf(m.What).onDisk() {
			disks[m.Who] = true
		}
	}
	var names []string
	for _, who := range d.processes {
		names = append(names, who)
		if disks[who] {
			names = append(names, disk(who))
		}
	}
	for i, name := range names {
		d.columns[name] = i
	}
	for _, name := range names {
		first, rest := name, ""
		if before, after, ok := strings.Cut(name, "-"); ok {
			first, rest = before, after
		}
		h := head{X: d.x(name), Title: page.Clip(name), Lines: []headLine{{16, shorten(first, maxHead)}}}
		if rest != "" {
			h.Lines = append(h.Lines, headLine{31, shorten(rest, maxHead)})
		}
		d.Heads = append(d.Heads, h)
	}
}

// place is the middle of a column, in percent.
func (d *diagram) place(name string) float64 {
	return 100 * (float64(d.columns[name]) + 0.5) / float64(len(d.columns))
}

func (d *diagram) x(name string) string { return percent(d.place(name)) }

func percent(p float64) string { return strconv.FormatFloat(p, 'f', 2, 64) }

func (d *diagram) gap(y, left int) {
	d.Gaps = append(d.Gaps, row{Y: y + gapHeight/2, Words: page.Counted(int64(left), "moment") + " not drawn"})
}

// moment draws a row with the arrow that ends there.
func (d *diagram) moment(i int) {
	m, y := d.story[i], d.lines[i]
	what := deedOf(m.What)
	at := m.Who
	if what == inDisk {
		at = disk(m.Who)
	}
	r := row{Y: y, At: micros(m.T - d.origin), X: d.x(at), Foot: y + level, Words: shorten(d.say(m.What), maxSaid), Title: page.Clip(micros(m.T-d.origin) + ", " + m.Who + ": " + m.What)}
	r.Class, r.Glyph = look(what)
	left, right := d.place(at), d.place(at) // what the words must not cover
	switch what {
	case toDisk:
		right = d.place(disk(at))
		d.arrow(at, disk(at), y, y)
	case fromDisk:
		right = d.place(disk(at))
		d.arrow(disk(at), at, y, y)
	case sending:
		r.Foot = y + raised
	default:
		if from, ok := d.byEvent[m.From]; ok && m.From != 0 {
			d.arrow(d.story[from].Who, at, d.lines[from], y)
			r.Foot, r.Glyph = y+sunk, ""
		}
	}
	// The words stand on the side that has more room.
	r.WordsX, r.DX, r.Anchor = percent(right), beside, "start"
	if left > 100-right {
		r.WordsX, r.DX, r.Anchor = percent(left), -beside, "end"
	}
	d.Rows = append(d.Rows, r)
}

func (d *diagram) arrow(from, to string, y1, y2 int) {
	a := arrow{X1: d.x(from), Y1: y1, X2: d.x(to), Y2: y2, Tip: "M0 0L-8 -4.5V4.5Z"}
	if d.place(from) > d.place(to) {
		a.Tip = "M0 0L8 -4.5V4.5Z"
	}
	d.Arrows = append(d.Arrows, a)
}

// stretches draws when each process lived and when faults were on. foot is the
// end of the last row.
func (d *diagram) stretches(foot int) {
	for _, name := range d.processes {
		x, y, class := d.x(name), headHeight, "" // "": nothing is known of it yet
		for i, m := range d.story {
			if m.Who != name {
				continue
			}
			what := deedOf(m.What)
			if class == "" {
				class = "alive" // its start is older than the story
				if what == starting {
					class = "dead"
				}
			}
			if what != starting && what != ending {
				continue
			}
			d.Lives = append(d.Lives, stretch{X: x, Y: y, H: d.lines[i] - y, Class: class})
			y, class = d.lines[i], "alive"
			if what == ending {
				class = "dead"
			}
		}
		d.Lives = append(d.Lives, stretch{X: x, Y: y, H: foot - y, Class: class})
		if _, ok := d.columns[disk(name)]; ok {
			d.Lives = append(d.Lives, stretch{X: d.x(disk(name)), Y: headHeight, H: foot - headHeight, Class: "alive"})
		}
		d.faults(name, foot)
	}
}

// faults draws the faults of one process.
func (d *diagram) faults(name string, foot int) {
	for i, m := range d.story {
		if m.Who != name || deedOf(m.What) != faultBegins {
			continue
		}
		end, until := foot, "the end"
		want := strings.Replace(m.What, " effective", " ended", 1)
		for k := i + 1; k < len(d.story); k++ {
			if o := d.story[k]; o.Who == name && o.What == want {
				end, until = d.lines[k], micros(o.T-d.origin)
				break
			}
		}
		if end > d.lines[i] {
			title := fmt.Sprintf("%s of %s from %s to %s", strings.Fields(m.What)[0], name, micros(m.T-d.origin), until)
			d.Faults = append(d.Faults, stretch{X: d.x(name), Y: d.lines[i], H: end - d.lines[i], Title: page.Clip(title)})
		}
	}
}

// say shortens what the column or the heading tells already.
func (d *diagram) say(what string) string {
	for _, category := range []string{"effect ", "event ", "network ", "disk "} {
		what = strings.TrimPrefix(what, category)
	}
	if len(d.ids) == 1 {
		what = strings.ReplaceAll(what, " "+d.ids[0], "")
	}
	return what
}

// look is the style and the mark of a moment.
func look(d deed) (class, glyph string) {
	switch d {
	case sending, arriving:
		return "attempt", "●"
	case acked:
		return "ack", "✓"
	case delivered:
		return "consume", "■"
	case faultBegins:
		return "fault", "▼"
	case faultEnds:
		return "fault", "▲"
	case starting:
		return "turn", "●"
	case ending:
		return "turn", "✕"
	case inDisk:
		return "note", "■"
	case toDisk, fromDisk:
		return "note", ""
	}
	return "note", "•"
}

func shorten(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}
