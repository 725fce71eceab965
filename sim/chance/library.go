package chance

import (
	"crypto/rand"
	"errors"
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// electionTick is the least election timeout of the nodes that are looked at,
// a power of two: so one draw takes the low bits of one byte.
const electionTick = 16

// checkLibrary looks whether a node of the consensus library waits before its
// first campaign as long as the chance it is given says. It leaves the
// process's chance changed.
func checkLibrary() error {
	for _, drawn := range []byte{5, 11} {
		rand.Reader = always(drawn)
		got, err := ticksToCampaign()
		if err != nil {
			return fmt.Errorf("look whether the consensus library draws as it did: %w", err)
		}
		if want := electionTick + int(drawn); got != want {
			return fmt.Errorf("the consensus library begins to campaign after %d ticks where its chance says %d: it draws otherwise than it did, and no run with it would be the same twice; look for its use of crypto/rand", got, want)
		}
	}
	return nil
}

// always is chance without any.
type always byte

func (a always) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(a)
	}
	return len(p), nil
}

// ticksToCampaign is how many ticks the first of three nodes waits for a leader.
func ticksToCampaign() (int, error) {
	storage := raft.NewMemoryStorage()
	three := &raftpb.SnapshotMetadata{
		ConfState: &raftpb.ConfState{Voters: []uint64{1, 2, 3}},
		Index:     new(uint64(1)), Term: new(uint64(1)),
	}
	if err := storage.ApplySnapshot(&raftpb.Snapshot{Metadata: three}); err != nil {
		return 0, err
	}
	node, err := raft.NewRawNode(&raft.Config{
		ID: 1, ElectionTick: electionTick, HeartbeatTick: 1, Storage: storage, PreVote: true,
		MaxInflightMsgs: 1, Logger: silent{},
	})
	if err != nil {
		return 0, err
	}
	for ticks := 1; ticks <= 2*electionTick; ticks++ {
		if node.Tick(); node.BasicStatus().RaftState == raft.StatePreCandidate {
			return ticks, nil
		}
	}
	return 0, errors.New("a node without a leader never campaigns")
}

// silent is the library's logger: its own writes lines with the time of day.
type silent struct{}

func (silent) Debug(...any)            {}
func (silent) Debugf(string, ...any)   {}
func (silent) Info(...any)             {}
func (silent) Infof(string, ...any)    {}
func (silent) Warning(...any)          {}
func (silent) Warningf(string, ...any) {}
func (silent) Error(...any)            {}
func (silent) Errorf(string, ...any)   {}

func (silent) Fatal(v ...any)            { panic(fmt.Sprint(v...)) }
func (silent) Fatalf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
func (silent) Panic(v ...any)            { panic(fmt.Sprint(v...)) }
func (silent) Panicf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
