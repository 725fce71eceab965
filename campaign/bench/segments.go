package bench

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const segmentMetric = "pestle_publish_segment_seconds"

// budgets are what each part of a publish's way may take at three nodes, in
// its order. Commit and reply share theirs.
var budgets = []struct {
	name   string
	budget time.Duration
}{
	{"decode", 50 * time.Microsecond},
	{"append", time.Millisecond},
	{"network", 100 * time.Microsecond},
	{"follower", time.Millisecond},
	{"commit", 100 * time.Microsecond},
	{"reply", 100 * time.Microsecond},
}

// Segment is a part of a publish's way, as the leader's broker measured it.
type Segment struct {
	Name   string        `json:"name"`
	Budget time.Duration `json:"budget"`
	Count  uint64        `json:"count"`
	Mean   time.Duration `json:"mean"`
	P50    time.Duration `json:"p50"` // between the bounds of its bucket it is a guess
	P99    time.Duration `json:"p99"`
}

// histogram has counts of what is not above each of its bounds.
type histogram struct {
	bounds []float64 // seconds, ascending
	counts []uint64
	count  uint64
	sum    float64 // seconds
}

// segmentsOf reads a broker's histograms, by segment.
func segmentsOf(ctx context.Context, b Broker) (map[string]histogram, error) {
	text, err := call(ctx, http.MethodGet, b.HTTP, "metrics")
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", b.HTTP, err)
	}
	family := families[segmentMetric]
	if family == nil {
		return nil, fmt.Errorf("metrics of %s have no %s", b.HTTP, segmentMetric)
	}
	out := map[string]histogram{}
	for _, m := range family.GetMetric() {
		out[m.GetLabel()[0].GetValue()] = histogramOf(m.GetHistogram())
	}
	return out, nil
}

func histogramOf(h *dto.Histogram) histogram {
	out := histogram{count: h.GetSampleCount(), sum: h.GetSampleSum()}
	for _, b := range h.GetBucket() {
		out.bounds = append(out.bounds, b.GetUpperBound())
		out.counts = append(out.counts, b.GetCumulativeCount())
	}
	return out
}

// add counts what h has more than an earlier state of it.
func (h *histogram) add(now, before histogram) {
	if h.bounds == nil {
		h.bounds, h.counts = now.bounds, make([]uint64, len(now.counts))
	}
	for i := range h.counts {
		h.counts[i] += now.counts[i] - before.counts[i]
	}
	h.count += now.count - before.count
	h.sum += now.sum - before.sum
}

func (h *histogram) mean() time.Duration {
	return time.Duration(h.sum / float64(max(1, h.count)) * float64(time.Second))
}

// quantile takes the values of a bucket to be spread evenly. What is beyond
// the last bound counts as the last bound.
func (h *histogram) quantile(q float64) time.Duration {
	if h.count == 0 {
		return 0
	}
	rank, below, from := q*float64(h.count), 0.0, 0.0
	for i, bound := range h.bounds {
		if upTo := float64(h.counts[i]); upTo >= rank && !math.IsInf(bound, 1) {
			from += (rank - below) / max(1, upTo-below) * (bound - from)
			break
		}
		if !math.IsInf(bound, 1) {
			below, from = float64(h.counts[i]), bound
		}
	}
	return time.Duration(from * float64(time.Second))
}

// describe puts the segments into their order, beside their budgets.
func describe(segments map[string]*histogram) []Segment {
	var out []Segment
	for _, s := range budgets {
		h := segments[s.name]
		if h == nil || h.count == 0 {
			continue
		}
		out = append(out, Segment{Name: s.name, Budget: s.budget, Count: h.count, Mean: h.mean(), P50: h.quantile(0.5), P99: h.quantile(0.99)})
	}
	return out
}
