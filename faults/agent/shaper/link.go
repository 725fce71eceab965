package shaper

import (
	"math"
	"math/rand/v2"
	"time"
)

// maxHeld is how many packets of one peer are held; more of them are lost, as in
// any queue.
const maxHeld = 8192

// never is when a packet of a jammed link goes on.
const never = math.MaxInt64

// slack is how much of an idle time a paced link makes up for. Senders and this
// machine's scheduler stall for milliseconds: without it a fast link would carry
// less than asked.
const slack = int64(5 * time.Millisecond)

// link is what comes from one peer.
type link struct {
	streams map[int]*rand.PCG // by ref: where its decisions are
	held    int               // packets

	free int64 // when the last packet will have passed a link of this pace
	last int64 // when the last packet that kept its place goes on
}

// lane is what all parts of a link together make of it, apart from chance.
type lane struct {
	jammed         bool
	bytesPerSecond int64 // 0: no limit
	delay          time.Duration
}

func (l *lane) narrow(p *part) {
	l.jammed = l.jammed || p.shaping.Jam
	l.delay += p.shaping.Delay
	if rate := p.shaping.BytesPerSecond; rate > 0 && (l.bytesPerSecond == 0 || rate < l.bytesPerSecond) {
		l.bytesPerSecond = rate
	}
}

// pass returns when a packet that arrived now has passed the lane's width: one
// packet after the other.
func (l *link) pass(now int64, bytes int, bytesPerSecond int64) int64 {
	if bytesPerSecond == 0 {
		return now
	}
	takes := (int64(bytes)*int64(time.Second) + bytesPerSecond - 1) / bytesPerSecond
	l.free = max(l.free, now-slack) + takes
	return max(l.free, now)
}

// place returns when a packet goes on: at that time, but not before those that
// came before it, unless it is to be late.
func (l *link) place(at int64, f fate) int64 {
	at = max(at, l.last)
	if f.late {
		return at + int64(f.behind)
	}
	l.last = at
	return at
}
