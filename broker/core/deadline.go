package core

// timed is what a deadline wakes up.
type timed interface {
	// expire is called once the deadline has passed; it is no longer set then.
	expire(c *Core, now Time, fx *Effects)
}

// deadline is one point in monotonic time at which something is to happen. It
// is part of what it wakes. The zero value is not set.
type deadline struct {
	at    int64
	seq   uint64 // breaks ties: first set, first due
	index int
	what  timed
}

func (d *deadline) before(o *deadline) bool {
	return d.at < o.at || d.at == o.at && d.seq < o.seq
}

func (d *deadline) place() *int { return &d.index }

func (d *deadline) isSet() bool { return d.index != 0 }

// deadlines holds all that are set.
type deadlines struct {
	heap heap[*deadline]
	seq  uint64
}

// set makes d due at a monotonic time, instead of when it was due before.
func (s *deadlines) set(d *deadline, at int64, what timed) {
	if d.isSet() && d.at == at {
		return
	}
	s.cancel(d)
	s.seq++
	d.at, d.seq, d.what = at, s.seq, what
	s.heap.push(d)
}

func (s *deadlines) cancel(d *deadline) {
	if d.isSet() {
		s.heap.remove(d)
	}
}

// passed takes out the first deadline that is due at a monotonic time.
func (s *deadlines) passed(mono int64) (*deadline, bool) {
	if s.heap.len() == 0 || s.heap.top().at > mono {
		return nil, false
	}
	return s.heap.pop(), true
}

// next returns when the first deadline is due.
func (s *deadlines) next() (int64, bool) {
	if s.heap.len() == 0 {
		return 0, false
	}
	return s.heap.top().at, true
}
