//det:ring0

package scenarios

import "pestle/faults"

// The bounds of a plan; the loader's key table and Plan.Validate share them.
// Times are nanoseconds.
const (
	microsecond = int64(1_000)
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond
	minute      = 60 * second
	hour        = 60 * minute

	maxName = 64 // of a scenario, topic or channel: NSQ's limit

	maxProducers = 64
	maxConsumers = 64 // of one channel
	maxChannels  = 16
	maxRate      = 10_000  // messages/s of one producer
	maxPending   = 1000    // open messages of one producer
	maxOnly      = 10_000  // ranges of counters that one producer sends
	maxCounter   = 1 << 32 // of a message: more than the longest run at the highest rate sends
	maxPayload   = 900_000 // bytes: with the envelope around it under NSQ's default --max-msg-size of 1 MiB
	maxInFlight  = 2500    // NSQ's default --max-rdy-count
	maxTries     = 100
	maxFlags     = 64
	maxFlag      = 256 // bytes of one flag

	minTimeout = 10 * millisecond
	maxTimeout = minute
	minBackoff = millisecond
	maxBackoff = 10 * second
	// maxRequeuePermille leaves enough first deliveries that are finished.
	maxRequeuePermille = 500
	maxRequeueDelay    = minute
	maxDefer           = 10 * minute // within NSQ's default --max-req-timeout
	// minMsgTimeout is the shortest lease that NSQ grants.
	minMsgTimeout = second
	maxMsgTimeout = 15 * minute

	maxWarmUpAcks = 1_000_000
	minWarmUp     = second
	maxWarmUp     = 10 * minute
	minChaos      = second
	maxChaos      = 24 * hour
	minQuiet      = second
	minRecovery   = 100 * millisecond
	maxRecovery   = 10 * minute
	minDrain      = second
	maxDrain      = hour

	// minFileSize holds a few messages; smaller files would be made without end.
	minFileSize = 16 << 10
	maxFileSize = 1 << 30
	maxCache    = 1 << 30
	minLog      = 1 << 10 // a few entries
	maxLog      = 1 << 30
	maxLatency  = second // of the network without faults

	maxFaultLines = 200
	maxTimes      = faults.MaxFaults // of one fault line
	maxAfterCount = 1_000_000_000
)
