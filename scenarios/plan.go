//det:ring0

package scenarios

import "pestle/faults"

// Plan is a fully expanded run: every workload choice and fault, as data. Its
// canonical JSON (sorted keys, integers only) names it by hash. Times are
// nanoseconds.
type Plan struct {
	Schema   int    `json:"schema"`   // PlanSchema
	Scenario string `json:"scenario"` // name of the scenario
	Seed     uint64 `json:"seed"`

	Target   Target         `json:"target"`
	Network  *Network       `json:"network,omitempty"` // sim; nil, and in other worlds: the world's own
	Workload Workload       `json:"workload"`
	Phases   Phases         `json:"phases"`
	Faults   []faults.Fault `json:"faults"` // by Ref

	Properties []string `json:"properties"` // required slugs
	Claims     []string `json:"claims"`     // required reachability claims
}

// PlanSchema is the version of the plan's format.
const PlanSchema = 1

// Target is the system under test.
type Target struct {
	Kind       string   `json:"kind"`                 // "pestle" or "nsq"
	Nodes      int      `json:"nodes,omitempty"`      // pestle: brokers in the cluster, broker-1 to broker-<nodes>, whose node ids are these numbers; 0 means 1
	Durability string   `json:"durability,omitempty"` // pestle: "fsync" or "memory"
	Address    string   `json:"address,omitempty"`    // nsq: TCP host:port of a running nsqd that Pestle must not start; such a target gets no faults
	HTTP       string   `json:"http,omitempty"`       // nsq: HTTP host:port of it
	Flags      []string `json:"flags,omitempty"`      // extra flags for the target's program
	Disk       string   `json:"disk,omitempty"`       // sim and docker: "" an honest disk, DiskSlow or DiskLying
	Plant      string   `json:"plant,omitempty"`      // pestle: id of the planted bug that its broker has; "" none
	Knobs      *Knobs   `json:"knobs,omitempty"`      // pestle; nil: the broker's own
}

// DiskSlow is an honest disk that takes 20 ms and more for each sync, as one that
// turns does.
const DiskSlow = "slow"

// DiskLying is the disk that acknowledges syncs it did not do: a control that
// must fail, like durability=memory.
const DiskLying = "lying"

// Knobs are sizes of the broker that change when things happen and never what
// it promises. Bytes.
type Knobs struct {
	FileSize int64 `json:"file_size"`     // of a journal file
	Cache    int64 `json:"cache"`         // of bodies in memory; others are read back
	Log      int64 `json:"log,omitempty"` // of entries in memory for brokers that lag, per group; who lags further gets a snapshot; 0: the broker's own
}

// Network is what the links of the run are like without any fault. Each packet
// takes Latency, and on average Spread more, one way.
type Network struct {
	Latency   int64 `json:"latency"`
	Spread    int64 `json:"spread"`    // mean of an exponential distribution
	Asymmetry int64 `json:"asymmetry"` // permille: chance of each directed link to be slower for the whole run,
	SlowerBy  int64 `json:"slower_by"` // by up to so much
}

// Workload is what the clients do.
type Workload struct {
	Topic      string `json:"topic"`
	AtMostOnce bool   `json:"at_most_once"` // producers never retry
	Tries      int    `json:"tries"`        // sends of one id at most; 1 when at most once
	Backoff    int64  `json:"backoff"`      // before the second send; doubles with each further one
	Timeout    int64  `json:"timeout"`      // of one send; after it the send is unknown
	MsgTimeout int64  `json:"msg_timeout"`  // lease the consumers ask for
	// ConsumeAfterChaos keeps the channel and its consumers from being there
	// before the drain, so that nothing is in flight, or on its way from the
	// topic to a channel, while faults are active. There is one channel then.
	ConsumeAfterChaos bool       `json:"consume_after_chaos"`
	Producers         []Producer `json:"producers"`
	Consumers         []Consumer `json:"consumers"`
}

// Producer is one producer process.
type Producer struct {
	Name     string `json:"name"`     // producer-<n>
	Interval int64  `json:"interval"` // between the starts of two messages (open loop)
	Pending  int    `json:"pending"`  // messages whose outcome is open at most; 1 keeps strict order
	MinSize  int    `json:"min_size"` // payload characters
	MaxSize  int    `json:"max_size"`
	Seed     uint64 `json:"seed"` // of the payloads and deferrals
	// Deferred publishes: so many in a thousand messages, drawn from Seed and
	// the id, each held back for a drawn time in whole ms.
	DeferPermille int64 `json:"defer_permille,omitempty"`
	DeferMin      int64 `json:"defer_min,omitempty"`
	DeferMax      int64 `json:"defer_max,omitempty"`
	// Only lists the counters sent as ranges, first and last, ascending. The
	// others have their turn and nothing is sent, so that a message keeps its
	// counter and time while its neighbours are left out. Absent: all are sent;
	// empty: none but the last one of the drain.
	Only [][2]uint64 `json:"only,omitzero"`
}

// Consumer is one consumer process.
type Consumer struct {
	Name            string `json:"name"` // consumer-<channel>-<n>
	Channel         string `json:"channel"`
	InFlight        int    `json:"in_flight"`        // RDY
	RequeuePermille int64  `json:"requeue_permille"` // first deliveries given back, drawn from Seed and the id
	RequeueDelay    int64  `json:"requeue_delay"`
	ForgetPermille  int64  `json:"forget_permille,omitempty"` // first deliveries that get no answer, drawn likewise
	Seed            uint64 `json:"seed"`
}

// Phases is the timetable.
type Phases struct {
	WarmUpAcks   int64   `json:"warm_up_acks"`   // acks before chaos may start
	WarmUpWithin int64   `json:"warm_up_within"` // else the run is inconclusive
	Chaos        int64   `json:"chaos"`          // length
	Quiet        []Quiet `json:"quiet"`          // windows without faults, since the start of chaos
	Recovery     int64   `json:"recovery"`       // liveness bound inside a quiet window
	DrainWithin  int64   `json:"drain_within"`   // the backlog must be gone by then
}

// Quiet is one quiet window, since the start of chaos.
type Quiet = faults.Window
