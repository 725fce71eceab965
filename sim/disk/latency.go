package disk

import (
	"fmt"
	"math/bits"

	"pestle/sim/random"
)

const microsecond = 1000 // ns

// maxSpan bounds a latency, in ns, so that a slow disk's cannot overflow.
const maxSpan = 1_000_000_000_000

// Span is how long an operation takes: Min and, on average, Mean more. The
// second part is drawn, nearly exponentially: most are short and a few long.
type Span struct {
	Min  int64 // ns, 0 to 1000 s
	Mean int64 // ns, 0 to 1000 s
}

// Options are the latencies of a disk. In the zero value everything takes no
// time.
type Options struct {
	Create, Write, Sync, Remove, Read Span
}

// Typical returns the latencies of a solid-state disk of a server. Writes are
// short because the kernel takes them.
func Typical() Options {
	return Options{
		Create: Span{Min: 2000 * microsecond, Mean: 4000 * microsecond},
		Write:  Span{Min: 2 * microsecond, Mean: 8 * microsecond},
		Sync:   Span{Min: 100 * microsecond, Mean: 400 * microsecond},
		Remove: Span{Min: 200 * microsecond, Mean: 400 * microsecond},
		Read:   Span{Min: 20 * microsecond, Mean: 80 * microsecond},
	}
}

// Turning returns the latencies of a disk that turns and has no cache with a
// battery: a sync waits for the place to come by.
func Turning() Options {
	o := Typical()
	o.Sync = Span{Min: 20_000 * microsecond, Mean: 5000 * microsecond}
	return o
}

func (o Options) check() {
	for _, s := range []Span{o.Create, o.Write, o.Sync, o.Remove, o.Read} {
		if min(s.Min, s.Mean) < 0 || max(s.Min, s.Mean) > maxSpan {
			panic(fmt.Sprintf("disk: latency of %d ns and %d more on average: each must be 0 to %d", s.Min, s.Mean, int64(maxSpan)))
		}
	}
}

// draw returns the latency of one operation in ns.
func (d *Disk) draw(s Span) int64 {
	took := s.Min
	if s.Mean > 0 {
		took += exponential(d.latency, s.Mean)
	}
	if took > 0 && d.strikes(Slow) {
		took *= d.faults[Slow].Factor
	}
	return took
}

// exponential draws from 0 to 43 means, in integers: the negative binary
// logarithm of a uniform number, with a straight line between powers of two.
// Its average over all numbers is 3/2, which the division takes out.
func exponential(s *random.Stream, mean int64) int64 {
	const one = 1 << 10
	u := s.Uint64()
	zeros := bits.LeadingZeros64(u | 1)
	fraction := int64(u << zeros << 1 >> 54)
	return mean * (int64(zeros)*one + one - fraction) / (one * 3 / 2)
}
