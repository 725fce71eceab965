package nfqueue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
)

// Sizes and numbers of the format in doc.go.
const (
	subsystem = 3 << 8 // NFNL_SUBSYS_QUEUE

	typePacket  = subsystem // | 0
	typeVerdict = subsystem | 1
	typeConfig  = subsystem | 2
	typeError   = 2 // NLMSG_ERROR: the answer to a config

	flagRequest = 1
	flagAck     = 4

	lengthHeader    = 16 + 4 // nlmsghdr and nfgenmsg
	lengthAttribute = 4

	attributePacketHeader  = 1
	attributeVerdictHeader = 2
	attributePayload       = 10
	attributeCommand       = 1
	attributeParameters    = 2
	attributeMaxLength     = 3
	attributeTypeBits      = 0x3fff // the others are flags

	commandBind   = 1
	commandUnbind = 2
	copyPacket    = 2

	drop   = 0
	accept = 1
)

// Packet is one that waits for its verdict.
type Packet struct {
	ID      uint32 // of the verdict
	Payload []byte // from its IP header on
}

var errCutShort = errors.New("nfqueue: a message of the kernel is cut short")

// appendHeader begins a message; finish sets its length.
func appendHeader(b []byte, kind, flags, queue uint16) []byte {
	b = append(b, 0, 0, 0, 0)
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, flagRequest|flags)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0) // sequence, port: the kernel's own
	b = append(b, 0, 0)                   // any family, version 0
	return binary.BigEndian.AppendUint16(b, queue)
}

func appendAttribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(lengthAttribute+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func finish(b []byte) []byte {
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	return b
}

// appendVerdict encodes what becomes of a packet; payload nil leaves it as it
// is. An attribute's length is 16 bits, as is an IP packet's, so that a packet
// of the last three lengths cannot be replaced: false.
func appendVerdict(b []byte, queue uint16, verdict, id uint32, payload []byte) ([]byte, bool) {
	if lengthAttribute+len(payload) > 0xffff {
		return b, false
	}
	b = appendHeader(b, typeVerdict, 0, queue)
	var header [8]byte
	binary.BigEndian.PutUint32(header[:], verdict)
	binary.BigEndian.PutUint32(header[4:], id)
	b = appendAttribute(b, attributeVerdictHeader, header[:])
	if payload != nil {
		b = appendAttribute(b, attributePayload, payload)
	}
	return finish(b), true
}

// parsePackets calls each for the packets of what was received. Errors are
// those that the kernel sent, and messages whose lengths contradict each other;
// packets before them were called for.
func parsePackets(b []byte, each func(Packet)) error {
	for len(b) > 0 {
		message, rest, err := nextMessage(b)
		if err != nil {
			return err
		}
		if binary.NativeEndian.Uint16(message[4:]) == typePacket {
			p, err := parsePacket(message)
			if err != nil {
				return err
			}
			each(p)
		}
		b = rest
	}
	return nil
}

// nextMessage cuts the first message off; an error message is an error.
func nextMessage(b []byte) (message, rest []byte, err error) {
	if len(b) < lengthHeader {
		return nil, nil, errCutShort
	}
	length := binary.NativeEndian.Uint32(b)
	if length < lengthHeader || int64(length) > int64(len(b)) {
		return nil, nil, errCutShort
	}
	message, rest = b[:length], b[min(padded(int(length)), len(b)):]
	if binary.NativeEndian.Uint16(message[4:]) == typeError {
		if code := int32(binary.NativeEndian.Uint32(message[16:])); code != 0 {
			return nil, nil, fmt.Errorf("nfqueue: %w", syscall.Errno(-code))
		}
	}
	return message, rest, nil
}

func parsePacket(message []byte) (Packet, error) {
	var p Packet
	found := false
	for b := message[lengthHeader:]; len(b) >= lengthAttribute; {
		length := int(binary.NativeEndian.Uint16(b))
		if length < lengthAttribute || length > len(b) {
			return p, errCutShort
		}
		value := b[lengthAttribute:length]
		switch binary.NativeEndian.Uint16(b[2:]) & attributeTypeBits {
		case attributePacketHeader:
			if len(value) < 4 {
				return p, errCutShort
			}
			p.ID, found = binary.BigEndian.Uint32(value), true
		case attributePayload:
			p.Payload = value
		}
		b = b[min(padded(length), len(b)):]
	}
	if !found {
		return p, errors.New("nfqueue: a packet of the kernel has no id")
	}
	return p, nil
}

func padded(length int) int { return (length + 3) &^ 3 }
