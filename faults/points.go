package faults

// Point is a place in the broker's code that a fault can wait for: the broker
// reports each time it passes one.
type Point struct {
	Name string
	When string // one sentence
	// Recovery tells that it is passed while the broker starts, and so while
	// the fault that ended it is not over yet.
	Recovery bool
}

// Points is the table of points. The names are those the broker reports.
func Points() []Point {
	return []Point{
		{Name: "journal-write", When: "bytes are handed to the journal file, not synced yet"},
		{Name: "journal-sync", When: "a sync of the journal is complete"},
		{Name: "ack", When: "a publish is acknowledged"},
		{Name: "delivery", When: "a message is sent to a consumer for the first time"},
		{Name: "redelivery", When: "a message is sent to a consumer again"},
		{Name: "lease-expired", When: "a delivery was neither finished nor given back in time"},
		{Name: "requeue-due", When: "the delay of a message given back is over"},
		{Name: "deferral-due", When: "the delay that a message was published with is over"},
		{Name: "consumer-lost", When: "the connection of a consumer with messages in flight is gone"},
		{Name: "ledger-written", When: "what was delivered and finished is written to the journal"},
		{Name: "file-rotated", When: "the journal goes on in a new file"},
		{Name: "file-removed", When: "a journal file that nothing needs any more is removed"},
		{Name: "file-recycled", When: "a journal file that nothing needs any more becomes the next one"},
		{Name: "body-moved", When: "a message that kept the oldest journal file was written again at the end"},
		{Name: "checkpoint-written", When: "a checkpoint of the state is written to the journal"},
		{Name: "recovery-torn-tail", When: "recovery found a torn tail and left it out", Recovery: true},
		{Name: "recovery-rewrite", When: "recovery writes again what follows the last durable mark", Recovery: true},
		{Name: "read-back", When: "a body is read back from the journal"},
		{Name: "publish-refused-full", When: "a publish is refused because the disk is full"},
		{Name: "log-trimmed", When: "the oldest entries leave memory: who lacks them gets a snapshot"},
		{Name: "members-changed", When: "a change of who is in a group is applied"},
		{Name: "tail-truncated", When: "entries that were never committed give way to a new leader's"},
		{Name: "lead-lost", When: "the node leads a group no longer"},
		{Name: "lead-gained", When: "the node leads a group, and everything before is applied"},
		{Name: "leader-known", When: "the node learns who leads a group"},
		{Name: "lead-moved", When: "a leader asks another node to take over"},
		{Name: "timeout-now", When: "a leader tells its successor to stand for election"},
		{Name: "pre-vote-asked", When: "a node asks whether it would be elected"},
		{Name: "vote-asked", When: "a node stands for election"},
		{Name: "vote-granted", When: "a vote is durable and given"},
		{Name: "longer-log-loses", When: "a node with more entries of an older term asks for a vote"},
		{Name: "append-received", When: "entries of a leader arrive"},
		{Name: "append-rejected", When: "entries of a leader do not fit what is there"},
		{Name: "forwarded", When: "a proposal goes to another node, which leads"},
		{Name: "forwarded-again", When: "it was not answered and goes again"},
		{Name: "forwarded-twice", When: "a leader gets a proposal that it has"},
		{Name: "proposed-again", When: "a proposal that an earlier leader lost goes to a new one"},
		{Name: "snapshot-sent", When: "a node that lags too far is sent a snapshot"},
		{Name: "snapshot-received", When: "a snapshot arrives, without the bodies"},
		{Name: "bodies-fetched", When: "a body for a snapshot is written to the journal"},
		{Name: "fetched-again", When: "bodies did not come and are asked for again, of another node"},
		{Name: "snapshot-installed", When: "the state of a snapshot takes the place of the node's own"},
		{Name: "snapshot-lost", When: "a node that was sent a snapshot is not heard of"},
		{Name: "node-met", When: "the node remembers another one"},
		{Name: "node-born", When: "enough nodes have remembered a new one"},
		{Name: "impostor", When: "a node shows itself under an id that belongs to another instance"},
		{Name: "quarantined", When: "a node takes part in nothing any more"},
		{Name: "read-only", When: "a node gives up on a quorum"},
		{Name: "degraded", When: "a leader sees a voter that does not keep up"},
		{Name: "electing", When: "a node knows no leader any more"},
		{Name: "healthy-again", When: "a quorum is whole again"},
		{Name: "refused-read-only", When: "a client is refused for want of a quorum; nothing was written"},
		{Name: "quorum-lost", When: "a client has waited too long; what it asked for may yet happen"},
		{Name: "consumer-sent-away", When: "a node that leads no longer closes the connection of a consumer"},
		{Name: "repair-asked", When: "a leader cannot read a message and asks another node for it"},
		{Name: "repaired", When: "it has it"},
		{Name: "learner-asked", When: "a leader asks for a new node to learn"},
		{Name: "voter-asked", When: "a learner has caught up and a leader asks for its vote"},
		{Name: "removal-asked", When: "a leader asks for a replaced node to be let go"},
	}
}

// FindPoint returns the point of that name.
func FindPoint(name string) (Point, bool) {
	for _, p := range Points() {
		if p.Name == name {
			return p, true
		}
	}
	return Point{}, false
}
