package shaper

import "net/netip"

// packetHeld is a packet that waits for its time.
type packetHeld struct {
	at      int64  // when it goes on; never: when something is lifted
	number  uint64 // in the order of arrival
	arrived int64

	link     *link
	peer     netip.Addr
	bytes    int
	decision Decision
}

// packets is a heap by time, then by arrival.
type packets []*packetHeld

func (p packets) Len() int      { return len(p) }
func (p packets) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

func (p packets) Less(i, j int) bool {
	if p[i].at != p[j].at {
		return p[i].at < p[j].at
	}
	return p[i].number < p[j].number
}

func (p *packets) Push(x any) { *p = append(*p, x.(*packetHeld)) }

func (p *packets) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	(*p)[last] = nil
	*p = (*p)[:last]
	return x
}
