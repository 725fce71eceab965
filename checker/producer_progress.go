package checker

import "fmt"

// producerProgress: with faults stopped, every producer gets acks.
//
// Judged for each quiet window and each producer: of the sends it starts
// inside the window, one is acked within the recovery bound after the first of
// them was started. A producer that starts no send early enough to leave the
// bound before the window's end gives no exposure for that window, nor does one
// without an ack where the machine stood still.
type producerProgress struct {
	*run
	findings
	windows int64
	each    []windowSends // by producer
}

// windowSends is one producer in the open window, and its windows so far.
type windowSends struct {
	first   messageID // of the first send; without a producer: none yet
	started int64     // when the first was started
	acked   bool      // one was acked within the bound
	judged  int64     // windows that gave exposure
}

func (p *producerProgress) opened() {
	for i := range p.each {
		p.each[i] = windowSends{judged: p.each[i].judged}
	}
}

func (p *producerProgress) attempted(m *message) {
	w := &p.each[m.producer.index]
	if p.quiet.open && w.first.producer == nil {
		w.first, w.started = m.messageID, p.now
	}
}

// ackedTry judges the ack of a try that was started at started.
func (p *producerProgress) ackedTry(m *message, started int64) {
	w := &p.each[m.producer.index]
	if p.quiet.holds(started) && p.now <= w.started+p.cfg.Recovery {
		w.acked = true
	}
}

func (p *producerProgress) closed() {
	p.windows++
	for i := range p.each {
		w := &p.each[i]
		due := w.started + p.cfg.Recovery
		switch {
		case w.first.producer == nil, !w.acked && (due > p.now || p.quiet.stood):
			continue
		case !w.acked:
			p.add(Violation{
				ID: w.first.String(), T: due,
				Cause: "no ack within the recovery bound of a quiet window",
				Detail: fmt.Sprintf("%s started %s at %s, in the quiet window from %s to %s, and none of its sends of that window was acked by %s",
					w.first.producer.name, w.first, p.at(w.started), p.at(p.quiet.start), p.at(p.now), p.at(due)),
			})
		}
		w.judged++
	}
}

func (p *producerProgress) judge() judgement {
	j := judgement{findings: p.clone(), exposure: Exposure{"quiet windows after a fault": p.windows}}
	var total int64
	for i, producer := range p.producers {
		total += p.each[i].judged
		if p.windows > 0 && p.each[i].judged == 0 {
			j.missing = append(j.missing, producer.name+" started no send early enough in any quiet window")
		}
	}
	j.exposure["windows with sends, over all producers"] = total
	if p.windows == 0 {
		j.missing = append(j.missing, p.noWindow())
	}
	if len(p.producers) == 0 {
		j.missing = append(j.missing, "the plan has no producer")
	}
	return j
}
