package shaper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pestle/faults/agent"
)

var (
	peerA = netip.MustParseAddr("10.9.0.2")
	peerB = netip.MustParseAddr("10.9.0.3")
	here  = netip.MustParseAddr("10.9.0.1")
)

const ms = int64(time.Millisecond)

// udp is a datagram from a peer with a checksum that fits.
func udp(from netip.Addr, payload []byte) []byte {
	p := make([]byte, shortestIPv4+lengthUDP+len(payload))
	p[0], p[9] = 0x45, protocolUDP
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	source, target := from.As4(), here.As4()
	copy(p[12:], source[:])
	copy(p[16:], target[:])
	binary.BigEndian.PutUint16(p[24:], uint16(lengthUDP+len(payload)))
	copy(p[28:], payload)
	h, _ := parse(p)
	binary.BigEndian.PutUint16(p[h.sum:], checksum(p, h))
	return p
}

// tcp is a segment from a peer.
func tcp(from netip.Addr, payload []byte) []byte {
	p := make([]byte, shortestIPv4+shortestTCP+len(payload))
	p[0], p[9] = 0x45, protocolTCP
	source, target := from.As4(), here.As4()
	copy(p[12:], source[:])
	copy(p[16:], target[:])
	p[32] = shortestTCP / 4 << 4
	copy(p[40:], payload)
	h, _ := parse(p)
	binary.BigEndian.PutUint16(p[h.sum:], checksum(p, h))
	return p
}

// run brings n packets from each peer in, one a millisecond, and returns the
// decisions in order with the milliseconds at which they fell.
func run(s *Shaper, n int, peers ...netip.Addr) (decisions []Decision, at []int64) {
	var id uint32
	now := int64(0)
	step := func(until int64) {
		for next, ok := s.Next(); ok && next <= until; next, ok = s.Next() {
			decisions = s.Due(next, decisions)
			for len(at) < len(decisions) {
				at = append(at, next)
			}
		}
	}
	for range n {
		for _, p := range peers {
			step(now)
			id++
			decisions = s.Take(now, id, udp(p, []byte("mortar")), decisions)
			for len(at) < len(decisions) {
				at = append(at, now)
			}
		}
		now += ms
	}
	step(never - 1)
	return decisions, at
}

func summary(decisions []Decision) string {
	var b bytes.Buffer
	for _, d := range decisions {
		fmt.Fprintf(&b, "%d %v %x %x\n", d.ID, d.Drop, d.Packet, d.Twice)
	}
	return b.String()
}

func TestLossIsSeededAndAsOftenAsAsked(t *testing.T) {
	lost := func(seed uint64) (ids []uint32) {
		s := New()
		s.Impose(0, 1, nil, agent.Shaping{Seed: seed, Loss: 200})
		decisions, _ := run(s, 2000, peerA)
		for _, d := range decisions {
			if d.Drop {
				ids = append(ids, d.ID)
			}
		}
		if hits, _ := s.Lift(0, 1); hits.Packets != 2000 || hits.Lost != int64(len(ids)) {
			t.Errorf("seed %d: the part counted %+v, %d were lost", seed, hits, len(ids))
		}
		return ids
	}
	first, again, other := lost(1), lost(1), lost(2)
	if len(first) < 360 || len(first) > 440 {
		t.Errorf("%d of 2000 packets were lost, 360 to 440 should be", len(first))
	}
	if !slices.Equal(first, again) {
		t.Error("the same seed lost other packets the second time")
	}
	if slices.Equal(first, other) {
		t.Error("another seed lost the same packets")
	}
}

