package core

import (
	"fmt"

	"pestle/broker/nsq"
	"pestle/broker/plant"
)

const millisecond = 1_000_000 // ns

// Durability says what a proposal waits for before it is committed.
type Durability uint8

// The durabilities. Memory is the control that a test of durability must
// catch: a crash loses what was acknowledged since the last MiB was written.
const (
	Fsync  Durability = iota // the sync of its batch
	Memory                   // nothing: bytes gather in memory and are written a MiB at a time, or at a graceful stop
)

// Config is fixed for the life of a node. Zero fields take the defaults named.
type Config struct {
	Limits     nsq.Limits // nsq.DefaultLimits
	Durability Durability
	FileSize   int64    // of a journal file in bytes; 16 MiB. An entry or checkpoint that is larger makes its file grow
	CacheBytes int64    // bodies kept in memory; 64 MiB. Others are read back from the journal
	DataGroups uint32   // groups that partitions of a new cluster are spread over; 1
	Plant      plant.ID // bug to be planted; none
	Salt       uint64   // random, another in each life of a node: what a client must not guess, see package journal

	Node     uint64   // this node's id; 1
	Cluster  []Member // who a new cluster begins with, this node among them; this node alone. Without effect once the journal has a membership
	Join     bool     // a node with an empty journal waits to be added to a running cluster (ReqReplace) instead of beginning with Cluster, which says where the others are
	Tick     int64    // ns between two ticks of raft; 25 ms. No leader is missed after 16 to 32 of them
	LogBytes int64    // entries kept in memory for followers that lag, per group; 8 MiB. Who lags further gets a snapshot
}

const (
	defaultFileSize   = 16 << 20
	defaultCacheBytes = 64 << 20
	defaultLogBytes   = 8 << 20
)

func (cfg Config) withDefaults() Config {
	if cfg.Limits == (nsq.Limits{}) {
		cfg.Limits = nsq.DefaultLimits()
	}
	if cfg.FileSize == 0 {
		cfg.FileSize = defaultFileSize
	}
	if cfg.CacheBytes == 0 {
		cfg.CacheBytes = defaultCacheBytes
	}
	if cfg.DataGroups == 0 {
		cfg.DataGroups = 1
	}
	if cfg.Node == 0 {
		cfg.Node = 1
	}
	if len(cfg.Cluster) == 0 {
		cfg.Cluster = []Member{{ID: cfg.Node}}
	}
	if cfg.Tick == 0 {
		cfg.Tick = defaultTick
	}
	if cfg.LogBytes == 0 {
		cfg.LogBytes = defaultLogBytes
	}
	return cfg
}

// Core is one node's broker. It comes out of a Recovery.
type Core struct {
	cfg Config

	now Time // of the step that is being taken

	// Replicated state, changed only by what is committed.
	meta   *metadata
	groups []*dataGroup // group g is groups[g-1]

	// The logs it comes from.
	seats  []*seat // by group
	queue  []placing
	held   []withheld
	queued int64 // bytes of the entries in queue that have no place
	handed int64 // bytes of entries that went to a group in this step and are not in queue yet
	writer *writer
	mover  mover
	cache  cache

	// The other nodes.
	identity   identity
	bornIn     uint64          // batch that says that the node is born; 0: none on its way
	witnesses  map[uint64]bool // nodes that have remembered this one, before it is born
	addresses  map[uint64]string
	heard      map[uint64]uint64 // by node: tick at which it was heard of last
	quarantine string            // why the node takes part in nothing; empty: it does
	out        map[uint64][]byte
	ticker     deadline
	ticks      uint64
	fetchers   map[fetcher]int // ticks since a node that is sent a snapshot was heard of
	peerReads  map[uint64]fetchRead
	wantsFile  bool // what comes with no entry, bodies of a snapshot or who was met, waits for the next journal file

	// This node's own; a restart begins without it.
	conns    map[ConnID]*conn
	channels map[uint32]*channel   // by id
	works    map[string]*topicWork // by topic: what waits for it to be made
	claims   map[uint64]*operation // by ticket: publishes that wait for their commit
	reads    map[uint64]*item      // by token: deliveries that wait for their body
	awake    []*channel            // may have something to deliver
	touched  []*conn               // may have output
	resumed  []*conn               // commands may wait behind a SUB that was answered, or output that was read
	early    []*Request            // came before the node was ready
	curious  []*Request            // asked for statistics in this step

	deadlines deadlines
	lastToken uint64
	stopping  stopPhase
	patience  deadline // of a stop
	hurry     bool     // it has passed
	exited    bool
	ready     bool

	logBase   int64 // the node's log time at monoBase
	monoBase  int64
	startWall int64
}

// stopPhase is how far a graceful stop has come.
type stopPhase uint8

const (
	serving  stopPhase = iota
	draining           // no publishes, no deliveries; ledgers and proposals are on their way
	closing            // the last mark is on its way
	stopped
)

// Ready reports that recovery is complete and clients are served.
func (c *Core) Ready() bool { return c.ready }

// NextDeadline returns the monotonic time at which the core wants to be
// stepped with EvTimer, if nothing else happens before; false: never. Ask
// again after each Step.
func (c *Core) NextDeadline() (mono int64, ok bool) { return c.deadlines.next() }

// logTime is the node's own clock that journal batches are stamped with: it
// never goes back, and counts on over a restart by as much wall time as has
// passed, if it has. Each group has one of its own, see groupClock.
func (c *Core) logTime(now Time) int64 { return c.logBase + now.Mono - c.monoBase }

func (c *Core) token() uint64 {
	c.lastToken++
	return c.lastToken
}

func (c *Core) group(id uint32) *dataGroup {
	for uint32(len(c.groups)) < id {
		c.groups = append(c.groups, &dataGroup{keep: c})
	}
	return c.groups[id-1]
}

// partitionOf returns the partition of a topic, nil when it is not open yet.
func (c *Core) partitionOf(t *topic) *partition { return c.group(t.group).partition(t.partition) }

// stored and forgot make the core the keeper of its groups.
func (c *Core) stored(m *message, body []byte) {
	c.writer.stored(m)
	if c.ready && body != nil {
		c.cache.add(m, body, c.writer.durable)
	}
}

func (c *Core) forgot(m *message) {
	c.writer.forgot(m)
	c.cache.drop(m)
}

// log adds one line for the operator.
func (fx *Effects) log(level Level, format string, args ...any) {
	fx.add(Effect{Kind: FxLog, Level: level, Text: fmt.Sprintf(format, args...)})
}

// exit ends the node: nothing is done after it.
func (c *Core) exit(fx *Effects, reason string) {
	c.exited = true
	fx.add(Effect{Kind: FxExit, Text: reason})
}
