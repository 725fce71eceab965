package network

import (
	"strconv"

	"pestle/sim/random"
)

const (
	microsecond = int64(1_000)
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond
)

// Profile is what the network is like without any fault. Times are ns. The
// zero value is a network without any delay.
type Profile struct {
	MinLatency  int64 // one way
	MeanLatency int64 // what an exponential distribution adds on average
	TailLatency int64 // what it adds on average to one packet in 1000, on top

	AsymmetryPermille int64 // directed links that are slower than the others for the whole run
	MaxAsymmetry      int64 // at most by so much

	BytesPerSecond int64 // of each directed link; 0: no bound
	Window         int   // bytes of a stream that may be sent and not yet read; 0: 256 KiB
	SplitPermille  int64 // sends that arrive in two pieces
	MergePermille  int64 // arrivals that are read together with what comes next
}

const (
	retransmitFirst = 200 * millisecond // TCP's least timeout on Linux
	retransmitMost  = 3                 // losses in a row that are drawn
	// retransmitAfterCut bounds how long after a cut the bytes that waited are
	// sent again. TCP doubles its pause up to minutes; a run whose clients
	// give up within seconds would not see the difference, but for a healed
	// network that seems broken still.
	retransmitAfterCut = 400 * millisecond
)

// link is one direction between two hosts.
type link struct {
	from, to Host
	stream   *random.Stream
	extra    int64 // permanent asymmetry
	free     int64 // when the last byte put on it has left
	cutSince int64
	imposed  []imposition
	state    Condition // all of imposed
}

type imposition struct {
	ref       int
	condition Condition
}

func newLink(seed uint64, from, to Host, p *Profile) *link {
	l := &link{from: from, to: to, stream: random.New(seed, "link",
		strconv.FormatUint(uint64(from), 10), strconv.FormatUint(uint64(to), 10))}
	if l.stream.Permille(p.AsymmetryPermille) {
		l.extra = l.stream.Between(0, p.MaxAsymmetry)
	}
	return l
}

// change puts a fault's condition on the link, or takes it off.
func (l *link) change(now int64, ref int, c Condition, on bool) {
	cut := l.state.Cut
	kept := l.imposed[:0]
	for _, i := range l.imposed {
		if i.ref != ref {
			kept = append(kept, i)
		}
	}
	if on {
		kept = append(kept, imposition{ref, c})
	}
	l.imposed = kept
	l.state = Condition{}
	for _, i := range l.imposed {
		l.state.add(i.condition)
	}
	if l.state.Cut && !cut {
		l.cutSince = now
	}
}

// arrival draws when a packet of a stream that is sent now arrives. The link
// must not be cut.
func (l *link) arrival(now int64, size int, p *Profile) int64 {
	at := l.departure(now, size, p) + l.latency(p)
	pause := retransmitFirst
	for range retransmitMost {
		if l.state.LossPermille == 0 || !l.stream.Permille(l.state.LossPermille) {
			break
		}
		at += pause
		pause *= 2
	}
	return at
}

// departure is when the last byte of a packet has left: it waits for those
// before it, and until nothing holds it back.
func (l *link) departure(now int64, size int, p *Profile) int64 {
	rate := p.BytesPerSecond
	if r := l.state.BytesPerSecond; r > 0 && (rate == 0 || r < rate) {
		rate = r
	}
	at := max(now, l.free, l.state.HeldUntil)
	if rate > 0 {
		at += int64(size) * second / rate
	}
	l.free = at
	return at
}

func (l *link) latency(p *Profile) int64 {
	d := p.MinLatency + l.extra + l.state.Delay
	if p.MeanLatency > 0 {
		d += exponential(l.stream, p.MeanLatency)
	}
	if p.TailLatency > 0 && l.stream.Permille(1) {
		d += exponential(l.stream, p.TailLatency)
	}
	if l.state.Jitter > 0 {
		d += l.stream.Below(l.state.Jitter + 1)
	}
	if l.state.ReorderPermille > 0 && l.stream.Permille(l.state.ReorderPermille) {
		d += l.state.ReorderBy
	}
	return d
}

// resend draws when what waited for a link that was cut is sent again.
func (l *link) resend(now int64) int64 {
	return now + l.stream.Below(min(max(now-l.cutSince, 1), retransmitAfterCut))
}
