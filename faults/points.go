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
		{Name: "checkpoint-written", When: "a checkpoint of the state is written to the journal"},
		{Name: "recovery-torn-tail", When: "recovery found a torn tail and left it out", Recovery: true},
		{Name: "recovery-rewrite", When: "recovery writes again what follows the last durable mark", Recovery: true},
		{Name: "read-back", When: "a body is read back from the journal"},
		{Name: "publish-refused-full", When: "a publish is refused because the disk is full"},
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
