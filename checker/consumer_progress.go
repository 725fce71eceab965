package checker

import (
	"fmt"

	"pestle/history"
)

// consumerProgress: waiting messages are delivered.
//
// Judged for each quiet window and each stream, over the messages that were
// first attempted and acked inside the window. Each must be consumed within
// the recovery bound after its ack or, if older messages were still being
// consumed then, after the last of those: an honest backlog goes first. A
// message whose bound ends after the window is not judged, nor is a deferred
// one, which is not waiting.
//
// Where that backlog outlasts the window, so that no bound ends in it, the
// count of consumed messages must instead rise in each quarter of the window,
// by partition. Left out are quarters that end before the recovery bound after
// the window's start, for the stream may still be recovering, and those after
// the last older message, for there may be nothing left to consume. A message
// that comes again, because it was given back or its lease ran out, is no
// backlog. Where the machine stood still in the window, only what was consumed in
// time counts.
type consumerProgress struct {
	*run
	findings
	windows int64
	each    []windowStream // by stream
}

// windowStream is one stream in the open window, and its windows so far.
type windowStream struct {
	partitions []windowPartition
	late       []lateArrival // judged when it is known how long the backlog lasted
	inTime     int64         // messages of this window
	messages   int64         // messages of all windows that were consumed in time
	judged     int64         // windows that gave exposure
	backlogs   int64         // those of them that a backlog outlasted
}

// windowPartition is what one partition of a stream did in the open window.
type windowPartition struct {
	anyOld     bool
	lastOld    int64 // last consume of a message attempted before the window
	waited     bool
	lastWaited int64 // last first consume of such a message: until then there was a backlog
	last       int64 // last consume; the window's start before the first
	gaps       [4]gap
}

// gap is a stretch between two consumes. Only the four longest of a window can
// span a quarter of it, so that no more need to be kept.
type gap struct{ from, to int64 }

type lateArrival struct {
	id        messageID
	pos       string
	partition int
	ackedAt   int64
	consumed  int64
}

func (w *windowPartition) consumed(now int64, old, first bool) {
	if old {
		w.anyOld, w.lastOld = true, now
	}
	if old && first {
		w.waited, w.lastWaited = true, now
	}
	g := gap{w.last, now}
	for i := range w.gaps {
		if g.to-g.from > w.gaps[i].to-w.gaps[i].from {
			g, w.gaps[i] = w.gaps[i], g
		}
	}
	w.last = now
}

// due is when a message acked at ackedAt must be consumed at the latest.
func (w *windowPartition) due(ackedAt, recovery int64) int64 {
	if w.anyOld && w.lastOld > ackedAt {
		return w.lastOld + recovery
	}
	return ackedAt + recovery
}

func (p *consumerProgress) opened() {
	for i := range p.each {
		w := &p.each[i]
		w.partitions, w.late, w.inTime = w.partitions[:0], w.late[:0], 0
	}
}

func (p *consumerProgress) window(s *stream, index int) *windowPartition {
	w := &p.each[s.index]
	for len(w.partitions) <= index {
		w.partitions = append(w.partitions, windowPartition{last: p.quiet.start})
	}
	return &w.partitions[index]
}

// consumed notes any consume of m; first says that it is the first on s.
func (p *consumerProgress) consumed(m *message, s *stream, e history.Event, first bool) {
	if !p.quiet.open {
		return
	}
	index := p.partition(s, e.Pos)
	part := p.window(s, index)
	fresh := p.quiet.holds(m.firstAttempt())
	part.consumed(p.now, !fresh && m.deferral == 0, first)
	if !fresh || !first || m.acked == 0 || m.deferral > 0 {
		return
	}
	if p.now <= part.due(m.ackedAt, p.cfg.Recovery) {
		p.each[s.index].inTime++
		return
	}
	p.each[s.index].late = append(p.each[s.index].late, lateArrival{
		id: m.messageID, pos: e.Pos, partition: index, ackedAt: m.ackedAt, consumed: p.now,
	})
}

// ackedLate counts, at m's first ack, the streams that were quicker than it.
func (p *consumerProgress) ackedLate(m *message) {
	if !p.quiet.holds(m.firstAttempt()) || m.deferral > 0 {
		return
	}
	for _, s := range m.topic.streams {
		if m.arrivals[s.slot].consumed {
			p.each[s.index].inTime++
		}
	}
}

func (p *consumerProgress) closed() {
	p.windows++
	for _, s := range p.streams {
		w := &p.each[s.index]
		if p.quiet.stood {
			if w.inTime > 0 {
				w.judged++
			}
			w.messages += w.inTime
			continue
		}
		before := p.total
		p.closeLate(s)
		p.closeWaiting(s)
		outlasted := p.closeBacklog(s)
		if outlasted {
			w.backlogs++
		}
		if outlasted || w.inTime > 0 || p.total > before {
			w.judged++
		}
		w.messages += w.inTime
	}
}

