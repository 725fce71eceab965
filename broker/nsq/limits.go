package nsq

// Limits bounds what a session accepts. Sizes are bytes, names ending in MS
// milliseconds. Every field must be set; DefaultLimits sets NSQ's own.
type Limits struct {
	MaxMessageSize int64 // one message body
	MaxBodySize    int64 // block of IDENTIFY, AUTH or MPUB
	MaxReady       int64 // RDY count
	MaxDeferMS     int64 // DPUB: refused above
	MaxRequeueMS   int64 // REQ: clamped

	MsgTimeoutMS    int64 // lease of a client that names none
	MaxMsgTimeoutMS int64 // longest lease a client may name, and the most that TOUCH extends one to

	HeartbeatMS    int64 // interval for a client that names none
	MaxHeartbeatMS int64

	OutputBufferSize         int64 // for a client that names none
	MaxOutputBufferSize      int64
	OutputBufferTimeoutMS    int64 // for a client that names none
	MaxOutputBufferTimeoutMS int64

	Version string // what the server says it is in the answer to IDENTIFY
}

// Lower ends of the ranges of IDENTIFY; NSQ has them fixed too.
const (
	minHeartbeatMS           = 1000
	minMsgTimeoutMS          = 1000
	minOutputBufferSize      = 64
	minOutputBufferTimeoutMS = 25
)

// DefaultLimits returns NSQ's defaults, without a Version.
func DefaultLimits() Limits {
	return Limits{
		MaxMessageSize:           1 << 20,
		MaxBodySize:              5 << 20,
		MaxReady:                 2500,
		MaxDeferMS:               60 * 60 * 1000,
		MaxRequeueMS:             60 * 60 * 1000,
		MsgTimeoutMS:             60 * 1000,
		MaxMsgTimeoutMS:          15 * 60 * 1000,
		HeartbeatMS:              30 * 1000,
		MaxHeartbeatMS:           60 * 1000,
		OutputBufferSize:         16 << 10,
		MaxOutputBufferSize:      64 << 10,
		OutputBufferTimeoutMS:    250,
		MaxOutputBufferTimeoutMS: 30 * 1000,
	}
}
