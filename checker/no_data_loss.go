package checker

import (
	"fmt"
	"strings"
)

// noDataLoss: an acked message is never lost.
//
// Every stream of an acked message's topic must consume it, or the message
// must be seen one by one as still stored for it. "Lost" is said only after
// proof that the stream's drain reached the end, by two read paths: the
// sentinel of every producer was consumed, and after that the target's own
// statistics showed the stream empty. Without the proof an unseen message is
// no loss yet; one that a later message has passed is counted as a suspect.
//
// A message that its consumer gave back each time is not done: a target that
// forgets it has lost it. It must be consumed once more than it was requeued.
//
// A corrupted delivery is a delivery: it breaks no-data-corruption, not this.
type noDataLoss struct {
	*run
	findings
	ordering *messageOrdering
	acked    int64
	stored   int64
	during   []int64    // acked messages in flight or stored during each fault kind
	returned []*message // that were requeued at least once; such messages stay open
}

// givenBack notes a requeue of m.
func (p *noDataLoss) givenBack(m *message) {
	if !m.givenBack {
		m.givenBack = true
		p.returned = append(p.returned, m)
	}
}

// cover counts, once, the fault kinds that m went through between its first
// attempt and now. Call it when m is acked and consumed by every stream; until
// then it is in flight or stored.
func (p *noDataLoss) cover(m *message) {
	if m.covered {
		return
	}
	m.covered = true
	p.through(m, p.during)
}

func (p *noDataLoss) through(m *message, during []int64) {
	for i := range p.faults.kinds {
		if p.faults.kinds[i].touched(m.firstAttempt()) {
			during[i]++
		}
	}
}

// drained judges a note that the statistics show s empty.
func (p *noDataLoss) drained(s *stream, now int64) {
	s.drained = len(p.unseenSentinels(s)) == 0
	s.drainedAt = now
}

// proven reports that the drain of s is proven and nothing was sent since.
func (p *noDataLoss) proven(s *stream) bool {
	for _, producer := range p.producers {
		if producer.sentinel == 0 {
			return false
		}
	}
	return s.drained
}

// unseenSentinels names the producers whose last message s has not consumed.
func (p *noDataLoss) unseenSentinels(s *stream) []string {
	var names []string
	for _, producer := range p.producers {
		if producer.sentinel == 0 || !producer.sentinelSeen(s) {
			names = append(names, producer.name)
		}
	}
	return names
}

// sentinelSeen reports that s consumed the sentinel, or never will because it
// went to another topic.
func (p *producer) sentinelSeen(s *stream) bool {
	m := p.open[p.sentinel]
	return m == nil || m.topic != s.topic || m.arrivals[s.slot].consumed
}

func (p *noDataLoss) judge() judgement {
	found := p.clone()
	during := append([]int64(nil), p.during...)
	var suspects int64
	for m := p.waiting.first; m != nil; m = m.next {
		p.through(m, during)
		for _, s := range m.topic.streams {
			if a := m.arrivals[s.slot]; a.consumed || a.stored {
				continue
			}
			if _, passed := p.ordering.passedOver(m, s); passed {
				suspects++
			}
			if p.proven(s) {
				found.add(p.lost(m, s))
			}
		}
	}
	for _, m := range p.returned {
		for _, s := range m.topic.streams {
			a := m.arrivals[s.slot]
			if m.acked > 0 && a.consumed && !a.stored && !m.keptBy(s.index) && p.proven(s) {
				found.add(p.forgotten(m, s))
			}
		}
	}
	exposure := Exposure{
		"messages acked":                    p.acked,
		"messages seen still stored":        p.stored,
		"acked messages passed over so far": suspects,
	}
	var missing []string
	if p.acked == 0 {
		missing = append(missing, "no message was acked")
	}
	var drained int64
	for _, s := range p.streams {
		if p.proven(s) {
			drained++
			continue
		}
		missing = append(missing, p.unproven(s))
	}
	exposure["channels proven drained"] = drained
	if len(p.streams) == 0 {
		missing = append(missing, "the plan has no channel")
	}
	for i := range p.faults.kinds {
		kind := &p.faults.kinds[i]
		exposure["acked messages in flight or stored during "+kind.name] = during[i]
		switch {
		case kind.effective == 0:
			missing = append(missing, fmt.Sprintf("no fault of kind %s took effect", kind.name))
		case during[i] == 0:
			missing = append(missing, fmt.Sprintf("no acked message was in flight or stored during a %s", kind.name))
		}
	}
	return judgement{findings: found, exposure: exposure, missing: missing}
}

func (p *noDataLoss) lost(m *message, s *stream) Violation {
	id := m.String()
	detail := fmt.Sprintf("%s, sent at %s and acked at %s, was never consumed on %s nor seen stored there, and the drain of %s reached its end at %s",
		id, p.at(m.firstAttempt()), p.at(m.ackedAt), s, s, p.at(s.drainedAt))
	if later, passed := p.ordering.passedOver(m, s); passed {
		detail += fmt.Sprintf("; %s, sent after its ack, was delivered there", later)
	}
	return Violation{
		ID: id, Channel: s.channel, T: s.drainedAt,
		Cause:  "acked but neither consumed nor stored after a proven drain",
		Detail: detail,
	}
}

func (p *noDataLoss) forgotten(m *message, s *stream) Violation {
	id := m.String()
	return Violation{
		ID: id, Channel: s.channel, T: s.drainedAt,
		Cause: "given back by its consumer and not delivered again before a proven drain",
		Detail: fmt.Sprintf("%s, sent at %s and acked, was requeued each time it was consumed on %s and was not seen stored there, and the drain of %s reached its end at %s",
			id, p.at(m.firstAttempt()), s, s, p.at(s.drainedAt)),
	}
}

func (p *noDataLoss) unproven(s *stream) string {
	why := "its statistics never showed it empty after the last sentinel"
	if names := p.unseenSentinels(s); len(names) > 0 {
		why = "the last message of " + strings.Join(names, ", ") + " was not consumed"
	}
	return fmt.Sprintf("the drain of %s did not reach the end: %s", s, why)
}
