package core

import (
	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/replica"
)

// Segment is a part of the way of a publish through the leader of its group.
// The rest of the way, from the socket to the core and back, is the driver's
// to measure.
type Segment uint8

// The segments. Network and Follower are those of the first follower that has
// the entry.
const (
	SegmentAppend   Segment = iota // into the leader's journal, until the sync is complete
	SegmentNetwork                 // to a follower and back
	SegmentFollower                // in the follower, until its sync is complete
	SegmentCommit                  // from the last of those that a majority takes until it is applied
	SegmentCount                   // how many there are
)

// String returns the segment's name as it is in metrics.
func (s Segment) String() string {
	return [...]string{"append", "network", "follower", "commit"}[s]
}

// Span is how long a segment took for one publish. Of those that are on their
// way at the same time one is followed.
type Span struct {
	Segment Segment
	NS      int64
}

// probe follows one entry of a group that this node leads.
type probe struct {
	index   uint64 // 0: none
	begun   int64  // monotonic times
	durable int64
	acked   int64
}

func (fx *Effects) span(s Segment, ns int64) { fx.Spans = append(fx.Spans, Span{s, max(0, ns)}) }

// follow begins to follow a publish that gets its place.
func (s *seat) follow(now Time, a *replica.Append) {
	if !s.leads || s.probe.index != 0 {
		return
	}
	for _, e := range a.Entries {
		if data := e.GetData(); len(data) > 0 && data[0] == kindPublish {
			s.probe = probe{index: e.GetIndex(), begun: now.Mono}
			return
		}
	}
}

// synced sees that the leader's own journal has entries up to an index.
func (p *probe) synced(now Time, upTo uint64, fx *Effects) {
	if p.index != 0 && p.durable == 0 && upTo >= p.index {
		p.durable = now.Mono
		fx.span(SegmentAppend, now.Mono-p.begun)
	}
}

// answered sees that a follower's journal has them; it says how long it took.
func (p *probe) answered(now Time, m *pb.Message, took int64, fx *Effects) {
	if p.index == 0 || p.acked != 0 || m.GetType() != pb.MsgAppResp || m.GetReject() || m.GetIndex() < p.index {
		return
	}
	p.acked = now.Mono
	fx.span(SegmentFollower, took)
	fx.span(SegmentNetwork, now.Mono-p.begun-took)
}

// applied ends it.
func (p *probe) applied(now Time, index uint64, fx *Effects) {
	if p.index == 0 || index < p.index {
		return
	}
	if p.durable != 0 {
		fx.span(SegmentCommit, now.Mono-max(p.durable, p.acked))
	}
	*p = probe{}
}
