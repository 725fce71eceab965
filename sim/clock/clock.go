// Package clock is the clock of one simulated node as a function of virtual
// time: it may be set wrong, run fast or slow, jump and stand still.
//
// It owns the two readings that a node can take, a monotonic one and the wall
// clock, and the way back from a monotonic deadline to the virtual time at
// which it has come. It never decides when a fault happens, and it draws
// nothing.
//
//	c := clock.New(bootedAt, epoch)
//	c.Drift(t, 200)            // 200 ppm fast from now on
//	c.Jump(t, -3*minute)       // the wall clock is set back
//	now := core.Time{Mono: c.Mono(t), Wall: c.Wall(t)}
//	wake, ok := c.When(deadline)
//
// The monotonic reading never goes back, whatever is done to the clock: drift
// changes its rate and freezing stops it, but only the wall clock jumps. Both
// readings run on one oscillator.
//
//det:ring0
package clock

import (
	"fmt"
	"math/bits"
)

// MaxDrift bounds how far a clock may be off in parts per million, either way.
const MaxDrift = 100_000

const million = 1_000_000

// Clock is one node's clock. Virtual times handed to it must not go back
// behind the last change of its rate.
type Clock struct {
	since  int64 // virtual time at which the readings below were exact
	mono   int64
	wall   int64
	rate   uint64 // ns of the clock in a million ns of virtual time
	frozen bool
}

// New returns a clock that runs exactly: at virtual time t it shows monotonic
// 0 and the wall time given, in ns since the Unix epoch.
func New(t, wall int64) *Clock { return &Clock{since: t, wall: wall, rate: million} }

// elapsed is how far the clock has run since its last change.
func (c *Clock) elapsed(t int64) int64 {
	if t < c.since {
		panic(fmt.Sprintf("clock: read at %d ns, before its last change at %d ns", t, c.since))
	}
	if c.frozen {
		return 0
	}
	hi, lo := bits.Mul64(uint64(t-c.since), c.rate)
	n, _ := bits.Div64(hi, lo, million)
	return int64(n)
}

// Mono is the monotonic reading at virtual time t, in ns.
func (c *Clock) Mono(t int64) int64 { return c.mono + c.elapsed(t) }

// Wall is the wall clock at virtual time t, in ns since the Unix epoch.
func (c *Clock) Wall(t int64) int64 { return c.wall + c.elapsed(t) }

// When returns the first virtual time at which Mono reads at least mono, if
// nothing is done to the clock until then; false: never, because it stands
// still.
func (c *Clock) When(mono int64) (t int64, ok bool) {
	if mono <= c.mono {
		return c.since, true
	}
	if c.frozen {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(mono-c.mono), million)
	n, rest := bits.Div64(hi, lo, c.rate)
	if rest > 0 {
		n++
	}
	return c.since + int64(n), true
}

// settle takes the readings at t as the ones to count from.
func (c *Clock) settle(t int64) {
	run := c.elapsed(t)
	c.since, c.mono, c.wall = t, c.mono+run, c.wall+run
}

// Drift makes the clock run ppm parts per million fast from t on, or slow when
// it is negative. It panics beyond MaxDrift.
func (c *Clock) Drift(t, ppm int64) {
	if ppm < -MaxDrift || ppm > MaxDrift {
		panic(fmt.Sprintf("clock: drift of %d ppm is not in ±%d", ppm, MaxDrift))
	}
	c.settle(t)
	c.rate = uint64(million + ppm)
}

// Jump sets the wall clock forward by so many ns at t, or back.
func (c *Clock) Jump(t, by int64) {
	c.settle(t)
	c.wall += by
}

// Freeze stops the clock at t; Thaw lets it go on from where it stood.
func (c *Clock) Freeze(t int64) {
	c.settle(t)
	c.frozen = true
}

// Thaw ends a Freeze.
func (c *Clock) Thaw(t int64) {
	c.settle(t)
	c.frozen = false
}

// Restart makes the monotonic reading begin at 0 again at t, as it does for a
// process that counts from its start. Rate, wall clock and a freeze stay.
func (c *Clock) Restart(t int64) {
	c.settle(t)
	c.mono = 0
}
