package reports

import (
	"cmp"
	"fmt"
	"slices"

	"pestle/history"
	"pestle/reports/page"
	"pestle/scenarios"
)

const (
	maxMoments = 40 // lines of one life
	// around is how far from a message's own lines a fault is still told.
	around = second
	// before is how much of the run is told ahead of a violation that names
	// no message.
	before = 10 * second
)

// moment is one line of a life.
type moment struct {
	At    string // into the run
	Since string // since the life's first line, signed
	Class string // its look
	Glyph string // its look without colours
	ID    string // the message, when the life tells several
	Text  string

	t    int64
	rank int // among moments of one time: phases, then what happened, then conclusions
}

// Ranks of moments of one time.
const (
	rankPhase = iota
	rankFault
	rankMessage
	rankMissing
	rankProof
)

// tell fills the life of a finding: its messages' lines, what is missing of
// them, the phases and faults around them, and the moment of proof.
func (f *finding) tell(plan scenarios.Plan, events []history.Event, list []fault, lines map[string][]int) {
	if len(events) == 0 {
		return
	}
	origin, end := events[0].T, events[len(events)-1].T
	var life []moment
	for _, id := range f.ids {
		for _, i := range lines[id] {
			m := messageMoment(&events[i])
			if f.Several {
				m.ID = page.Clip(id)
			}
			life = append(life, m)
		}
	}
	var from, to, first int64
	if len(life) > 0 {
		from, to = life[0].t, life[0].t
		for _, m := range life {
			from, to = min(from, m.t), max(to, m.t)
		}
		first = from
		from, to = from-around, to+around
		from, to = reach(list, from, to)
	} else {
		from, to = f.t-before, f.t+around
		first = max(from, origin)
	}
	for _, id := range f.ids {
		for _, m := range missing(plan, events, lines[id], f.t, end) {
			if f.Several {
				m.ID = page.Clip(id)
			}
			life = append(life, m)
		}
	}
	life = append(life, faultMoments(list, from, to)...)
	life = append(life, worldMoments(events, from, to)...)
	life = append(life, moment{t: f.t, rank: rankProof, Class: "proof", Glyph: "◆", Text: "here the violation was proven"})
	slices.SortStableFunc(life, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.rank, b.rank))
	})
	if n := len(life) - maxMoments; n > 0 {
		// Beginnings and ends tell more than the middle.
		f.Left, f.Half = n, maxMoments/2
		life = slices.Concat(life[:f.Half], life[len(life)-f.Half:])
	}
	for i := range life {
		life[i].At = page.Clock(life[i].t - origin)
		life[i].Since = page.Signed(life[i].t - first)
	}
	f.Life = life
}

// messageMoment tells one line about a message.
func messageMoment(e *history.Event) moment {
	m := moment{t: e.T, rank: rankMessage, Class: "note", Glyph: "·"}
	switch e.Ev {
	case history.Attempt:
		m.Class, m.Glyph, m.Text = "attempt", "○", fmt.Sprintf("%s sends it, try %d, %s", e.Src, e.Try, page.Counted(int64(e.Size), "byte"))
	case history.Ack:
		m.Class, m.Glyph, m.Text = "ack", "●", fmt.Sprintf("acked to %s, try %d", e.Src, e.Try)
	case history.Fail:
		m.Class, m.Glyph, m.Text = "bad", "✕", fmt.Sprintf("refused, try %d", e.Try)
	case history.Unknown:
		m.Class, m.Glyph, m.Text = "bad", "?", fmt.Sprintf("outcome unknown, try %d", e.Try)
	case history.Consume:
		m.Class, m.Glyph, m.Text = "consume", "■", fmt.Sprintf("delivered to %s on channel %s, position %s", e.Src, e.Channel, e.Pos)
		if e.Attempts > 0 {
			m.Text += fmt.Sprintf(", attempts %d", e.Attempts)
		}
	case history.Finish:
		m.Text = fmt.Sprintf("finished by %s on channel %s", e.Src, e.Channel)
	case history.Requeue:
		m.Text = fmt.Sprintf("given back by %s on channel %s", e.Src, e.Channel)
	default:
		m.Text = noteWords(e)
	}
	if e.Text != "" {
		m.Text += ": " + e.Text
	}
	m.Text = page.Clip(m.Text)
	return m
}

