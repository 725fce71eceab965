package checker

// connection is the newest connection of a consumer to one broker. A broker of
// a cluster delivers only what it leads, and one that loses its leadership
// closes the connections of those it delivered to. So whatever comes over one
// connection was sent in one tenure.
type connection struct {
	broker int   // its number
	made   int64 // when it was noted as working; 0: not known

	// newest is the latest first attempt of a message that came over it: what
	// comes next was sent after that, for a connection keeps its order.
	newest int64

	leads bool  // something came over it
	led   int64 // when the first did: from then on its broker led, until it sent the last

	answering
}

// steadySince reports that whatever comes over the connection was sent by a
// broker that has led without a break since before t.
func (c *connection) steadySince(t int64) bool { return c.leads && c.led <= t }

// delivered notes that m came over the connection. Call it when that was
// judged.
func (c *connection) delivered(m *message, now int64) {
	c.newest = max(c.newest, m.firstAttempt())
	if !c.leads {
		c.leads, c.led = true, now
	}
}

// over returns the consumer's connection to a broker.
func (by *consumer) over(broker int) *connection {
	by.connections = grown(by.connections, broker)
	if by.connections[broker] == nil {
		by.connections[broker] = &connection{broker: broker}
	}
	return by.connections[broker]
}

// connected notes that the consumer has another connection to the broker.
func (by *consumer) connected(broker int, now int64) {
	by.connections = grown(by.connections, broker)
	by.connections[broker] = &connection{broker: broker, made: now}
}
