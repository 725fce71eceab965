package checker

import "sort"

// causes are the recorded reasons why positions may be delivered again: of one
// stream, or of a broker and so of every stream. One cause explains one more
// delivery of each position that was sent before the cause was over.
type causes struct {
	active int     // faults that are not over
	over   []int64 // when each other one was over, ascending
}

func (c *causes) begin()           { c.active++ }
func (c *causes) end(at int64)     { c.active--; c.over = append(c.over, at) }
func (c *causes) instant(at int64) { c.over = append(c.over, at) }

// since counts the causes that were not over before t.
func (c *causes) since(t int64) int64 {
	before := sort.Search(len(c.over), func(i int) bool { return c.over[i] >= t })
	return int64(c.active + len(c.over) - before)
}

// brokerCauses are causes by the broker that they have to do with.
type brokerCauses []causes

func (b *brokerCauses) of(broker int) *causes {
	*b = grown(*b, broker)
	return &(*b)[broker]
}

// since counts the causes that were not over before t and have to do with one
// of the brokers.
func (b brokerCauses) since(brokers brokerSet, t int64) int64 {
	var n int64
	for i := range b {
		if i == anyBroker || brokers.has(i) || brokers.has(anyBroker) {
			n += b[i].since(t)
		}
	}
	return n
}