func noteWords(e *history.Event) string {
	switch e.What {
	case history.NoteGaveUp:
		return fmt.Sprintf("%s gives up after try %d", e.Src, e.Try)
	case history.NoteSentinel:
		return "the last message of " + e.Src
	case history.NoteStored:
		return "seen still stored for channel " + e.Channel
	case history.NoteReplayed:
		return "the line before was rebuilt from the state file of " + e.Src
	case history.NoteMalformed:
		return e.Src + " received a damaged body on channel " + e.Channel
	}
	return string(e.Ev) + " " + e.What + " " + e.Src
}

// missing tells what a message's lines should have held and do not: an
// attempt, or an acked message's delivery on a channel of the plan.
func missing(plan scenarios.Plan, events []history.Event, lines []int, proven, end int64) []moment {
	if len(lines) == 0 {
		return []moment{{t: proven, rank: rankMissing, Class: "missing", Glyph: "✕", Text: "the history has no line about this message"}}
	}
	attempted, acked := false, false
	delivered := map[string]bool{}
	for _, i := range lines {
		switch e := &events[i]; e.Ev {
		case history.Attempt:
			attempted = true
		case history.Ack:
			acked = true
		case history.Consume:
			delivered[e.Channel] = true
		}
	}
	if !attempted {
		return []moment{{t: events[lines[0]].T, rank: rankPhase, Class: "missing", Glyph: "✕", Text: "no producer ever attempted to send this id"}}
	}
	if !acked {
		return nil
	}
	var list []moment
	for _, c := range plan.Workload.Consumers {
		if !delivered[c.Channel] {
			delivered[c.Channel] = true // two consumers of one channel miss it once
			list = append(list, moment{t: end, rank: rankMissing, Class: "missing", Glyph: "✕", Text: "the run ends; never delivered on channel " + c.Channel})
		}
	}
	return list
}

// reach widens a stretch of time in which no fault was on to the nearest one
// on either side: what broke a message may come a while after its ack.
func reach(list []fault, from, to int64) (int64, int64) {
	var prev, next *fault
	for i := range list {
		f := &list[i]
		switch {
		case !f.effective:
		case f.on(from, to):
			return from, to
		case f.from > to && (next == nil || f.from < next.from):
			next = f
		case f.from < from && (prev == nil || f.to > prev.to):
			prev = f
		}
	}
	if prev != nil {
		from = prev.from
	}
	if next != nil {
		to = next.from
	}
	return from, to
}

// faultMoments tells both edges of every fault that was on at some time
// between from and to.
func faultMoments(list []fault, from, to int64) []moment {
	var life []moment
	for _, f := range list {
		if !f.on(from, to) {
			continue
		}
		life = append(life, moment{
			t: f.from, rank: rankFault, Class: "fault", Glyph: "▼",
			Text: page.Clip(fmt.Sprintf("%s %d takes effect on %s", f.Kind, f.Ref, f.Target)),
		})
		if f.ended {
			life = append(life, moment{
				t: f.to, rank: rankFault, Class: "fault", Glyph: "▲",
				Text: page.Clip(fmt.Sprintf("%s %d of %s is over, after %s", f.Kind, f.Ref, f.Target, f.Length)),
			})
		}
	}
	return life
}

// worldMoments tells the phases begun and the processes that exited by
// themselves between from and to.
func worldMoments(events []history.Event, from, to int64) []moment {
	var life []moment
	for i := range events {
		e := &events[i]
		if e.T < from || e.T > to {
			continue
		}
		switch {
		case e.Ev == history.Phase:
			life = append(life, moment{t: e.T, rank: rankPhase, Class: "phase", Glyph: "–", Text: phaseWords(e.What)})
		case e.Ev == history.Note && e.What == history.NoteExited:
			life = append(life, moment{t: e.T, rank: rankFault, Class: "fault", Glyph: "✕", Text: page.Clip(e.Target + " exited by itself: " + e.Text)})
		}
	}
	return life
}

func phaseWords(phase string) string {
	switch phase {
	case history.PhaseQuiet:
		return "a quiet window begins"
	case history.PhaseQuietEnd:
		return "the quiet window ends"
	case history.PhaseEnd:
		return "the run ends"
	}
	return "phase " + page.Clip(phase) + " begins"
}
