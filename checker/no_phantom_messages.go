package checker

import (
	"fmt"

	"pestle/history"
)

// noPhantomMessages: nothing is consumed that was never attempted.
//
// Evidence is an attempt of the id on the topic it was consumed from; acks do
// not matter. A record without such an attempt is judged by no other safety
// property, for there is nothing to compare it with. A damaged body without an
// id, or with one that nobody attempted so far, is a phantom too.
type noPhantomMessages struct {
	*run
	findings
	early    *earlyConsumes
	consumed int64
}

// Causes of a phantom.
const (
	phantomID    = "id was never attempted"
	phantomTopic = "id was never attempted on this topic"
	phantomBody  = "damaged body that belongs to no attempted id"
)

func (p *noPhantomMessages) found(cause string, e history.Event) { p.add(p.phantom(cause, e)) }

func (p *noPhantomMessages) phantom(cause string, e history.Event) Violation {
	name := fmt.Sprintf("%.80q", e.ID)
	if e.ID == "" {
		name = "a message without an id"
	}
	return Violation{
		ID: e.ID, Channel: e.Channel, Pos: e.Pos, T: e.T,
		Cause:  cause,
		Detail: fmt.Sprintf("%s was consumed from %s/%s at %s, position %.80q: %s", name, e.Topic, e.Channel, p.at(e.T), e.Pos, cause),
	}
}

func (p *noPhantomMessages) judge() judgement {
	j := judgement{findings: p.clone(), exposure: Exposure{"messages consumed": p.consumed}}
	for i := range p.early.held {
		if h := &p.early.held[i]; !h.attempted {
			j.findings.add(p.phantom(phantomID, h.event))
		}
	}
	if p.consumed == 0 {
		j.missing = append(j.missing, "no message was consumed")
	}
	return j
}
