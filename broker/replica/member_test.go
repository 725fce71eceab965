package replica

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"go.etcd.io/raft/v3/confchange"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"pgregory.net/rapid"
)

// The members are what raft makes of the same changes, also of one that raft
// does not make: the last voter cannot go.
func TestMembersAreThoseOfRaft(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		conf := Conf{Voters: []uint64{1, 2, 3}}
		log := &Log{Conf: conf}
		cfg, progress, err := confchange.Restore(confchange.Changer{Tracker: tracker.MakeProgressTracker(1, 0), LastIndex: 1}, conf.toState())
		if err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 30).Draw(rt, "changes") {
			kind := rapid.SampledFrom([]pb.ConfChangeType{pb.ConfChangeAddNode, pb.ConfChangeAddLearnerNode, pb.ConfChangeRemoveNode}).Draw(rt, "kind")
			node := rapid.Uint64Range(1, 6).Draw(rt, "node")
			tracked := tracker.ProgressTracker{Config: cfg, Progress: progress, MaxInflight: 1}
			change := &pb.ConfChangeSingle{Type: kind.Enum(), NodeId: new(node)}
			next, nextProgress, err := confchange.Changer{Tracker: tracked, LastIndex: 1}.Simple(change)
			if err != nil {
				continue // raft would panic
			}
			cfg, progress = next, nextProgress
			payload, err := proto.Marshal(&pb.ConfChangeV2{Changes: []*pb.ConfChangeSingle{change}})
			if err == nil {
				err = log.ApplyConf(Entry{Kind: KindConf, Payload: payload})
			}
			if err != nil {
				rt.Fatal(err)
			}
			voters, learners := []uint64{}, []uint64{}
			voters = append(voters, cfg.Voters[0].Slice()...)
			for id := range cfg.Learners {
				learners = append(learners, id)
			}
			slices.Sort(voters)
			slices.Sort(learners)
			if !slices.Equal(log.Conf.Voters, voters) || !slices.Equal(log.Conf.Learners, learners) {
				rt.Fatalf("%v of node %d: %+v, raft has %v and teaches %v", kind, node, log.Conf, voters, learners)
			}
		}
	})
}

// A change that is none, has several parts, or is too long, is an error.
func TestChangesThatAreNone(t *testing.T) {
	two, err := proto.Marshal(&pb.ConfChangeV2{Changes: []*pb.ConfChangeSingle{{NodeId: new(uint64(1))}, {NodeId: new(uint64(2))}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, payload := range map[string][]byte{
		"garbage": {0xff, 0xff}, "two parts": two, "too long": make([]byte, maxConf+1),
	} {
		log := &Log{Conf: Conf{Voters: []uint64{1}}}
		if err := log.ApplyConf(Entry{Payload: payload}); err == nil || len(log.Conf.Voters) != 1 {
			t.Errorf("%s: %v, %+v", name, err, log.Conf)
		}
	}
}
