package core

// Point is a place in the core that a fault can wait for. Steps report each
// time they pass one in Effects.Points; nothing else follows from it.
type Point uint8

// The points; String says when each is passed.
const (
	PointJournalWrite Point = iota
	PointJournalSync
	PointAck
	PointDelivery
	PointRedelivery
	PointLeaseExpired
	PointRequeueDue
	PointDeferralDue
	PointConsumerLost
	PointLedgerWritten
	PointFileRotated
	PointFileRemoved
	PointFileRecycled
	PointBodyMoved
	PointCheckpointWritten
	PointRecoveryTornTail
	PointRecoveryRewrite
	PointReadBack
	PointPublishRefusedFull
	PointLogTrimmed
	PointMembersChanged
	PointTailTruncated
	PointLeadLost
	PointLeadGained
	PointLeaderKnown
	PointLeadMoved
	PointTimeoutNow
	PointPreVoteAsked
	PointVoteAsked
	PointVoteGranted
	PointLongerLogLoses
	PointAppendReceived
	PointAppendRejected
	PointForwarded
	PointForwardedAgain
	PointForwardedTwice
	PointProposedAgain
	PointSnapshotSent
	PointSnapshotReceived
	PointBodiesFetched
	PointFetchedAgain
	PointSnapshotInstalled
	PointSnapshotLost
	PointNodeMet
	PointNodeBorn
	PointImpostor
	PointQuarantined
	PointReadOnly
	PointDegraded
	PointElecting
	PointHealthyAgain
	PointRefusedReadOnly
	PointQuorumLost
	PointConsumerSentAway
	PointRepairAsked
	PointRepaired
	PointLearnerAsked
	PointVoterAsked
	PointRemovalAsked
	PointCount // how many there are
)

// String returns the point's name, which stays.
func (p Point) String() string {
	switch p {
	case PointJournalWrite: // bytes go to the journal file, not synced yet
		return "journal-write"
	case PointJournalSync: // a sync of the journal is complete
		return "journal-sync"
	case PointAck: // a publish is acknowledged
		return "ack"
	case PointDelivery: // a message is sent to a consumer for the first time
		return "delivery"
	case PointRedelivery: // a message is sent to a consumer again
		return "redelivery"
	case PointLeaseExpired: // a delivery was neither finished nor given back in time
		return "lease-expired"
	case PointRequeueDue: // the delay of a message given back is over
		return "requeue-due"
	case PointDeferralDue: // the delay that a message was published with is over
		return "deferral-due"
	case PointConsumerLost: // the connection of a consumer with messages in flight is gone
		return "consumer-lost"
	case PointLedgerWritten: // a ledger entry is committed
		return "ledger-written"
	case PointFileRotated: // the journal goes on in a new file
		return "file-rotated"
	case PointFileRemoved: // the oldest journal file is removed
		return "file-removed"
	case PointFileRecycled: // the oldest journal file becomes the next one
		return "file-recycled"
	case PointBodyMoved: // a message that kept the oldest journal file is in another one
		return "body-moved"
	case PointCheckpointWritten: // the batch that a file begins with goes to it
		return "checkpoint-written"
	case PointRecoveryTornTail: // recovery found a torn tail and cuts it off
		return "recovery-torn-tail"
	case PointRecoveryRewrite: // recovery writes again what may not be durable
		return "recovery-rewrite"
	case PointReadBack: // a body was read back from the journal
		return "read-back"
	case PointPublishRefusedFull: // a publish is refused because the disk is full
		return "publish-refused-full"
	case PointLogTrimmed: // the oldest entries leave memory: who lacks them gets a snapshot
		return "log-trimmed"
	case PointMembersChanged: // a change of who is in a group is applied
		return "members-changed"
	case PointTailTruncated: // entries that were never committed give way to a new leader's
		return "tail-truncated"
	case PointLeadLost: // the node leads a group no longer
		return "lead-lost"
	case PointLeadGained: // the node leads a group, and everything before is applied
		return "lead-gained"
	case PointLeaderKnown: // the node learns who leads a group
		return "leader-known"
	case PointLeadMoved: // a leader asks another node to take over
		return "lead-moved"
	case PointTimeoutNow: // a leader tells its successor to stand for election
		return "timeout-now"
	case PointPreVoteAsked: // a node asks whether it would be elected
		return "pre-vote-asked"
	case PointVoteAsked: // a node stands for election
		return "vote-asked"
	case PointVoteGranted: // a vote is durable and given
		return "vote-granted"
	case PointLongerLogLoses: // a node with more entries of an older term asks for a vote
		return "longer-log-loses"
	case PointAppendReceived: // entries of a leader arrive
		return "append-received"
	case PointAppendRejected: // entries of a leader do not fit what is there
		return "append-rejected"
	case PointForwarded: // a proposal goes to another node, which leads
		return "forwarded"
	case PointForwardedAgain: // it was not answered and goes again
		return "forwarded-again"
	case PointForwardedTwice: // a leader gets a proposal that it has
		return "forwarded-twice"
	case PointProposedAgain: // a proposal that an earlier leader lost goes to a new one
		return "proposed-again"
	case PointSnapshotSent: // a node that lags too far is sent a snapshot
		return "snapshot-sent"
	case PointSnapshotReceived: // a snapshot arrives, without the bodies
		return "snapshot-received"
	case PointBodiesFetched: // a body for a snapshot is written to the journal
		return "bodies-fetched"
	case PointFetchedAgain: // bodies did not come and are asked for again, of another node
		return "fetched-again"
	case PointSnapshotInstalled: // the state of a snapshot takes the place of the node's own
		return "snapshot-installed"
	case PointSnapshotLost: // a node that was sent a snapshot is not heard of
		return "snapshot-lost"
	case PointNodeMet: // the node remembers another one
		return "node-met"
	case PointNodeBorn: // enough nodes have remembered a new one
		return "node-born"
	case PointImpostor: // a node shows itself under an id that belongs to another instance
		return "impostor"
	case PointQuarantined: // a node takes part in nothing any more
		return "quarantined"
	case PointReadOnly: // a node gives up on a quorum
		return "read-only"
	case PointDegraded: // a leader sees a voter that does not keep up
		return "degraded"
	case PointElecting: // a node knows no leader any more
		return "electing"
	case PointHealthyAgain: // a quorum is whole again
		return "healthy-again"
	case PointRefusedReadOnly: // a client is refused for want of a quorum; nothing was written
		return "refused-read-only"
	case PointQuorumLost: // a client has waited too long; what it asked for may yet happen
		return "quorum-lost"
	case PointConsumerSentAway: // a node that leads no longer closes the connection of a consumer
		return "consumer-sent-away"
	case PointRepairAsked: // a leader cannot read a message and asks another node for it
		return "repair-asked"
	case PointRepaired: // it has it
		return "repaired"
	case PointLearnerAsked: // a leader asks for a new node to learn
		return "learner-asked"
	case PointVoterAsked: // a learner has caught up and a leader asks for its vote
		return "voter-asked"
	case PointRemovalAsked: // a leader asks for a replaced node to be let go
		return "removal-asked"
	}
	panic("core: there is no such point")
}

// point reports that a point is passed.
func (fx *Effects) point(p Point) { fx.Points = append(fx.Points, p) }