func TestPeersAndPartsDoNotDisturbEachOther(t *testing.T) {
	ofA := func(more ...netip.Addr) (lost []int) {
		s := New()
		s.Impose(0, 1, nil, agent.Shaping{Seed: 1, Loss: 200})
		if len(more) > 0 {
			s.Impose(0, 2, nil, agent.Shaping{Seed: 9, Delay: time.Millisecond, Duplicate: 500})
		}
		n := 0
		for range 500 {
			for _, p := range append([]netip.Addr{peerA}, more...) {
				d := s.Take(0, 1, udp(p, nil), nil)
				if p == peerA {
					n++
				}
				if p == peerA && len(d) > 0 && d[0].Drop {
					lost = append(lost, n)
				}
			}
		}
		return lost
	}
	if alone, among := ofA(), ofA(peerB); !slices.Equal(alone, among) {
		t.Errorf("packets of A that were lost: %v alone, %v with another peer and another part", alone, among)
	}
}

func TestPeersLoseDifferentPackets(t *testing.T) {
	s := New()
	s.Impose(0, 1, nil, agent.Shaping{Seed: 1, Loss: 500})
	same := 0
	for range 200 {
		a, b := s.Take(0, 1, udp(peerA, nil), nil), s.Take(0, 1, udp(peerB, nil), nil)
		if a[0].Drop == b[0].Drop {
			same++
		}
	}
	if same > 150 {
		t.Errorf("the packets of two peers had the same fate %d times of 200", same)
	}
}

func TestSameEverythingTwice(t *testing.T) {
	everything := agent.Shaping{
		Seed: 3, Loss: 100, Duplicate: 100, Corrupt: 100, Reorder: 100, ReorderBy: 10 * time.Millisecond,
		Delay: 5 * time.Millisecond, Jitter: 3 * time.Millisecond, BytesPerSecond: 100_000,
	}
	once := func() string {
		s := New()
		s.Impose(0, 1, nil, everything)
		s.Impose(0, 2, []netip.Addr{peerB}, agent.Shaping{Seed: 4, Loss: 300})
		decisions, at := run(s, 300, peerA, peerB)
		if len(decisions) != 600 {
			t.Errorf("%d decisions about 600 packets", len(decisions))
		}
		return summary(decisions) + fmt.Sprint(at)
	}
	if first, second := once(), once(); first != second {
		t.Error("the same packets had other fates the second time")
	}
}

func TestDelayAndJitterKeepTheOrder(t *testing.T) {
	s := New()
	s.Impose(0, 1, nil, agent.Shaping{Seed: 1, Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond})
	decisions, at := run(s, 200, peerA)
	for i, d := range decisions {
		arrived := int64(i) * ms
		if d.ID != uint32(i+1) || at[i] < arrived+20*ms || at[i] > arrived+25*ms {
			t.Fatalf("decision %d is about packet %d, %s after its arrival", i, d.ID, time.Duration(at[i]-arrived))
		}
	}
}

func TestDelaysOfPartsAddUpAndTheNarrowestCounts(t *testing.T) {
	s := New()
	size := int64(len(udp(peerA, []byte("mortar"))))
	s.Impose(0, 1, nil, agent.Shaping{Delay: 20 * time.Millisecond, BytesPerSecond: 1 << 30})
	s.Impose(0, 2, []netip.Addr{peerA}, agent.Shaping{Delay: 5 * time.Millisecond, BytesPerSecond: size})
	decisions, at := run(s, 3, peerA)
	for i := range decisions {
		if want := int64(i+1)*1000*ms - slack + 25*ms; at[i] != want {
			t.Errorf("packet %d went on after %s, want %s", i, time.Duration(at[i]), time.Duration(want))
		}
	}
}

func TestReorderedPacketsComeBehindOthers(t *testing.T) {
	s := New()
	s.Impose(0, 1, nil, agent.Shaping{Seed: 1, Reorder: 100, ReorderBy: 10 * time.Millisecond})
	decisions, _ := run(s, 1000, peerA)
	behind := int64(0)
	for i := 1; i < len(decisions); i++ {
		if decisions[i].ID < decisions[i-1].ID {
			behind++
		}
	}
	hits, _ := s.Lift(0, 1)
	if hits.Reordered < 70 || hits.Reordered > 130 || behind < hits.Reordered/2 {
		t.Errorf("%d of 1000 packets were to be late, about 100 should; %d came behind a later one", hits.Reordered, behind)
	}
}

