package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pestle/checker"
	"pestle/reports/page"
	"pestle/scenarios"
	"pestle/sim"
)

// Bounds of the sequence diagram.
const (
	maxDrawn     = 40 // moments
	maxTold      = 500
	maxProcesses = 8 // a column each, and one for each broker's disk
)

// sequence is the diagram of what led to one violation: a column for each
// process and disk, time downwards. Horizontal positions are percents, so that
// the page may have any width; vertical ones are pixels.
type sequence struct {
	IDs   string // of the messages it is about
	Cause string
	Label string // the picture in one sentence

	Height  int
	Heads   []head
	Lives   []stretch // of processes and disks
	Faults  []stretch
	Arrows  []arrow
	Rows    []row // moments
	Gaps    []row // where moments are not drawn
	Proof   row
	Told    []told // moments in words
	Earlier int    // moments before those
}

// told is one moment in words.
type told struct{ At, Who, What string }

// Subject returns the violation whose story a report draws, and the ids of the
// messages whose story it is: its own, and for a wrong order that of the other
// half. Of the violations that name a message it is the one proven first,
// required properties before others. ok is false when no violation names one.
func Subject(verdict checker.Verdict) (v checker.Violation, ids []string, ok bool) {
	slug, v, ok := subject(verdict)
	if !ok {
		return v, nil, false
	}
	ids = []string{v.ID}
	if also := messagesOf(v); slug == checker.MessageOrdering && len(also) > 1 {
		ids = also[:2]
	}
	return v, ids, true
}

func subject(verdict checker.Verdict) (slug string, first checker.Violation, ok bool) {
	for _, required := range []bool{true, false} {
		for _, p := range verdict.Properties {
			for _, v := range p.Violations {
				if p.Required == required && v.ID != "" && (!ok || v.T < first.T) {
					slug, first, ok = p.Slug, v, true
				}
			}
		}
		if ok {
			break
		}
	}
	return slug, first, ok
}

// newSequence draws the story of the violation that Subject names, up to its
// proof. It is nil when there is neither. origin is the time of the first
// history line.
func newSequence(plan scenarios.Plan, verdict checker.Verdict, story []sim.Moment, origin int64) *sequence {
	slug, v, ok := subject(verdict)
	if n := slices.IndexFunc(story, func(m sim.Moment) bool { return m.T > v.T }); n >= 0 {
		story = story[:n]
	}
	if !ok || len(story) == 0 {
		return nil
	}
	_, ids, _ := Subject(verdict)
	p := pick(plan, v.Channel, ids, story)
	s := &sequence{IDs: page.Clip(strings.Join(ids, " and ")), Cause: page.Clip(slug + ": " + v.Cause)}
	s.draw(p, origin, v.T)
	s.Label = fmt.Sprintf("Sequence diagram of %s before the violation of %s was proven at %s. The list after it tells the same in words.",
		page.Counted(int64(len(s.Rows)), "moment"), slug, micros(v.T-origin))
	s.Earlier = max(0, len(story)-maxTold)
	for _, m := range story[s.Earlier:] {
		s.Told = append(s.Told, told{At: micros(m.T - origin), Who: page.Clip(m.Who), What: page.Clip(m.What)})
	}
	return s
}

// micros writes a moment of the run to the microsecond: a message passes
// through a broker in less than a millisecond.
func micros(ns int64) string { return fmt.Sprintf("%d.%06d s", ns/second, ns%second/microsecond) }

// picked is a story with the moments to draw.
type picked struct {
	ids       []string
	story     []sim.Moment
	drawn     []bool   // by moment
	processes []string // those of the drawn moments, from left to right
	roles     map[string]role
}

// role places a process: what is published goes from left to right.
type role int

const (
	producing role = iota
	serving
	consuming
	watching // the harness
)

