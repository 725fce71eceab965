package sim

// What a process does between two moments costs it nothing here, until a fault
// slows its processor: then each thing that happens to it takes a drawn time, as
// often as the fault says, and waits for those before it.
const (
	minWork = 5 * microsecond // on a processor of its own
	maxWork = 50 * microsecond
)

// wait puts something into the inbox, with a turn for when the processor will be
// through with it.
func (p *process) wait(now int64, in *input) {
	p.inbox = append(p.inbox, *in)
	p.freeAt = max(p.freeAt, now) + p.slow*p.noise.Between(minWork, maxWork)
	p.post(p.freeAt, evTurn, p.turns)
}

// turn takes what has waited longest.
func (p *process) turn(now int64, spell uint64) {
	if spell != p.turns || p.paused || len(p.inbox) == 0 {
		return
	}
	in := p.inbox[0]
	p.inbox[0] = input{}
	p.inbox = p.inbox[1:]
	p.take(now, &in)
}

// quicken gives the process its processor back: it is through with all that
// waited at once.
func (p *process) quicken(now int64) {
	p.slow = 0
	p.freeAt = now
	p.turns++
	p.resume(now)
}
