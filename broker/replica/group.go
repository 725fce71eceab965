package replica

import (
	"fmt"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// Config is fixed for the life of a Group.
type Config struct {
	Node  uint64 // this node's id, from 1
	Group uint32
	Log   *Log // what the journal holds; the Group's from then on, but for Put, Move and Trim

	// Applied is the index up to which the caller's state goes.
	Applied uint64

	// Snapshot returns the caller's state in its own format, and the index up
	// to which it goes.
	Snapshot func() (data []byte, index uint64)
}

// Ticks of the protocol.
const (
	ElectionTicks  = 16 // a follower that hears nothing for so many, and up to twice as many, stands for election
	HeartbeatTicks = 3
)

const (
	maxMessage     = 1 << 20 // bytes of entries in one message to a follower, but for a single larger entry
	maxInflight    = 64      // messages to a follower that it has not answered
	maxUncommitted = 64 << 20
)

// Group is one node's copy of a replicated log.
type Group struct {
	cfg     Config
	node    *raft.RawNode
	applied uint64
	broken  string
}

// Work is what a Group wants done.
type Work struct {
	Messages  []*pb.Message // for other nodes, at once
	Append    *Append       // nil: nothing
	Committed []*pb.Entry   // to be applied in this order
	done      []*pb.Message
}

// Append is for the journal, behind everything that came before of this group.
type Append struct {
	Hard      *Hard        // nil: as it was, or nothing that must be durable
	Snapshot  *pb.Snapshot // nil: none; else instead of everything before it
	Entries   []*pb.Entry
	Responses []*pb.Message // once all that and everything before it is durable
}

// New returns a Group that goes on where its Log ends.
func New(cfg Config) (*Group, error) {
	log := cfg.Log
	log.Hard.Commit = min(max(log.Hard.Commit, cfg.Applied), log.Last())
	node, err := raft.NewRawNode(&raft.Config{
		ID:                        cfg.Node,
		ElectionTick:              ElectionTicks,
		HeartbeatTick:             HeartbeatTicks,
		Storage:                   storage{log: log, snapshot: cfg.Snapshot},
		Applied:                   cfg.Applied,
		AsyncStorageWrites:        true,
		MaxSizePerMsg:             maxMessage,
		MaxCommittedSizePerReady:  maxMessage,
		MaxUncommittedEntriesSize: maxUncommitted,
		MaxInflightMsgs:           maxInflight,
		CheckQuorum:               true,
		PreVote:                   true,
		Logger:                    logger{},
		DisableProposalForwarding: true,
		StepDownOnRemoval:         true,
	})
	if err != nil {
		return nil, fmt.Errorf("group %d: %w", cfg.Group, err)
	}
	return &Group{cfg: cfg, node: node, applied: cfg.Applied}, nil
}

// Broken says why the Group can no longer go on: what it has and what another
// node says cannot both be true. Empty: it can.
func (g *Group) Broken() string { return g.broken }

// guard runs what may find that the log is broken: raft says so to its logger,
// or where it has none with a text of its own.
func (g *Group) guard(do func()) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case violation:
			g.broken = string(p)
		case string:
			g.broken = p
		default:
			panic(p)
		}
	}()
	if g.broken == "" {
		do()
	}
}

// Tick lets one tick pass.
func (g *Group) Tick() { g.guard(g.node.Tick) }

// Campaign stands for election at once.
func (g *Group) Campaign() { g.guard(func() { _ = g.node.Campaign() }) }

// Step takes a message of another node. What is out of place is dropped.
func (g *Group) Step(m *pb.Message) { g.guard(func() { _ = g.node.Step(m) }) }

// Respond takes one of an Append's Responses that is for this node.
func (g *Group) Respond(m *pb.Message) { g.guard(func() { _ = g.node.Step(m) }) }

// Propose hands in an entry; false: not now.
func (g *Group) Propose(data []byte) (ok bool) {
	g.guard(func() { ok = g.node.Propose(data) == nil })
	return ok
}

// ProposeConf hands in a change of the members; false: not now.
func (g *Group) ProposeConf(change pb.ConfChangeType, node uint64) (ok bool) {
	g.guard(func() {
		ok = g.node.ProposeConfChange(&pb.ConfChangeV2{
			Changes: []*pb.ConfChangeSingle{{Type: change.Enum(), NodeId: new(node)}},
		}) == nil
	})
	return ok
}

// Transfer asks another node to take over.
func (g *Group) Transfer(to uint64) { g.guard(func() { g.node.TransferLeader(to) }) }

// SnapshotFailed reports that a node will not get the snapshot sent to it.
func (g *Group) SnapshotFailed(node uint64) {
	g.guard(func() { g.node.ReportSnapshot(node, raft.SnapshotFailure) })
}

// Pending reports that Next has something.
func (g *Group) Pending() bool { return g.broken == "" && g.node.HasReady() }

// Next returns the next thing to do. Applied must be called before it is asked
// again.
func (g *Group) Next() (w Work, ok bool) {
	g.guard(func() {
		if ok = g.node.HasReady(); ok {
			w = g.work(g.node.Ready())
		}
	})
	return w, ok && g.broken == ""
}

