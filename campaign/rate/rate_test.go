package rate_test

import (
	"testing"

	"pgregory.net/rapid"

	"pestle/campaign/rate"
)

// The values are those of the formula, worked out by another program.
func TestWilson(t *testing.T) {
	for _, c := range []struct{ k, n, low, high int64 }{
		{0, 0, 0, 1_000_000},
		{0, 1, 0, 793_451},
		{1, 1, 206_549, 1_000_000},
		{0, 10, 0, 277_533},
		{1, 10, 17_876, 404_150},
		{5, 10, 236_593, 763_407},
		{10, 10, 722_467, 1_000_000},
		{3, 20, 52_369, 360_419},
		{15, 148, 62_386, 160_487},
		{0, 3000, 0, 1_279},
	} {
		low, high := rate.Wilson(c.k, c.n)
		if low != c.low || high != c.high {
			t.Errorf("%d of %d: %d to %d, want %d to %d", c.k, c.n, low, high, c.low, c.high)
		}
	}
}

// The interval holds the share, mirrors, and narrows with more tries.
func TestWilsonIsAnInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 1_000_000).Draw(t, "n")
		k := rapid.Int64Range(0, n).Draw(t, "k")
		r := rate.Of(k, n)
		if r.Low < 0 || r.Low > r.Share()+1 || r.Share() > r.High+1 || r.High > rate.Million {
			t.Errorf("%d to %d does not hold %d", r.Low, r.High, r.Share())
		}
		mirror := rate.Of(n-k, n)
		if d := mirror.High - (rate.Million - r.Low); d < -1 || d > 1 {
			t.Errorf("%v and %v do not mirror", r, mirror)
		}
		more := rate.Of(10*k, 10*n)
		if more.High-more.Low > r.High-r.Low {
			t.Errorf("%v is wider than %v", more, r)
		}
	})
}

func TestString(t *testing.T) {
	for _, c := range []struct {
		k, n int64
		want string
	}{
		{3, 20, "3 of 20, 15.0 % (95 %: 5.2 % to 36.0 %)"},
		{0, 10, "0 of 10, 0.0 % (95 %: 0.0 % to 27.8 %)"},
		{10, 10, "10 of 10, 100.0 % (95 %: 72.2 % to 100.0 %)"},
		{0, 0, "0 of 0"},
	} {
		if got := rate.Of(c.k, c.n).String(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestNoShare(t *testing.T) {
	for _, c := range [][2]int64{{-1, 3}, {4, 3}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d of %d is taken", c[0], c[1])
				}
			}()
			rate.Of(c[0], c[1])
		}()
	}
}
