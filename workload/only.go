package workload

// forever is a moment that does not come.
const forever = int64(1<<63 - 1)

// following returns the first counter behind another whose turn a producer
// uses that sends r only. A nil r leaves none out; behind its last counter
// there is none.
func (r Ranges) following(counter uint64) (uint64, bool) {
	next := counter + 1
	if r == nil {
		return next, true
	}
	i, found := r.find(next)
	switch {
	case found:
		return next, true
	case i < len(r):
		return r[i].From, true
	}
	return 0, false
}

// skip lets the turns of the messages pass that Only leaves out. Each takes
// its Interval, as if it had been used, so that the messages that are left keep
// both their counters and their times.
func (p *Producer) skip() {
	next, ok := p.cfg.Only.following(p.highest)
	if !ok {
		p.nextStart = forever
		return
	}
	turns := next - p.highest - 1
	if turns > uint64((forever-p.nextStart)/p.cfg.Interval) {
		p.nextStart = forever
		return
	}
	p.nextStart += int64(turns) * p.cfg.Interval
	p.highest = next - 1
}
