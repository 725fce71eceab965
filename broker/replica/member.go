package replica

import (
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"
)

// memberIDs returns who takes part in any way, ascending.
func (g *Group) memberIDs() []uint64 {
	c := g.cfg.Log.Conf
	ids := slices.Concat(c.Voters, c.Learners, c.VotersOutgoing, c.LearnersNext)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// fill returns a visitor that completes what list says of its nodes.
func (g *Group) fill(list []Peer) func(uint64, raft.ProgressType, tracker.Progress) {
	return func(id uint64, kind raft.ProgressType, p tracker.Progress) {
		for i := range list {
			if list[i].Node == id {
				list[i] = Peer{
					Node: id, Match: p.Match,
					Learner: kind == raft.ProgressTypeLearner, Behind: p.State == tracker.StateSnapshot,
				}
			}
		}
	}
}

// maxConf bounds a change of the members in bytes: a few node ids.
const maxConf = 1 << 10

func decodeConf(data []byte) (*pb.ConfChangeV2, error) {
	change := &pb.ConfChangeV2{}
	if len(data) > maxConf {
		return nil, fmt.Errorf("a change of the members has %d bytes, which is more than %d", len(data), maxConf)
	}
	if err := proto.Unmarshal(data, change); err != nil {
		return nil, fmt.Errorf("a change of the members cannot be read: %w", err)
	}
	if len(change.GetChanges()) > 1 {
		return nil, fmt.Errorf("a change of the members has %d parts, and each is to have one", len(change.GetChanges()))
	}
	for _, one := range change.GetChanges() {
		if one.GetType() < pb.ConfChangeAddNode || one.GetType() > pb.ConfChangeAddLearnerNode || one.GetNodeId() == 0 {
			return nil, fmt.Errorf("a change of the members does %d to node %d, which there is not", one.GetType(), one.GetNodeId())
		}
	}
	return change, nil
}

// ApplyConf applies a committed change of the members to Conf, without raft.
func (l *Log) ApplyConf(e Entry) error {
	change, err := decodeConf(e.Payload)
	if err != nil {
		return err
	}
	for _, one := range change.GetChanges() {
		l.Conf.apply(one.GetType(), one.GetNodeId())
	}
	return nil
}

// apply makes one simple change; the lists stay ascending.
func (c *Conf) apply(change pb.ConfChangeType, node uint64) {
	without := func(list []uint64) []uint64 {
		return slices.DeleteFunc(slices.Clone(list), func(id uint64) bool { return id == node })
	}
	with := func(list []uint64) []uint64 {
		list = append(without(list), node)
		slices.Sort(list)
		return list
	}
	switch change {
	case pb.ConfChangeAddNode:
		c.Voters, c.Learners = with(c.Voters), without(c.Learners)
	case pb.ConfChangeAddLearnerNode:
		c.Voters, c.Learners = without(c.Voters), with(c.Learners)
	case pb.ConfChangeRemoveNode:
		c.Voters, c.Learners = without(c.Voters), without(c.Learners)
	}
}

func (c Conf) equal(o Conf) bool {
	return slices.Equal(c.Voters, o.Voters) && slices.Equal(c.Learners, o.Learners) &&
		slices.Equal(c.VotersOutgoing, o.VotersOutgoing) && slices.Equal(c.LearnersNext, o.LearnersNext) && c.AutoLeave == o.AutoLeave
}
