package server

import (
	"regexp"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"pestle/broker/core"
	"pestle/broker/nsq"
)

func TestThePartsOfAPublishsWayAreCounted(t *testing.T) {
	b := startIn(t, t.TempDir())
	c := dial(t, b.TCPAddr().String(), nsq.ClientConfig{})
	c.Publish("t", []byte("message"))
	c.push()
	c.want(nsq.NoticePublished)
	_, body := b.call(t, "GET", "/metrics", "")
	for _, segment := range []string{"decode", "append", "commit", "reply"} {
		if !regexp.MustCompile(`\npestle_publish_segment_seconds_count{segment="` + segment + `"} [1-9]`).MatchString(body) {
			t.Errorf("no %s was counted:\n%s", segment, body)
		}
	}
	for _, segment := range []string{"network", "follower"} { // there are no others
		if !regexp.MustCompile(`\npestle_publish_segment_seconds_count{segment="` + segment + `"} 0\n`).MatchString(body) {
			t.Errorf("%s is not there, or was counted on a node that is alone:\n%s", segment, body)
		}
	}
}

// observed returns how often, and how long in all.
func observed(t *testing.T, o prometheus.Observer) (count uint64, sum time.Duration) {
	t.Helper()
	var m dto.Metric
	if err := o.(prometheus.Metric).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetHistogram().GetSampleCount(), time.Duration(m.GetHistogram().GetSampleSum() * float64(time.Second))
}

func TestWhatTheCoreMeasuredGoesToItsSegment(t *testing.T) {
	l := &loop{mail: newQueue[message](), peers: newPeers(t, 1), core: &core.Core{}, ready: make(chan struct{}), segments: newSegmentTimes()}
	l.fx.Spans = []core.Span{{Segment: core.SegmentNetwork, NS: 2e9}, {Segment: core.SegmentNetwork, NS: 1e9}}
	for range 2 { // once only
		if _, err := l.carryOut(); err != nil {
			t.Fatal(err)
		}
	}
	for s, o := range l.segments.core {
		count, sum := observed(t, o)
		if core.Segment(s) == core.SegmentNetwork && (count != 2 || sum != 3*time.Second) || core.Segment(s) != core.SegmentNetwork && count != 0 {
			t.Errorf("%v: %d times, %v", core.Segment(s), count, sum)
		}
	}
}

// Input is timed from when it was read, however long it waited for the core.
func TestDecodeBeginsAtTheSocket(t *testing.T) {
	sock, _ := socketPair(t)
	segments := newSegmentTimes()
	c := newConn(1, sock, newQueue[message](), segments, life{})
	l := &loop{core: &core.Core{}, conns: map[core.ConnID]*conn{1: c}, segments: segments}
	m := message{event: core.Event{Kind: core.EvData, Conn: 1}, conn: c, arrived: time.Now().Add(-time.Hour)}
	c.closing = true // the core does not hear of it
	for want := range uint64(2) {
		if err := l.step(core.Time{}, &m); err != nil {
			t.Fatal(err)
		}
		<-c.consumed
		if count, sum := observed(t, segments.decode); count != want || want > 0 && sum < time.Hour {
			t.Errorf("counted %d times, %v in all; want %d, an hour each", count, sum, want)
		}
		c.closing = false
	}
}

// Output is timed from when the core gave the first of it.
func TestReplyEndsAtTheSocket(t *testing.T) {
	sock, far := socketPair(t)
	segments := newSegmentTimes()
	c := newConn(1, sock, newQueue[message](), segments, life{})
	c.send([]byte("a"), time.Now().Add(-2*time.Hour))
	c.send([]byte("b"), time.Now())
	c.finish()
	c.write()
	if count, sum := observed(t, segments.reply); count != 1 || sum < 2*time.Hour {
		t.Errorf("counted %d times, %v in all; want one write that waited two hours", count, sum)
	}
	if n, err := far.Read(make([]byte, 2)); n != 2 || err != nil {
		t.Errorf("%d bytes arrived, %v", n, err)
	}
}