func TestDuplicatesAreTheSamePacket(t *testing.T) {
	s := New()
	s.Impose(0, 1, nil, agent.Shaping{Seed: 1, Duplicate: 1000, Delay: time.Millisecond})
	packet := udp(peerA, []byte("mortar"))
	s.Take(0, 1, packet, nil)
	sent := slices.Clone(packet)
	clear(packet) // the reader's buffer is used again
	d := s.Due(ms, nil)
	if len(d) != 1 || !bytes.Equal(d[0].Twice, sent) {
		t.Errorf("decisions %+v, want one with the packet itself", d)
	}
}

func TestCorruptTurnsOneBitOfThePayloadUnderAFittingChecksum(t *testing.T) {
	for name, build := range map[string]func(netip.Addr, []byte) []byte{"udp": udp, "tcp": tcp} {
		for _, payload := range []string{"m", "mortar", "pestle."} {
			packet := build(peerA, []byte(payload))
			s := New()
			s.Impose(0, 1, nil, agent.Shaping{Seed: 1, Corrupt: 1000})
			got := s.Take(0, 1, packet, nil)[0].Packet
			h, ok := parse(got)
			if !ok || len(got) != len(packet) {
				t.Fatalf("%s %q became %x", name, payload, got)
			}
			turned := 0
			for i := range got {
				if i >= h.sum && i < h.sum+2 {
					continue
				}
				for x := got[i] ^ packet[i]; x != 0; x &= x - 1 {
					turned++
					if i < h.payload {
						t.Errorf("%s %q: byte %d of the headers is another", name, payload, i)
					}
				}
			}
			sum := binary.BigEndian.Uint16(got[h.sum:])
			binary.BigEndian.PutUint16(got[h.sum:], 0)
			if want := checksum(got, h); turned != 1 || sum != want {
				t.Errorf("%s %q: %d bits turned, checksum %04x, want 1 and %04x", name, payload, turned, sum, want)
			}
		}
		s := New()
		s.Impose(0, 1, nil, agent.Shaping{Corrupt: 1000})
		if d := s.Take(0, 1, build(peerA, nil), nil)[0]; d.Packet != nil || s.Hits()[0].Corrupted != 0 {
			t.Errorf("%s: a packet that carries nothing was damaged: %+v", name, d)
		}
	}
}

// The checksum of a known packet: RFC 1071's sum by hand.
func TestChecksumOfAKnownPacket(t *testing.T) {
	// 0a09+0002 + 0a09+0001 + 0011 + 000a (pseudo header), 000a (length), 6d6f (payload)
	packet := udp(peerA, []byte("mo"))
	if got := binary.BigEndian.Uint16(packet[26:]); got != ^uint16(0x81a9) {
		t.Errorf("checksum %04x, want %04x", got, ^uint16(0x81a9))
	}
}

func TestJamHoldsAllAndLetsGoAtOnce(t *testing.T) {
	s := New()
	s.Impose(0, 1, []netip.Addr{peerA}, agent.Shaping{Jam: true})
	for i := range 50 {
		if d := s.Take(int64(i)*ms, uint32(i+1), udp(peerA, nil), nil); len(d) != 0 {
			t.Fatalf("packet %d went on: %+v", i, d)
		}
	}
	if d := s.Take(50*ms, 99, udp(peerB, nil), nil); len(d) != 1 {
		t.Errorf("a packet of the other peer: %+v", d)
	}
	if at, ok := s.Next(); ok {
		t.Errorf("something of a jam is due at %d", at)
	}
	s.Impose(55*ms, 2, nil, agent.Shaping{Jam: true})
	s.Lift(56*ms, 2)
	if d := s.Due(56*ms, nil); len(d) != 0 {
		t.Errorf("%d packets went on when one of two jams was lifted", len(d))
	}
	s.Lift(60*ms, 1)
	d := s.Due(60*ms, nil)
	if len(d) != 50 || !slices.IsSortedFunc(d, func(a, b Decision) int { return int(a.ID) - int(b.ID) }) {
		t.Errorf("%d of 50 packets went on at the lift, in the order %v", len(d), d)
	}
}

