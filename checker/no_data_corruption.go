package checker

import (
	"fmt"

	"pestle/history"
)

// noDataCorruption: a message is delivered exactly as it was published.
//
// The attempt line carries size and checksum of what was sent; the consume
// line those computed again from what arrived. A consumed body that is no
// envelope, or does not match its own checksum, is a malformed note: it breaks
// this property when its id was attempted, and no-phantom-messages otherwise,
// for then nothing ties it to a message.
//
// A line that was rebuilt from a state file has no checksum; it is counted as
// not checkable.
type noDataCorruption struct {
	*run
	findings
	checked, uncheckable int64
	small, large         int64 // checked near the ends of the size menu
}

func (p *noDataCorruption) consumed(m *message, e history.Event) {
	sent := m.sum
	same := sent == e.Sum && m.size == e.Size
	if m.reopened {
		sent, same = "another one", m.sumPrint == uint32(fingerprint(e.Sum))
	}
	if sent == "" || e.Sum == "" {
		p.uncheckable++
		return
	}
	p.checked++
	// An eighth of the menu at each end: wide enough to be hit by chance, and
	// where truncation and off-by-one live.
	band := (p.cfg.MaxSize - p.cfg.MinSize) / 8
	if e.Size <= p.cfg.MinSize+band {
		p.small++
	}
	if e.Size >= p.cfg.MaxSize-band {
		p.large++
	}
	if same {
		return
	}
	p.add(Violation{
		ID: e.ID, Channel: e.Channel, Pos: e.Pos, T: e.T,
		Cause: "checksum or size differs from what was sent",
		Detail: fmt.Sprintf("%s was consumed from %s/%s at %s with %d bytes and checksum %.16q, but sent at %s with %d bytes and checksum %.16q",
			e.ID, e.Topic, e.Channel, p.at(e.T), e.Size, e.Sum, p.at(m.firstAttempt()), m.size, sent),
	})
}

func (p *noDataCorruption) malformed(m *message, e history.Event) {
	p.checked++
	p.add(Violation{
		ID: e.ID, Channel: e.Channel, Pos: e.Pos, T: e.T,
		Cause: "body does not match its own checksum",
		Detail: fmt.Sprintf("%s was consumed from %s/%s at %s with a damaged body (%s); it was sent at %s",
			e.ID, e.Topic, e.Channel, p.at(e.T), e.Text, p.at(m.firstAttempt())),
	})
}

func (p *noDataCorruption) judge() judgement {
	j := judgement{findings: p.clone(), exposure: Exposure{
		"messages checked":              p.checked,
		"messages without a checksum":   p.uncheckable,
		"messages of the least sizes":   p.small,
		"messages of the largest sizes": p.large,
	}}
	switch {
	case p.checked == 0:
		j.missing = append(j.missing, "no message was consumed with a checksum")
	case p.cfg.MaxSize > 0 && p.small == 0:
		j.missing = append(j.missing, "no message near the smallest size was consumed")
	case p.cfg.MaxSize > 0 && p.large == 0:
		j.missing = append(j.missing, "no message near the largest size was consumed")
	}
	return j
}