func (g *Group) work(rd raft.Ready) Work {
	var w Work
	for _, m := range rd.Messages {
		switch m.GetTo() {
		case raft.LocalAppendThread:
			w.Append = g.append(m)
		case raft.LocalApplyThread:
			w.Committed, w.done = m.GetEntries(), m.GetResponses()
		default:
			w.Messages = append(w.Messages, m)
		}
	}
	return w
}

func (g *Group) append(m *pb.Message) *Append {
	a := &Append{Entries: m.GetEntries(), Responses: m.GetResponses()}
	log := g.cfg.Log
	if m.Term != nil {
		hard := Hard{Term: m.GetTerm(), Vote: m.GetVote(), Commit: m.GetCommit()}
		if hard.Term != log.Hard.Term || hard.Vote != log.Hard.Vote {
			a.Hard = &hard
		}
		log.Hard = hard
	}
	if !raft.IsEmptySnap(m.GetSnapshot()) {
		a.Snapshot = m.GetSnapshot()
	}
	return a
}

// Applied reports that a Work's Committed are applied.
func (g *Group) Applied(w Work) {
	if n := len(w.Committed); n > 0 {
		g.applied = w.Committed[n-1].GetIndex()
	}
	for _, m := range w.done {
		g.Respond(m)
	}
}

// Installed reports that the state goes up to a snapshot's index now.
func (g *Group) Installed(s *pb.Snapshot) {
	g.applied = s.GetMetadata().GetIndex()
	g.cfg.Log.Conf = ConfOf(s.GetMetadata().GetConfState())
}

// Decode returns what a committed entry says.
func (g *Group) Decode(e *pb.Entry) (Entry, error) { return g.cfg.Log.Entry(e.GetIndex()) }

// ApplyConf applies a change of the members.
func (g *Group) ApplyConf(e Entry) error {
	change, err := decodeConf(e.Payload)
	if err == nil {
		err = g.cfg.Log.ApplyConf(e)
	}
	if err != nil {
		return fmt.Errorf("group %d, entry %d: %w", g.cfg.Group, e.Index, err)
	}
	g.guard(func() {
		if got := ConfOf(g.node.ApplyConfChange(change)); !got.equal(g.cfg.Log.Conf) {
			panic(violation(fmt.Sprintf("the members are %+v for raft and %+v in the journal", got, g.cfg.Log.Conf)))
		}
	})
	return nil
}

// Status is where a Group stands.
type Status struct {
	Term    uint64
	Vote    uint64 // node that this one votes for in Term; 0: none yet
	Lead    uint64 // 0: none known
	Leader  bool   // this node
	Elects  bool   // it stands for election
	Learner bool
	Commit  uint64
	Applied uint64
	Last    uint64 // entry with a place in the journal
	Moving  bool   // the lead is being handed over
}

// Status returns where the Group stands.
func (g *Group) Status() Status {
	s := g.node.BasicStatus()
	learner := false
	for _, id := range g.cfg.Log.Conf.Learners {
		learner = learner || id == g.cfg.Node
	}
	return Status{
		Term: s.GetTerm(), Vote: s.GetVote(), Lead: s.Lead, Leader: s.RaftState == raft.StateLeader,
		Elects:  s.RaftState == raft.StateCandidate || s.RaftState == raft.StatePreCandidate,
		Learner: learner, Commit: s.GetCommit(), Applied: g.applied, Last: g.cfg.Log.Last(),
		Moving: s.LeadTransferee != 0,
	}
}

// Peer is how far another node has come, as its leader knows.
type Peer struct {
	Node    uint64
	Match   uint64
	Learner bool
	Behind  bool // it is being sent a snapshot
}

// Peers returns how far the other nodes have come, in the order of their ids;
// only the leader knows.
func (g *Group) Peers() []Peer {
	var list []Peer
	for _, id := range g.memberIDs() {
		if id != g.cfg.Node {
			list = append(list, Peer{Node: id})
		}
	}
	g.node.WithProgress(g.fill(list))
	return list
}

// logger drops what raft has to tell, but for what ends it.
type logger struct{}

// violation is what raft says when its assumptions do not hold.
type violation string

func (logger) Debug(...any)            {}
func (logger) Debugf(string, ...any)   {}
func (logger) Info(...any)             {}
func (logger) Infof(string, ...any)    {}
func (logger) Warning(...any)          {}
func (logger) Warningf(string, ...any) {}
func (logger) Error(...any)            {}
func (logger) Errorf(string, ...any)   {}

func (logger) Fatal(v ...any)                 { panic(violation(fmt.Sprint(v...))) }
func (logger) Fatalf(format string, v ...any) { panic(violation(fmt.Sprintf(format, v...))) }
func (logger) Panic(v ...any)                 { panic(violation(fmt.Sprint(v...))) }
func (logger) Panicf(format string, v ...any) { panic(violation(fmt.Sprintf(format, v...))) }
