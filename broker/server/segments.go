package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pestle/broker/core"
)

// segmentTimes is how long the parts of a publish's way take. The core
// measures those through the journals; those at the ends are measured here, at
// each block of input and each write, whatever is in it: a node that serves
// producers sees publishes and their answers.
type segmentTimes struct {
	vec    *prometheus.HistogramVec
	decode prometheus.Observer // from a client's socket until the core has seen it
	reply  prometheus.Observer // from the core until the client's socket took it
	core   [core.SegmentCount]prometheus.Observer
}

// segmentBuckets are the bounds in seconds.
var segmentBuckets = []float64{
	10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 300e-6, 500e-6, 700e-6,
	1e-3, 1.5e-3, 2e-3, 3e-3, 5e-3, 10e-3, 20e-3, 50e-3, 100e-3, 200e-3, 500e-3, 1,
}

func newSegmentTimes() *segmentTimes {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "pestle_publish_segment_seconds", Buckets: segmentBuckets,
		Help: "Time of a part of a publish's way: decode and reply at any node, append, network, follower and commit at the leader, of one publish at a time in each group.",
	}, []string{"segment"})
	t := &segmentTimes{vec: vec, decode: vec.WithLabelValues("decode"), reply: vec.WithLabelValues("reply")}
	for s := range core.SegmentCount {
		t.core[s] = vec.WithLabelValues(s.String())
	}
	return t
}

// spans observes what the core measured.
func (t *segmentTimes) spans(list []core.Span) {
	for _, s := range list {
		t.core[s.Segment].Observe(time.Duration(s.NS).Seconds())
	}
}
