package network

// Condition is what a fault does to a directed link. Conditions of several
// faults add up: delays are summed, of the others the worst counts. Streams and
// datagrams feel all of it but where a field says otherwise.
type Condition struct {
	Cut            bool  // nothing arrives
	Refused        bool  // no connection is made over it, and who tries is told; datagrams are lost
	HeldUntil      int64 // virtual time: what is sent before leaves no earlier, all of it in one burst; 0: nothing is held
	Delay          int64 // ns added to each packet
	Jitter         int64 // up to so many ns more, evenly drawn
	LossPermille   int64 // packets lost; in a stream each costs a retransmission timeout
	BytesPerSecond int64 // 0: no bound

	ReorderPermille   int64 // packets that come later, so that others overtake them; what follows in a stream waits for them
	ReorderBy         int64 // by so many ns
	DuplicatePermille int64 // datagrams that arrive twice; a stream does not show it
	CorruptPermille   int64 // datagrams in which a bit turns; streams are left whole
}

func (c *Condition) add(o Condition) {
	c.Cut = c.Cut || o.Cut
	c.Refused = c.Refused || o.Refused
	c.HeldUntil = max(c.HeldUntil, o.HeldUntil)
	c.Delay += o.Delay
	c.Jitter += o.Jitter
	c.LossPermille = max(c.LossPermille, o.LossPermille)
	if o.BytesPerSecond > 0 && (c.BytesPerSecond == 0 || o.BytesPerSecond < c.BytesPerSecond) {
		c.BytesPerSecond = o.BytesPerSecond
	}
	c.ReorderPermille = max(c.ReorderPermille, o.ReorderPermille)
	c.ReorderBy = max(c.ReorderBy, o.ReorderBy)
	c.DuplicatePermille = max(c.DuplicatePermille, o.DuplicatePermille)
	c.CorruptPermille = max(c.CorruptPermille, o.CorruptPermille)
}