// pick chooses the moments to draw: the last ones that the messages themselves
// are in, then turns of the processes concerned, the nearest to those first.
// What happens to a lost message ends long before its loss is proven; the last
// moments of all are then restarts that have nothing to do with it.
func pick(plan scenarios.Plan, channel string, ids []string, story []sim.Moment) *picked {
	p := &picked{ids: ids, story: story, drawn: make([]bool, len(story)), roles: map[string]role{"harness": watching}}
	concerned := map[string]bool{}
	for _, producer := range plan.Workload.Producers {
		p.roles[producer.Name] = producing
	}
	for _, consumer := range plan.Workload.Consumers {
		p.roles[consumer.Name] = consuming
		concerned[consumer.Name] = consumer.Channel == channel
	}
	var mine, turns []int
	for i, m := range story {
		if p.isMine(m) {
			concerned[m.Who] = true
			if !p.isEcho(i) {
				mine = append(mine, i)
			}
		}
	}
	mine = mine[max(0, len(mine)-maxDrawn):]
	room := maxDrawn
	for _, i := range slices.Backward(mine) {
		room = p.take(i, room)
	}
	for i, m := range story {
		if !p.isMine(m) && (concerned[m.Who] || p.role(m.Who) == serving) {
			turns = append(turns, i)
		}
	}
	distance := func(i int) int {
		nearest := len(story)
		for _, m := range mine {
			nearest = min(nearest, max(i-m, m-i))
		}
		return nearest
	}
	slices.SortStableFunc(turns, func(a, b int) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(b, a))
	})
	for _, i := range turns {
		room = p.take(i, room)
	}
	slices.SortFunc(p.processes, func(a, b string) int {
		return cmp.Or(cmp.Compare(p.role(a), p.role(b)), cmp.Compare(a, b))
	})
	return p
}

// take draws a moment if there is room for it and its process, and returns the
// room that is left.
func (p *picked) take(i, room int) int {
	who := p.story[i].Who
	known := slices.Contains(p.processes, who)
	if room == 0 || !known && len(p.processes) == maxProcesses {
		return room
	}
	if !known {
		p.processes = append(p.processes, who)
	}
	p.drawn[i] = true
	return room - 1
}

func (p *picked) role(who string) role {
	if r, ok := p.roles[who]; ok {
		return r
	}
	return serving
}

// isMine tells whether a moment happens to one of the messages, rather than to
// a process or to another message at its position.
func (p *picked) isMine(m sim.Moment) bool {
	if deedOf(m.What).onDisk() {
		return true
	}
	for _, id := range idPattern.FindAllString(m.What, -1) {
		if slices.Contains(p.ids, id) {
			return true
		}
	}
	return false
}

// isEcho tells whether a moment only repeats the one before: bytes that the
// network brought are given to the broker at once.
func (p *picked) isEcho(i int) bool {
	if i == 0 {
		return false
	}
	m, last := p.story[i], p.story[i-1]
	return m.Who == last.Who && m.T == last.T && deedOf(last.What) == arriving && strings.HasPrefix(m.What, "event connection ")
}

// deed is what kind of thing a moment is, as far as the drawing tells them
// apart.
type deed int

const (
	other deed = iota
	sending
	arriving
	acked
	delivered
	toDisk   // a broker asks its disk
	inDisk   // the disk does it
	fromDisk // and answers
	starting
	ending
	faultBegins
	faultEnds
)

func (d deed) onDisk() bool { return d == toDisk || d == inDisk || d == fromDisk }

// deedOf reads the words of package sim.
func deedOf(what string) deed {
	words := strings.SplitN(what, " ", 3)
	if len(words) < 2 {
		return other
	}
	first, second := words[0], words[1]
	switch {
	case first == "start":
		return starting
	case first == "end":
		return ending
	case first == "disk":
		return inDisk
	case second == "effective":
		return faultBegins
	case second == "ended":
		return faultEnds
	case first == "network":
		return arriving
	case first == "effect":
		switch second {
		case "send":
			return sending
		case "write", "sync", "read", "create", "remove":
			return toDisk
		}
	case first == "event":
		switch second {
		case "synced", "created", "read":
			return fromDisk
		case "ack":
			return acked
		case "delivery":
			return delivered
		}
	}
	return other
}
