package core

import "pestle/broker/journal"

// A leader whose journal gives back something else than a message, or nothing,
// gets the body from another node. Until it has it nothing of the channel is
// delivered: it would overtake. What it gets it keeps in memory until every
// channel has finished the message.

// repair is a body that is asked for.
type repair struct {
	partition uint32
	message   *message
	source    uint64
	waited    int // ticks since it was asked for
}

// startRepair asks for a body, if there is anybody to ask; false: there is not.
func (c *Core) startRepair(group, partition uint32, m *message, fx *Effects) bool {
	s := c.seat(group)
	if !c.clustered() || len(s.log.Conf.Voters) < 2 {
		return false
	}
	for _, r := range s.repairs {
		if r.partition == partition && r.message == m {
			return true
		}
	}
	fx.point(PointRepairAsked)
	r := &repair{partition: partition, message: m}
	s.repairs = append(s.repairs, r)
	c.askRepair(s, r)
	return true
}

func (c *Core) askRepair(s *seat, r *repair) {
	r.waited = 0
	r.source = c.nextOf(s.log.Conf.Voters, r.source)
	head := appendUint(appendUint(appendUint(nil, uint64(s.id)), uint64(r.partition)), 1)
	c.item(r.source, itemFetch, appendUint(head, r.message.offset))
}

// repairAgain asks the next node for bodies that did not come.
func (c *Core) repairAgain(s *seat) {
	kept := s.repairs[:0]
	for _, r := range s.repairs {
		if !s.leads || !r.message.stored {
			continue
		}
		if r.waited++; r.waited >= fetchTicks {
			c.askRepair(s, r)
		}
		kept = append(kept, r)
	}
	clear(s.repairs[len(kept):])
	s.repairs = kept
}

// repaired takes a body that was asked for.
func (c *Core) repaired(s *seat, partition uint32, offset uint64, body []byte, fx *Effects) {
	for i, r := range s.repairs {
		m := r.message
		if r.partition != partition || !m.stored || m.offset != offset {
			continue
		}
		if journal.Sum(body) != m.sum || uint64(len(body)) != uint64(m.size) {
			return
		}
		fx.point(PointRepaired)
		c.cache.drop(m)
		m.body, m.pinned = append([]byte(nil), body...), true
		s.repairs = append(s.repairs[:i], s.repairs[i+1:]...)
		for _, id := range sortedKeys(c.channels) {
			if ch := c.channels[id]; ch.leads && ch.group == s.id {
				c.deadlines.cancel(&ch.retry)
				c.wake(ch)
			}
		}
		return
	}
}
