package clock

import (
	"testing"

	"pgregory.net/rapid"
)

const (
	second = 1_000_000_000
	epoch  = 1_700_000_000 * second
)

// Each step is done at a virtual time; then the clock shows so much.
func TestClock(t *testing.T) {
	c := New(second, epoch)
	for _, s := range []struct {
		what  string
		t     int64
		do    func(t int64)
		mono  int64
		wall  int64 // since epoch
		later int64 // mono one virtual second later
	}{
		{"new", second, func(int64) {}, 0, 0, second},
		{"runs", 2 * second, func(int64) {}, second, second, 2 * second},
		{"set back", 3 * second, func(t int64) { c.Jump(t, -60*second) }, 2 * second, -58 * second, 3 * second},
		{"fast", 4 * second, func(t int64) { c.Drift(t, 500) }, 3 * second, -57 * second, 4*second + 500_000},
		{"slow", 5 * second, func(t int64) { c.Drift(t, -500) }, 4*second + 500_000, -56*second + 500_000, 5 * second},
		{"frozen", 6 * second, func(t int64) { c.Freeze(t) }, 5 * second, -55 * second, 5 * second},
		{"still frozen", 9 * second, func(int64) {}, 5 * second, -55 * second, 5 * second},
		{"thawed", 10 * second, func(t int64) { c.Thaw(t); c.Drift(t, 0) }, 5 * second, -55 * second, 6 * second},
		{"restarted", 11 * second, func(t int64) { c.Restart(t) }, 0, -54 * second, second},
	} {
		s.do(s.t)
		if mono, wall := c.Mono(s.t), c.Wall(s.t)-epoch; mono != s.mono || wall != s.wall {
			t.Errorf("%s: mono %d, wall %d; want %d, %d", s.what, mono, wall, s.mono, s.wall)
		}
		if got := c.Mono(s.t + second); got != s.later {
			t.Errorf("%s: a second later mono is %d, want %d", s.what, got, s.later)
		}
	}
}

// When is exact: at its time the deadline has come, and a nanosecond before it
// has not, at any rate and over days.
func TestWhen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New(0, epoch)
		at := rapid.Int64Range(0, 1000*second).Draw(t, "at")
		c.Drift(at, rapid.Int64Range(-MaxDrift, MaxDrift).Draw(t, "ppm"))
		mono := c.Mono(at) + rapid.Int64Range(1, 30*24*3600*second).Draw(t, "ahead")
		when, ok := c.When(mono)
		if !ok || c.Mono(when) < mono || c.Mono(when-1) >= mono {
			t.Fatalf("mono %d: at %d (%v), where it reads %d and %d before", mono, when, ok, c.Mono(when), c.Mono(when-1))
		}
	})
	c := New(0, epoch)
	c.Freeze(5)
	if when, ok := c.When(5); !ok || when != 5 {
		t.Errorf("a deadline that has come is due at %d (%v), want 5", when, ok)
	}
	if when, ok := c.When(6); ok {
		t.Errorf("on a frozen clock a deadline is due at %d", when)
	}
}

// Whatever is done to a clock, its monotonic reading does not go back.
func TestMonoNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New(0, epoch)
		now, last := int64(0), int64(0)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now += rapid.Int64Range(0, 10*second).Draw(t, "wait")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				c.Drift(now, rapid.Int64Range(-MaxDrift, MaxDrift).Draw(t, "ppm"))
			case 1:
				c.Jump(now, rapid.Int64Range(-1000*second, 1000*second).Draw(t, "by"))
			case 2:
				c.Freeze(now)
			case 3:
				c.Thaw(now)
			}
			if mono := c.Mono(now); mono < last {
				t.Fatalf("mono went from %d to %d", last, mono)
			}
			last = c.Mono(now)
		}
	})
}
