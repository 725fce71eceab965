package core

// Time is what a driver hands to every Step: two clocks, in nanoseconds.
type Time struct {
	Mono int64 // never goes back while the node runs; drives leases, heartbeats and other deadlines
	Wall int64 // since the Unix epoch; may jump either way; only stamps messages and bridges restarts
}

// ConnID names a client connection. The driver chooses it and never uses one
// twice in an incarnation.
type ConnID uint64

// RequestID names a Request (an HTTP call). The driver chooses it.
type RequestID uint64

// EventKind says which fields of an Event are set.
type EventKind uint8

// The events a driver reports.
const (
	EvOpened  EventKind = iota + 1 // Conn was accepted; Text is the remote address
	EvData                         // Conn sent Data; Data is the driver's again after Step
	EvSent                         // N more bytes of Conn's FxSend effects were taken by the network
	EvClosed                       // Conn is gone, by the peer, by an error or after an FxClose
	EvTimer                        // NextDeadline has passed
	EvCreated                      // FxCreate or FxRecycle Token is done, or FxCreate failed (Text is the reason)
	EvSynced                       // FxSync Token is done, or failed: every earlier FxWrite of that file is durable, or not
	EvRead                         // FxRead Token is done (Data), or failed
	EvRequest                      // Request arrived
	EvTold                         // Data arrived from another node of the cluster, as one FxTell there sent it; it may be lost, late, double or out of order
	EvStop                         // a graceful stop was asked for: no new connections follow
)

// Event is one input of the core.
type Event struct {
	Kind    EventKind
	Conn    ConnID
	Token   uint64
	N       int
	Data    []byte
	Failed  bool
	Text    string
	Request *Request
}

// Member is one node of a cluster.
type Member struct {
	ID      uint64 // from 1; used once: a node that lost its data comes back under a new one
	Address string // where other nodes reach it; the driver's to understand
	Learner bool   // it gets everything and has no vote yet
}

// EffectKind says which fields of an Effect are set.
type EffectKind uint8

// The effects a driver carries out. Disk effects (create, recycle, write, sync,
// remove) are carried out in the order they were issued, one after another;
// all others at once.
const (
	FxSend    EffectKind = iota + 1 // queue Data on Conn; the driver owns Data
	FxClose                         // close Conn after what is queued on it was sent
	FxCreate                        // make journal file File of N bytes, zero-filled, sync it and its directory; answer EvCreated
	FxRecycle                       // make journal file From, which nothing needs, file File with Data at its start, never both and never without Data; answer EvCreated
	FxWrite                         // write Data at Offset of File
	FxSync                          // make File's writes durable; answer EvSynced
	FxRemove                        // delete File
	FxRead                          // read N bytes at Offset of File; answer EvRead
	FxReply                         // answer Request with Reply
	FxTell                          // send Data to node Node, which is reached at address Text; it may be dropped, and must be when it would have to wait for long
	FxLog                           // Text is one line for the operator; Level tells its weight
	FxExit                          // the process must end now, non-zero, writing and acknowledging nothing more; Text is the reason
	FxStopped                       // the graceful stop is complete
)

// Level is the weight of a log line.
type Level uint8

// Levels of FxLog.
const (
	Info Level = iota
	Warn
	Error
)

// Effect is one output of the core.
type Effect struct {
	Kind    EffectKind
	Conn    ConnID
	Token   uint64
	File    uint64 // journal file sequence number
	From    uint64 // FxRecycle: that of the file so far
	Offset  int64
	N       int64
	Data    []byte
	Level   Level
	Text    string
	Request RequestID
	Reply   *Reply
	Node    uint64
}

// Effects collects what one or more Steps want done. Drivers reuse it.
type Effects struct {
	List   []Effect
	Points []Point // passed, in order; for who wants to know, there is nothing to carry out
	Spans  []Span  // measured; likewise
}

// Reset empties the lists and keeps their memory.
func (fx *Effects) Reset() { fx.List, fx.Points, fx.Spans = fx.List[:0], fx.Points[:0], fx.Spans[:0] }

func (fx *Effects) add(e Effect) { fx.List = append(fx.List, e) }

// RequestKind is the verb of a Request.
type RequestKind uint8

// Verbs of the HTTP interface. The driver has parsed and checked the syntax
// of the call; the core checks names and limits.
const (
	ReqPublish       RequestKind = iota + 1 // Topic, Bodies (all or none), DeferMS
	ReqCreateTopic                          // Topic
	ReqCreateChannel                        // Topic, Channel
	ReqStats                                // Topic and Channel filter; empty: all
	ReqRead                                 // Topic, Offset, Count: stored messages up to the commit point, from any node
	ReqTransfer                             // Group, Node: that node shall lead it. Group 0 is the metadata; AllGroups: every one
	ReqDrain                                // Node leads nothing any more, and is to be stopped; Undo: it may lead again
	ReqReplace                              // Node is replaced by NewNode at Address, which was started to join; NewNode 0: Node is removed
)

