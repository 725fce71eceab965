package checker

import "fmt"

// drain: with the producers stopped, the backlog reaches zero within the
// plan's bound.
//
// Evidence is the harness's: in the drain phase, which lasts as long as the
// plan allows, it notes each channel that the target's statistics show empty
// after every producer's last message was consumed there. A channel without
// that note when the verify phase begins still has a backlog, or could not be
// asked: the target has missed the bound either way, with no fault left. Where
// the machine stood still meanwhile it accuses nobody.
type drain struct {
	*run
	findings
	began   int64
	phase   drainPhase
	emptied []bool   // by stream
	left    []string // by stream: what a note says of its backlog
	drained int64
	stood   int64 // for how long the machine stood still in it
}

type drainPhase uint8

const (
	beforeDrain drainPhase = iota
	inDrain
	afterDrain
)

func (p *drain) begin(now int64) {
	p.phase, p.began, p.stood = inDrain, now, 0
	clear(p.emptied)
}

func (p *drain) empty(s *stream) { p.emptied[s.index] = true }

// end judges at the beginning of the verify phase.
func (p *drain) end(now int64) {
	if p.phase != inDrain {
		return
	}
	p.phase = afterDrain
	for _, s := range p.streams {
		if p.emptied[s.index] {
			p.drained++
			continue
		}
		if p.stood > 0 {
			continue
		}
		left := p.left[s.index]
		if left == "" {
			left = "what is left there is not known"
		}
		p.add(Violation{
			Channel: s.channel, T: now,
			Cause: "backlog not gone within the drain's bound",
			Detail: fmt.Sprintf("%s was not seen empty, with every producer's last message consumed, in the drain from %s to %s: %s",
				s, p.at(p.began), p.at(now), left),
		})
	}
}

func (p *drain) judge() judgement {
	j := judgement{findings: p.clone(), exposure: Exposure{"channels drained": p.drained}}
	switch {
	case len(p.streams) == 0:
		j.missing = append(j.missing, "the plan has no channel")
	case p.phase == beforeDrain:
		j.missing = append(j.missing, "the run has no drain")
	case p.phase == inDrain:
		j.missing = append(j.missing, "the drain did not end")
	case p.stood > 0 && p.drained < int64(len(p.streams)):
		j.missing = append(j.missing, fmt.Sprintf("the machine stood still for %s of the drain", seconds(p.stood)))
	}
	return j
}
