package checker

import (
	"fmt"

	"pestle/history"
)

// flowControl: no more is in flight to a consumer than its RDY allows.
//
// Only the client sees what is in flight to it, so the evidence is its own: it
// counts, at every delivery, those of the same connection that it has not
// answered and whose lease cannot have run out. The server, which learns of an answer later than it is
// given, can only count more. Each connection has the whole RDY: of a cluster
// only the broker that leads the partition delivers. A count above the RDY in force is an overrun
// note. Clients that do not count give no exposure.
type flowControl struct {
	*run
	findings
	counted int64
	full    int64 // deliveries that filled the window
}

func (p *flowControl) consumed(by *consumer, e history.Event) {
	if e.Held == 0 {
		return
	}
	p.counted++
	if by.ready > 0 && int64(e.Held) >= by.ready {
		p.full++
	}
}

func (p *flowControl) overrun(by *consumer, e history.Event) {
	allowed := "an unknown number"
	if by.ready > 0 {
		allowed = fmt.Sprint(by.ready)
	}
	p.add(Violation{
		ID: e.ID, Channel: e.Channel, Pos: e.Pos, T: e.T,
		Cause: "more in flight to a consumer than its RDY allows",
		Detail: fmt.Sprintf("%s was sent to %s on %s/%s, received at %s, although its RDY, %s, allowed no more: %s",
			e.ID, e.Src, e.Topic, e.Channel, p.at(e.T), allowed, e.Text),
	})
}

func (p *flowControl) judge() judgement {
	j := judgement{findings: p.clone(), exposure: Exposure{
		"deliveries counted by their client": p.counted,
		"deliveries that filled the window":  p.full,
	}}
	switch {
	case p.counted == 0:
		j.missing = append(j.missing, "no client counted what was in flight to it")
	case p.full == 0 && len(p.cfg.Ready) > 0: // without a plan nobody knows how wide a window is
		j.missing = append(j.missing, "no consumer ever held as many deliveries as its RDY allows")
	}
	return j
}
