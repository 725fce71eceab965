package shaper

import (
	"encoding/binary"
	"net/netip"
)

// What is read of an IPv4 packet; RFC 791, 768 and 9293.
const (
	shortestIPv4 = 20 // bytes of a header without options
	shortestTCP  = 20
	lengthUDP    = 8

	protocolTCP = 6
	protocolUDP = 17

	fragmentBits = 0x3fff // more fragments, or an offset: not a whole datagram
)

// header is what the shaper needs of a packet.
type header struct {
	source   netip.Addr
	protocol byte
	segment  int // where TCP or UDP begins
	sum      int // where its checksum stands; 0: neither
	payload  int // where what it carries begins; len(packet): nothing to damage
}

// parse reads an IPv4 packet. False: it is none, or cut short.
func parse(packet []byte) (header, bool) {
	if len(packet) < shortestIPv4 || packet[0]>>4 != 4 {
		return header{}, false
	}
	h := header{
		source:   netip.AddrFrom4([4]byte(packet[12:16])),
		protocol: packet[9],
		segment:  int(packet[0]&0xf) * 4,
		payload:  len(packet),
	}
	if h.segment < shortestIPv4 || h.segment > len(packet) {
		return header{}, false
	}
	if binary.BigEndian.Uint16(packet[6:])&fragmentBits != 0 {
		return h, true
	}
	segment := packet[h.segment:]
	switch {
	case h.protocol == protocolTCP && len(segment) >= shortestTCP:
		if begins := int(segment[12]>>4) * 4; begins >= shortestTCP && begins <= len(segment) {
			h.sum, h.payload = h.segment+16, h.segment+begins
		}
	case h.protocol == protocolUDP && len(segment) >= lengthUDP:
		h.sum, h.payload = h.segment+6, h.segment+lengthUDP
	}
	return h, true
}

// damaged returns a copy of the packet with one bit of what it carries turned,
// chosen by draw, and a checksum that fits; nil if it carries nothing.
func damaged(packet []byte, h header, draw uint64) []byte {
	bits := uint64(len(packet)-h.payload) * 8
	if h.sum == 0 || bits == 0 {
		return nil
	}
	bit := draw % bits
	other := append([]byte(nil), packet...)
	other[h.payload+int(bit/8)] ^= 1 << (bit % 8)
	binary.BigEndian.PutUint16(other[h.sum:], 0)
	binary.BigEndian.PutUint16(other[h.sum:], checksum(other, h))
	return other
}

// checksum is that of TCP and UDP, over the packet as it is: its own field must
// be zero.
func checksum(packet []byte, h header) uint16 {
	sum := uint32(h.protocol) + uint32(len(packet)-h.segment)
	add := func(b []byte) {
		for ; len(b) > 1; b = b[2:] {
			sum += uint32(binary.BigEndian.Uint16(b))
		}
		if len(b) == 1 {
			sum += uint32(b[0]) << 8
		}
	}
	add(packet[12:20]) // both addresses
	add(packet[h.segment:])
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	if h.protocol == protocolUDP && sum == 0xffff {
		return 0xffff // in UDP a zero says that there is no checksum
	}
	return ^uint16(sum)
}
