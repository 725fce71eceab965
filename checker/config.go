package checker

// Order is the scope in which a target promises to keep publish order.
type Order string

// Values of an Order.
const (
	OrderNone      Order = "none"
	OrderPartition Order = "partition"
)

// Stream is one channel (or consumer group) of one topic, as the plan
// declares it.
type Stream struct {
	Topic     string
	Channel   string
	Consumers []string // names of the processes that share it; with more than one no order is promised
}

// Config is what the checker has to know of the plan. Times are nanoseconds.
type Config struct {
	Streams   []Stream
	Producers []string // names of the producer processes

	Order       Order          // the target's promise for one partition read by one consumer
	AtMostOnce  bool           // producers never retry: one position per id at most
	MaxTries    int            // sends of one id at most, ≥ 1
	MinSize     int            // smallest payload the plan asks for, in bytes
	MaxSize     int            // largest payload; 0: the plan has no size menu and none needs to be met
	MsgTimeout  int64          // lease of a delivery: after it a second delivery is explained; 0: leases never expire
	Recovery    int64          // liveness bound: a send or message of a quiet window must succeed within it; 0: not known, liveness is not judged
	FaultKinds  []string       // kinds of fault in the plan, each once
	Ready       map[string]int // RDY of each consumer process, by its name; 0: not known
	Required    []string       // slugs that count; empty: the core seven as far as they apply, and any other that fails
	Claims      []string       // reachability claims that must be reached; names of claims.go
	WarmUpFloor int64          // acks needed before the chaos phase
	// Unpromised names properties the target does not promise, with the reason
	// shown to people; they are judged not-applicable.
	Unpromised map[string]string
}