// closeLate judges the messages that were consumed after their bound, as it
// looked then.
func (p *consumerProgress) closeLate(s *stream) {
	w := &p.each[s.index]
	for _, l := range w.late {
		due := w.partitions[l.partition].due(l.ackedAt, p.cfg.Recovery)
		if l.consumed > due && due <= p.now {
			p.add(p.overdue(l.id, s, l.pos, l.ackedAt, due, "was consumed only at "+p.at(l.consumed)))
		}
	}
}

// closeWaiting judges the acked messages of the window that s never consumed.
// Their partition is not known, so that the longest backlog excuses them.
func (p *consumerProgress) closeWaiting(s *stream) {
	var backlog windowPartition
	for i := range p.each[s.index].partitions {
		if part := &p.each[s.index].partitions[i]; part.anyOld && (!backlog.anyOld || part.lastOld > backlog.lastOld) {
			backlog = *part
		}
	}
	for m := p.waiting.last; m != nil && m.ackedAt >= p.quiet.start; m = m.prev {
		if m.topic != s.topic || m.arrivals[s.slot].consumed || !p.quiet.holds(m.firstAttempt()) || m.deferral > 0 {
			continue
		}
		if due := backlog.due(m.ackedAt, p.cfg.Recovery); due <= p.now {
			p.add(p.overdue(m.messageID, s, "", m.ackedAt, due, "was not consumed in it"))
		}
	}
}

func (p *consumerProgress) overdue(id messageID, s *stream, pos string, ackedAt, due int64, what string) Violation {
	return Violation{
		ID: id.String(), Channel: s.channel, Pos: pos, T: due,
		Cause: "message of a quiet window not consumed within the recovery bound",
		Detail: fmt.Sprintf("%s was acked at %s, in the quiet window from %s to %s, had to be consumed on %s by %s and %s",
			id, p.at(ackedAt), p.at(p.quiet.start), p.at(p.now), s, p.at(due), what),
	}
}

// closeBacklog judges the partitions whose backlog outlasted the window, and
// reports whether there was one.
func (p *consumerProgress) closeBacklog(s *stream) bool {
	outlasted := false
	w := &p.each[s.index]
	for i := range w.partitions {
		part := &w.partitions[i]
		if !part.waited || part.lastWaited+p.cfg.Recovery <= p.now {
			continue
		}
		outlasted = true
		length := p.now - p.quiet.start
		for q := int64(0); q < 4; q++ {
			quarter := gap{p.quiet.start + length*q/4, p.quiet.start + length*(q+1)/4}
			judged := quarter.to >= p.quiet.start+p.cfg.Recovery && quarter.to <= part.lastWaited
			if judged && part.silentFor(quarter) {
				p.add(p.stalled(s, i, quarter))
				break // the window's other quarters tell the same story
			}
		}
	}
	return outlasted
}

func (w *windowPartition) silentFor(quarter gap) bool {
	for _, g := range w.gaps {
		if g.from <= quarter.from && quarter.to <= g.to {
			return true
		}
	}
	return false
}

func (p *consumerProgress) stalled(s *stream, partition int, quarter gap) Violation {
	return Violation{
		Channel: s.channel, T: quarter.to,
		Cause: "backlog of a quiet window not consumed in one of its quarters",
		Detail: fmt.Sprintf("%s, partition %q, had a backlog throughout the quiet window from %s to %s and consumed nothing between %s and %s",
			s, s.partitions[partition], p.at(p.quiet.start), p.at(p.now), p.at(quarter.from), p.at(quarter.to)),
	}
}

func (p *consumerProgress) judge() judgement {
	j := judgement{findings: p.clone(), exposure: Exposure{"quiet windows after a fault": p.windows}}
	var messages, backlogs int64
	for _, s := range p.streams {
		w := &p.each[s.index]
		messages += w.messages
		backlogs += w.backlogs
		if p.windows > 0 && w.judged == 0 {
			j.missing = append(j.missing, fmt.Sprintf("%s had no message of its own and no backlog in any quiet window", s))
		}
	}
	j.exposure["messages of a window consumed in time"] = messages
	j.exposure["windows that a backlog outlasted"] = backlogs
	if p.windows == 0 {
		j.missing = append(j.missing, p.noWindow())
	}
	if len(p.streams) == 0 {
		j.missing = append(j.missing, "the plan has no channel")
	}
	return j
}
