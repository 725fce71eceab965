package faults

// Point is a place in the broker's code that a fault can wait for: the broker
// reports each time it passes one.
type Point struct {
	Name string
	When string // one sentence
}

// Points is the table of points. The names are those the broker reports.
func Points() []Point {
	return []Point{
		{"journal-write", "bytes are handed to the journal file, not synced yet"},
		{"journal-sync", "a sync of the journal is complete"},
		{"ack", "a publish is acknowledged"},
		{"delivery", "a message is sent to a consumer for the first time"},
		{"redelivery", "a message is sent to a consumer again"},
		{"lease-expired", "a delivery was neither finished nor given back in time"},
		{"requeue-due", "the delay of a message given back is over"},
		{"deferral-due", "the delay that a message was published with is over"},
		{"consumer-lost", "the connection of a consumer with messages in flight is gone"},
		{"ledger-written", "what was delivered and finished is written to the journal"},
		{"file-rotated", "the journal goes on in a new file"},
		{"file-removed", "a journal file that nothing needs any more is removed"},
		{"checkpoint-written", "a checkpoint of the state is written to the journal"},
		{"recovery-torn-tail", "recovery found a torn tail and left it out"},
		{"recovery-rewrite", "recovery writes again what follows the last durable mark"},
		{"read-back", "a body is read back from the journal"},
		{"publish-refused-full", "a publish is refused because the disk is full"},
	}
}

// IsPoint tells whether a point has that name.
func IsPoint(name string) bool {
	for _, p := range Points() {
		if p.Name == name {
			return true
		}
	}
	return false
}