// AllGroups as Request.Group means every group.
const AllGroups = 1<<32 - 1

// Request is a call from outside the NSQ connections.
type Request struct {
	ID      RequestID
	Kind    RequestKind
	Topic   string
	Channel string
	Bodies  [][]byte
	DeferMS int64
	Offset  uint64 // of the first message wanted
	Count   int    // messages wanted at most
	Group   uint32
	Node    uint64
	NewNode uint64
	Address string
	Undo    bool
}

// Reply answers a Request.
type Reply struct {
	Code  string // empty: done; else an NSQ HTTP error code such as TOPIC_NOT_FOUND
	Text  string // for people, with a Code
	Stats *Stats
	Read  []StoredMessage // in order; messages that every channel has finished are left out
}

// StoredMessage is one message as it is stored.
type StoredMessage struct {
	Offset uint64
	Log    int64 // log time of its publish, ns
	Body   []byte
}

// QuorumState is what a node can say of one group.
type QuorumState uint8

// The quorum states; the table of their transitions is in quorum.go.
const (
	Healthy  QuorumState = iota // a leader, and every voter keeps up
	Degraded                    // a leader and a majority, but some voter does not keep up
	ReadOnly                    // no majority: publishes are refused, what is committed can be read
	Electing                    // no leader known, for less time than it takes to give up on one
)

// String returns the state's name as /stats and the logs give it.
func (q QuorumState) String() string {
	switch q {
	case Healthy:
		return "healthy"
	case Degraded:
		return "degraded"
	case ReadOnly:
		return "read-only"
	default:
		return "electing"
	}
}

// Role is what a node is in a group.
type Role uint8

// The roles.
const (
	Follower Role = iota
	Candidate
	Leader
	LearnerRole
)

// String returns the role's name as /stats gives it.
func (r Role) String() string {
	switch r {
	case Candidate:
		return "candidate"
	case Leader:
		return "leader"
	case LearnerRole:
		return "learner"
	default:
		return "follower"
	}
}

// GroupStats is what a node knows of one group.
type GroupStats struct {
	Group   uint32 // 0: the metadata
	Role    Role
	State   QuorumState
	Term    uint64
	Lead    uint64 // node that leads it; 0: none known
	First   uint64 // index of the first entry in memory
	Commit  uint64
	Applied uint64
	Last    uint64
	Peers   []PeerStats // only its leader knows
}

// PeerStats is how far another node has come in a group.
type PeerStats struct {
	Node    uint64
	Match   uint64 // index up to which it has everything on disk
	Active  bool   // heard of within an election timeout
	Learner bool
}

// Stats is one consistent snapshot of the node.
type Stats struct {
	Health     string // "OK", or why publishes are refused or soon may be
	StartWall  int64  // ns since the epoch
	Node       uint64
	Cluster    []Member     // as the metadata say
	Draining   []uint64     // nodes that are not to lead
	Groups     []GroupStats // by group, 0 first
	Quarantine string       // why this node takes part in nothing and how to replace it; empty: it does
	Topics     []TopicStats
	Producers  []ClientStats
}

// TopicStats counts one topic. Depth is what no channel has taken yet when
// there is no channel; with channels the backlog is theirs.
type TopicStats struct {
	Name         string
	Group        uint32 // that its partition is in
	Leads        bool   // this node leads that group: only then InFlight and Deferred of its channels are known
	Channels     []ChannelStats
	Depth        int64
	MessageCount int64 // publishes since the topic was created, over restarts
	MessageBytes int64
}

// ChannelStats counts one channel. Depth excludes what is in flight or
// deferred, as in NSQ.
type ChannelStats struct {
	Name          string
	Depth         int64
	InFlight      int64
	Deferred      int64
	MessageCount  int64
	RequeueCount  int64
	TimeoutCount  int64
	FinishedBelow int64 // ack floor: every offset below it is finished
	Clients       []ClientStats
}

// ClientStats describes one connection.
type ClientStats struct {
	ClientID, Hostname, UserAgent, RemoteAddress string
	State                                        int // NSQ's numbers: 0 init, 3 subscribed, 4 closing
	Ready, InFlight                              int64
	MessageCount, FinishCount, RequeueCount      int64
	ConnectedWall                                int64
}
