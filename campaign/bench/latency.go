package bench

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies are kept to three digits, from 1 µs to a minute.
const (
	shortest = 1_000          // ns
	longest  = 60_000_000_000 // ns
	digits   = 3
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }

// record counts a time; one beyond a minute counts as a minute.
func record(h *hdrhistogram.Histogram, took time.Duration) {
	_ = h.RecordValue(min(max(int64(took), shortest), longest)) // within bounds it never fails
}

// Latency is the distribution of a time, in nanoseconds as JSON.
type Latency struct {
	Count int64         `json:"count"`
	P50   time.Duration `json:"p50"`
	P90   time.Duration `json:"p90"`
	P99   time.Duration `json:"p99"`
	P999  time.Duration `json:"p99_9"`
	Max   time.Duration `json:"max"`
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	at := func(percent float64) time.Duration { return time.Duration(h.ValueAtPercentile(percent)) }
	return Latency{Count: h.TotalCount(), P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: time.Duration(h.Max())}
}

// deviation is how far values lie apart: the range of them as a part of their
// median. 0: there are none.
func deviation(values []time.Duration) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return float64(sorted[len(sorted)-1]-sorted[0]) / float64(max(1, sorted[len(sorted)/2]))
}
