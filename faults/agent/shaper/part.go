package shaper

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"pestle/faults/agent"
)

// drawsPerPacket is how many numbers fate draws, always.
const drawsPerPacket = 6

// part is one fault's shaping, of some peers or of all.
type part struct {
	ref     int
	peers   []netip.Addr // none: all
	shaping agent.Shaping
	hits    agent.Hits
}

func (p *part) covers(peer netip.Addr) bool {
	return len(p.peers) == 0 || slices.Contains(p.peers, peer)
}

// fate is what one part, or all of them together, wants of one packet.
type fate struct {
	lost, twice, damaged, late bool

	delay  time.Duration // with the jitter
	behind time.Duration // if late: so much more
	bit    uint64        // a draw that chooses the bit to turn
}

// stream is the source of a part's decisions about one peer's packets.
func newStream(seed uint64, peer netip.Addr) *rand.PCG {
	address := peer.As4()
	return rand.NewPCG(seed, uint64(binary.BigEndian.Uint32(address[:])))
}

// fate decides about the next packet of the stream's peer.
func (p *part) fate(stream *rand.PCG) fate {
	var draws [drawsPerPacket]uint64
	for i := range draws {
		draws[i] = stream.Uint64()
	}
	s := &p.shaping
	if hit(draws[0], s.Loss) {
		return fate{lost: true}
	}
	f := fate{
		twice:   hit(draws[1], s.Duplicate),
		damaged: hit(draws[2], s.Corrupt),
		late:    hit(draws[3], s.Reorder),
		delay:   s.Delay + time.Duration(draws[4]%uint64(s.Jitter+1)),
		bit:     draws[5],
	}
	if f.late {
		f.behind = s.ReorderBy
	}
	return f
}

// hit tells whether a draw is among so many of a thousand.
func hit(draw uint64, permille int) bool { return draw%1000 < uint64(permille) }

// and joins what two parts want of a packet.
func (f fate) and(g fate) fate {
	f.lost = f.lost || g.lost
	f.twice = f.twice || g.twice
	f.late = f.late || g.late
	f.delay += g.delay
	f.behind += g.behind
	if g.damaged && !f.damaged {
		f.damaged, f.bit = true, g.bit
	}
	return f
}

// count adds a packet that met the part.
func (p *part) count(f fate, bytes int) {
	p.hits.Packets++
	p.hits.Bytes += int64(bytes)
	for _, c := range []struct {
		is    bool
		count *int64
	}{{f.lost, &p.hits.Lost}, {f.twice, &p.hits.Duplicated}, {f.damaged, &p.hits.Corrupted}, {f.late, &p.hits.Reordered}} {
		if c.is {
			*c.count++
		}
	}
}
