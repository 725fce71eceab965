package core

// withoutFinishes is the planted bug finish-lost-at-recovery: a ledger entry
// without the finished messages that the journal still holds.
func withoutFinishes(g *dataGroup, payload []byte) []byte {
	e, err := decodeLedger(payload)
	if err != nil {
		return payload
	}
	p := g.partition(e.partition)
	if p == nil || p.channel(e.channel) == nil {
		return payload
	}
	var left offsets
	for _, s := range e.finished {
		for o := s.lo; o < s.hi; o++ {
			if p.log.at(o) == nil && p.channel(e.channel).unfinished(o) {
				left.add(span{o, o + 1})
			}
		}
	}
	e.finished = left.spans
	return e.encode()
}

// withSumsOfTheBodies is a part of the planted bug torn-tail-accepted: whatever
// stands where the bodies were is delivered.
func withSumsOfTheBodies(payload []byte) []byte {
	e, err := decodePublish(payload)
	if err != nil {
		return payload
	}
	return e.encode() // it adds up anew
}

// doubts is the part of the planted bug fsync-error-ignored that keeps it from
// giving itself away: until the next file no mark claims what failed to be
// synced, or came behind it, or a restart would be refused.
func (w *writer) doubts(failed bool) bool {
	w.doubted = (w.doubted || failed) && !w.sealing
	return w.doubted
}
