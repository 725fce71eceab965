package bench

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve answers one path with a text.
func serve(t *testing.T, path, text string) Broker {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, text) // the test sees what is missing
	}))
	t.Cleanup(s.Close)
	return Broker{HTTP: strings.TrimPrefix(s.URL, "http://")}
}

const scraped = `# TYPE pestle_publish_segment_seconds histogram
pestle_publish_segment_seconds_bucket{segment="append",le="0.001"} 5
pestle_publish_segment_seconds_bucket{segment="append",le="0.002"} 15
pestle_publish_segment_seconds_bucket{segment="append",le="+Inf"} 20
pestle_publish_segment_seconds_sum{segment="append"} 0.04
pestle_publish_segment_seconds_count{segment="append"} 20
pestle_publish_segment_seconds_bucket{segment="reply",le="0.001"} 0
pestle_publish_segment_seconds_bucket{segment="reply",le="+Inf"} 0
pestle_publish_segment_seconds_sum{segment="reply"} 0
pestle_publish_segment_seconds_count{segment="reply"} 0
`

func TestSegmentsAreWhatTheBrokerCountedMeanwhile(t *testing.T) {
	b := serve(t, "/metrics", scraped)
	now, err := segmentsOf(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]histogram{
		"append": {bounds: now["append"].bounds, counts: []uint64{5, 5, 10}, count: 10, sum: 0.02},
		"reply":  now["reply"],
	}
	at := Place{segments: map[string]*histogram{}}
	at.measured(before, now)
	at.measured(before, now) // two rounds
	got := describe(at.segments)
	want := Segment{Name: "append", Budget: time.Millisecond, Count: 20, Mean: 2 * time.Millisecond, P50: 1500 * time.Microsecond, P99: 1990 * time.Microsecond}
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v alone: nothing was counted of the others", got, want)
	}
}

func TestABrokerThatDoesNotMeasureIsNamed(t *testing.T) {
	b := serve(t, "/metrics", "# TYPE other gauge\nother 1\n")
	if _, err := segmentsOf(context.Background(), b); err == nil || !strings.Contains(err.Error(), b.HTTP) {
		t.Errorf("got %v, want an error that names %s", err, b.HTTP)
	}
}

func TestQuantilesAreWithinTheirBucket(t *testing.T) {
	h := histogram{bounds: []float64{1, 2, 4, math.Inf(1)}, counts: []uint64{0, 10, 30, 40}, count: 40}
	for _, test := range []struct {
		q    float64
		want time.Duration
	}{
		{0.125, 1500 * time.Millisecond}, // the middle of the second bucket
		{0.25, 2 * time.Second},
		{0.5, 3 * time.Second},
		{0.75, 4 * time.Second},
		{0.99, 4 * time.Second}, // beyond every bound
	} {
		if got := h.quantile(test.q); got != test.want {
			t.Errorf("quantile %v is %v, want %v", test.q, got, test.want)
		}
	}
	if got := (&histogram{}).quantile(0.5); got != 0 {
		t.Errorf("of nothing it is %v", got)
	}
}
