// Package rate says how often something happens, judged by few tries: a share
// k of n and the 95 % Wilson score interval of the true one.
//
//	r := rate.Of(3, 20)
//	fmt.Println(r) // 3 of 20, 15.0 % (95 %: 5.2 % to 36.0 %)
//
// The Wilson interval is the one of the usual ones that stays inside 0 to 1 and
// keeps its promise for few tries and for shares near 0 and 1, which is what
// runs of a test are. Shares are whole parts per million, so that a report that
// holds them has the same bytes everywhere.
package rate

import (
	"fmt"
	"math"
)

// Million is the share 1.
const Million = 1_000_000

// z is the quantile of the normal distribution for 95 % on both sides.
const z = 1.959963984540054

// Rate is a share with its interval.
type Rate struct {
	K    int64 `json:"k"`    // how often it happened
	N    int64 `json:"n"`    // in so many tries
	Low  int64 `json:"low"`  // parts per million: the true share is between
	High int64 `json:"high"` // these two, with a confidence of 95 %
}

// Of returns the rate of k in n. Nothing is known after no try: the interval is
// then everything. It panics unless 0 ≤ k ≤ n.
func Of(k, n int64) Rate {
	low, high := Wilson(k, n)
	return Rate{K: k, N: n, Low: low, High: high}
}

// Wilson returns the ends of the 95 % Wilson score interval of k in n, in parts
// per million. It panics unless 0 ≤ k ≤ n.
func Wilson(k, n int64) (low, high int64) {
	if k < 0 || k > n {
		panic(fmt.Sprintf("rate: %d of %d is no share", k, n))
	}
	if n == 0 {
		return 0, Million
	}
	hits, tries := float64(k), float64(n)
	middle := hits + z*z/2
	half := z * math.Sqrt(hits*(tries-hits)/tries+z*z/4)
	low = max(0, int64(math.Round((middle-half)/(tries+z*z)*Million)))
	high = min(Million, int64(math.Round((middle+half)/(tries+z*z)*Million)))
	return low, high
}

// Share is K of N in parts per million, rounded down; 0 after no try.
func (r Rate) Share() int64 {
	if r.N == 0 {
		return 0
	}
	return int64(float64(r.K) / float64(r.N) * Million)
}

// String is the rate for people.
func (r Rate) String() string {
	if r.N == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d, %s (95 %%: %s to %s)", r.K, r.N, percent(r.Share()), percent(r.Low), percent(r.High))
}

// percent writes parts per million with one digit behind the point.
func percent(ppm int64) string {
	tenths := (ppm + 500) / 1000
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}
