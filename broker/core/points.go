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
	PointCheckpointWritten
	PointRecoveryTornTail
	PointRecoveryRewrite
	PointReadBack
	PointPublishRefusedFull
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
	}
	panic("core: there is no such point")
}

// point reports that a point is passed.
func (fx *Effects) point(p Point) { fx.Points = append(fx.Points, p) }