func TestLiftLeavesWhatOthersImposed(t *testing.T) {
	s := New()
	s.Impose(0, 1, nil, agent.Shaping{Delay: time.Second})
	s.Impose(0, 2, nil, agent.Shaping{Delay: 100 * time.Millisecond})
	s.Take(0, 1, udp(peerA, nil), nil)
	s.Lift(10*ms, 1)
	if at, _ := s.Next(); at != 100*ms {
		t.Errorf("due %s after its arrival, want the other delay of 100ms", time.Duration(at))
	}
	s.Lift(20*ms, 2)
	if d := s.Due(20*ms, nil); len(d) != 1 || s.Shaped() {
		t.Errorf("with nothing imposed any more %d packets go on, shaped %v", len(d), s.Shaped())
	}
	if _, ok := s.Lift(20*ms, 2); ok {
		t.Error("what is lifted can be lifted again")
	}
}

func TestClogIsPacedAndLiftedAtOnce(t *testing.T) {
	s := New()
	packet := udp(peerA, make([]byte, 972)) // 1,000 bytes
	s.Impose(0, 1, nil, agent.Shaping{BytesPerSecond: 10_000})
	for i := range 20 {
		s.Take(0, uint32(i), packet, nil)
	}
	if d := s.Due(1000*ms, nil); len(d) != 10 {
		t.Errorf("%d packets of 1,000 bytes in a second at 10,000 bytes/s", len(d))
	}
	s.Impose(1000*ms, 1, nil, agent.Shaping{BytesPerSecond: 100_000})
	if d := s.Due(1000*ms, nil); len(d) != 10 {
		t.Errorf("%d of 10 held packets go on when their clog is replaced by another", len(d))
	}
}

func TestHeldPacketsHaveALimit(t *testing.T) {
	s := New()
	s.Impose(0, 1, nil, agent.Shaping{Jam: true})
	packet := udp(peerA, nil)
	for i := range maxHeld {
		if d := s.Take(0, uint32(i), packet, nil); len(d) != 0 {
			t.Fatalf("packet %d is not held", i)
		}
	}
	d := s.Take(0, 1, packet, nil)
	if len(d) != 1 || !d[0].Drop || s.Hits()[0].Overflowed != 1 {
		t.Errorf("a packet too many: %+v, hits %+v", d, s.Hits())
	}
}

func TestUnreadablePacketsPass(t *testing.T) {
	s := New()
	s.Impose(0, 1, nil, agent.Shaping{Loss: 1000})
	whole := udp(peerA, []byte("m"))
	long := slices.Clone(whole)
	long[0] = 0x4f // options that are not there
	for _, p := range [][]byte{nil, whole[:19], append([]byte{0x65}, whole[1:]...), long} {
		if d := s.Take(0, 7, p, nil); len(d) != 1 || d[0].Drop || d[0].ID != 7 {
			t.Errorf("packet %x: %+v", p, d)
		}
	}
}

func FuzzTake(f *testing.F) {
	f.Add(udp(peerA, []byte("m")))
	f.Add(tcp(peerA, []byte("m")))
	f.Add(tcp(peerA, nil)[:33])
	f.Fuzz(func(t *testing.T, packet []byte) {
		s := New()
		s.Impose(0, 1, nil, agent.Shaping{Corrupt: 1000, Duplicate: 1000})
		d := s.Take(0, 1, packet, nil)
		if len(d) != 1 || d[0].Drop {
			t.Fatalf("decisions %+v", d)
		}
		if d[0].Packet != nil && len(d[0].Packet) != len(packet) {
			t.Fatalf("%d bytes became %d", len(packet), len(d[0].Packet))
		}
	})
}
