package shrink

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pestle/history"
	"pestle/scenarios"
	"pestle/sim"
)

// Bounds of a sequence diagram.
const (
	maxRows   = 60 // the last ones are shown
	laneWidth = 3  // columns at least between two lanes
	maxText   = 120
)

// diskLane is the lane of the broker's disk.
const diskLane = "disk"

// row is one thing that happened: in a lane, or on its way from one to another.
type row struct {
	t    int64
	lane string
	to   string // another lane that it goes to; "": it stays
	mark byte   // at lane
	text string
}

// Marks of rows.
const (
	markEvent = 'o' // something happens
	markFault = 'X' // a fault takes effect, or a process ends
	markHeal  = '^' // a fault is over, or a process starts
)

// sequence draws what happened to some messages as a diagram of lanes:
// producers, broker, its disk, consumers. events are the merged history,
// moments what the simulated broker did about the messages, nil elsewhere.
func sequence(plan scenarios.Plan, symptom Symptom, ids []string, events []history.Event, moments []sim.Moment) string {
	lanes := lanesOf(plan)
	if len(moments) == 0 {
		lanes = slices.DeleteFunc(lanes, func(l string) bool { return l == diskLane })
	}
	rows := append(fromHistory(events, ids), fromMoments(moments, lanes)...)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.t, b.t) })
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", symptom.Fingerprint, symptom.Violation.Detail)
	if left := len(rows) - maxRows; left > 0 {
		rows = rows[left:]
		fmt.Fprintf(&b, "(%d earlier rows are not shown)\n\n", left)
	}
	draw(&b, lanes, rows, events)
	return b.String()
}

// lanesOf are the lanes of a plan from left to right.
func lanesOf(p scenarios.Plan) []string {
	var lanes []string
	for _, x := range p.Workload.Producers {
		lanes = append(lanes, x.Name)
	}
	lanes = append(lanes, p.Processes()[0], diskLane)
	for _, x := range p.Workload.Consumers {
		lanes = append(lanes, x.Name)
	}
	return lanes
}

// fromHistory tells what clients and faults did.
func fromHistory(events []history.Event, ids []string) []row {
	const broker = "broker-1"
	var rows []row
	for _, e := range events {
		r := row{t: e.T, lane: e.Src, mark: markEvent}
		about := slices.Contains(ids, e.ID)
		switch {
		case e.Ev == history.Fault:
			r.lane, r.mark, r.text = e.Target, markFault, e.What+" takes effect"
			if e.Edge == history.EdgeEnded {
				r.mark, r.text = markHeal, e.What+" is over"
			}
		case e.Ev == history.Note && e.What == history.NoteExited:
			r.lane, r.mark, r.text = e.Target, markFault, "ends by itself: "+e.Text
		case !about:
			continue
		case e.Ev == history.Attempt:
			r.to, r.text = broker, fmt.Sprintf("sends %s, try %d", e.ID, e.Try)
		case e.Ev == history.Ack:
			r.lane, r.to, r.text = broker, e.Src, fmt.Sprintf("acknowledges %s, try %d", e.ID, e.Try)
		case e.Ev == history.Fail:
			r.text = fmt.Sprintf("%s is refused: %s", e.ID, e.Text)
		case e.Ev == history.Unknown:
			r.text = fmt.Sprintf("%s is unknown: %s", e.ID, e.Text)
		case e.Ev == history.Consume:
			r.lane, r.to, r.text = broker, e.Src, fmt.Sprintf("delivers %s, position %s, attempts %d", e.ID, e.Pos, e.Attempts)
		case e.Ev == history.Finish:
			r.to, r.text = broker, "finishes "+e.ID
		case e.Ev == history.Requeue:
			r.to, r.text = broker, "gives back "+e.ID
		default:
			continue
		}
		rows = append(rows, r)
	}
	return rows
}

// fromMoments tells what only the simulation sees: the broker and its disk.
// What clients did stands in the history already.
func fromMoments(moments []sim.Moment, lanes []string) []row {
	var rows []row
	for _, m := range moments {
		r := row{t: m.T, lane: m.Who, mark: markEvent}
		rest := ""
		switch {
		case !slices.Contains(lanes, m.Who):
			continue
		case cutPrefix(m.What, "start ", &rest):
			r.mark, r.text = markHeal, "starts, incarnation "+rest
		case cutPrefix(m.What, "end ", &rest):
			r.mark, r.text = markFault, "ends, incarnation "+rest
		case !strings.HasPrefix(m.Who, "broker-"):
			continue
		case cutPrefix(m.What, "event connection ", &rest):
			r.text = "reads from connection " + rest
		case cutPrefix(m.What, "effect write ", &rest):
			r.to, r.text = diskLane, "writes "+rest
		case cutPrefix(m.What, "effect sync ", &rest):
			r.to, r.text = diskLane, "syncs "+rest
		case cutPrefix(m.What, "disk ", &rest):
			r.lane, r.to, r.text = diskLane, m.Who, rest
		case cutPrefix(m.What, "effect send on ", &rest):
			r.text = "sends on " + rest
		default:
			continue
		}
		rows = append(rows, r)
	}
	return rows
}

// cutPrefix is strings.CutPrefix for a switch.
func cutPrefix(text, prefix string, rest *string) bool {
	after, ok := strings.CutPrefix(text, prefix)
	if ok {
		*rest = after
	}
	return ok
}

// draw draws the rows under the names of the lanes; times count from the first
// event of the run, as those of violations do.
func draw(b *strings.Builder, lanes []string, rows []row, events []history.Event) {
	origin := int64(0)
	if len(events) > 0 {
		origin = events[0].T
	}
	at := make([]int, len(lanes)) // column of each lane
	width := 0
	for i, name := range lanes {
		at[i] = width + len(name)/2
		width += len(name) + laneWidth
	}
	fmt.Fprintf(b, "%12s  %s\n", "seconds", strings.Join(lanes, strings.Repeat(" ", laneWidth)))
	for _, r := range rows {
		line := []byte(strings.Repeat(" ", width))
		for _, column := range at {
			line[column] = '|'
		}
		from := slices.Index(lanes, r.lane)
		if from < 0 {
			continue // of a process that has no lane
		}
		if to := slices.Index(lanes, r.to); to >= 0 {
			arrow(line, at[from], at[to])
		}
		line[at[from]] = r.mark
		text := r.text
		if len(text) > maxText {
			text = text[:maxText] + " …"
		}
		fmt.Fprintf(b, "%5d.%06d  %s%s\n", (r.t-origin)/second, (r.t-origin)%second/microsecond, line, text)
	}
}

// arrow draws from one column to another.
func arrow(line []byte, from, to int) {
	for i := min(from, to); i <= max(from, to); i++ {
		line[i] = '-'
	}
	if from < to {
		line[to] = '>'
	} else {
		line[to] = '<'
	}
}
