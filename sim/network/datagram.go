package network

import (
	"slices"

	"pestle/sim/schedule"
)

// Datagrams carries packets over the links of a Network: each on its own, so
// that they get lost, come twice, overtake each other and are corrupted.
type Datagrams struct {
	network *Network
	actor   schedule.Actor
	profile DatagramProfile
	packets []Packet // on their way, by slot
	free    []uint64 // slots
	met     Met
}

// Met counts the packets that faults made come twice or damaged.
type Met struct{ Doubled, Damaged int64 }

// Met returns what faults have done to the packets so far.
func (d *Datagrams) Met() Met { return d.met }

// DatagramProfile is how unreliable packets are without any fault.
type DatagramProfile struct {
	LossPermille      int64
	DuplicatePermille int64
	// ReorderPermille is how many are held up by as much as MaxReorder ns, so
	// that others overtake them. Latencies alone do that too, a little.
	ReorderPermille int64
	MaxReorder      int64
}

// Packet is one datagram.
type Packet struct {
	From, To Host
	Data     []byte
}

// NewDatagrams returns the datagrams of n's hosts, whose events are addressed
// to actor.
func NewDatagrams(n *Network, actor schedule.Actor, p DatagramProfile) *Datagrams {
	return &Datagrams{network: n, actor: actor, profile: p}
}

// Send sends a packet, whose bytes are the network's from then on. It arrives
// once, not at all, or twice.
func (d *Datagrams) Send(now int64, p Packet) {
	l := d.network.link(p.From, p.To)
	copies := 1
	if twice := max(d.profile.DuplicatePermille, l.state.DuplicatePermille); twice > 0 && l.stream.Permille(twice) {
		copies = 2
		if l.state.DuplicatePermille > 0 {
			d.met.Doubled++
		}
	}
	for range copies {
		d.send(now, l, p)
	}
}

// maxQueue is how long a packet waits for a narrow link, in ns: one that would
// have to wait longer is dropped. It would arrive when its sender has long lost
// its power, with what was true in another life.
const maxQueue = second

func (d *Datagrams) send(now int64, l *link, p Packet) {
	lost := max(d.profile.LossPermille, l.state.LossPermille)
	if l.state.Cut || l.state.Refused || lost > 0 && l.stream.Permille(lost) {
		return
	}
	if c := l.state.CorruptPermille; c > 0 && len(p.Data) > 0 && l.stream.Permille(c) {
		p.Data = l.corrupted(p.Data)
		d.met.Damaged++
	}
	free := l.free
	at := l.departure(now, len(p.Data), &d.network.profile)
	if at > max(now, l.state.HeldUntil)+maxQueue {
		l.free = free
		return
	}
	at += l.latency(&d.network.profile)
	if d.profile.ReorderPermille > 0 && l.stream.Permille(d.profile.ReorderPermille) {
		at += l.stream.Between(0, d.profile.MaxReorder)
	}
	slot := uint64(len(d.packets))
	if last := len(d.free) - 1; last >= 0 {
		slot, d.free = d.free[last], d.free[:last]
		d.packets[slot] = p
	} else {
		d.packets = append(d.packets, p)
	}
	d.network.queue.Add(schedule.Event{At: at, To: d.actor, A: slot})
}

// corrupted returns a copy of the bytes, which others may have too, in which one
// bit has turned.
func (l *link) corrupted(data []byte) []byte {
	data = slices.Clone(data)
	bit := l.stream.Below(int64(len(data)) * 8)
	data[bit/8] ^= 1 << (bit % 8)
	return data
}

// Step takes one of the datagrams' events and returns the packet that has
// arrived; false: its host is without power.
func (d *Datagrams) Step(ev schedule.Event) (Packet, bool) {
	p := d.packets[ev.A]
	d.packets[ev.A] = Packet{}
	d.free = append(d.free, ev.A)
	return p, !d.network.host(p.To).vanished
}
