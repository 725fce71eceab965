package nsq

import (
	"encoding/binary"
	"strconv"
)

// FrameType is the kind of a server's frame.
type FrameType int32

// The three frame types.
const (
	FrameResponse FrameType = 0
	FrameError    FrameType = 1
	FrameMessage  FrameType = 2
)

// Bodies of response frames.
const (
	OK        = "OK"
	CloseWait = "CLOSE_WAIT"
	heartbeat = "_heartbeat_"
)

// Magic is what a client of this protocol sends first.
const Magic = "  V2"

// Sizes in bytes; see the table in the package comment.
const (
	frameHeader   = 8                           // size and frame type
	messageHeader = 8 + 2 + idSize              // what precedes the body in a message frame's data
	minFrameSize  = 4                           // the size field of a frame without data
	idSize        = len(MessageID{})            // message ids have one length
	MessageFrame  = frameHeader + messageHeader // bytes of a message frame besides its body
)

// MessageID names a message in FIN, REQ and TOUCH.
type MessageID [16]byte

// ID returns the id of the message at position: 16 lower-case hex digits.
func ID(position uint64) MessageID {
	const digits = "0123456789abcdef"
	var id MessageID
	for i := len(id) - 1; i >= 0; i-- {
		id[i] = digits[position&0xf]
		position >>= 4
	}
	return id
}

// Position returns the position that ID made the id from. It is false for an
// id that ID cannot have made, which a client is free to send.
func (id MessageID) Position() (uint64, bool) {
	position, err := strconv.ParseUint(string(id[:]), 16, 64)
	if err != nil || ID(position) != id {
		return 0, false
	}
	return position, true
}

// String returns the id as it stands on the wire.
func (id MessageID) String() string { return string(id[:]) }

// AppendFrame appends one frame whose data is the concatenation of data.
func AppendFrame(dst []byte, t FrameType, data ...[]byte) []byte {
	size := minFrameSize
	for _, d := range data {
		size += len(d)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	dst = binary.BigEndian.AppendUint32(dst, uint32(t))
	for _, d := range data {
		dst = append(dst, d...)
	}
	return dst
}

// AppendMessage appends one whole message frame. The timestamp is in
// nanoseconds since the Unix epoch; attempts counts this delivery too.
func AppendMessage(dst []byte, timestamp int64, attempts uint16, id MessageID, body []byte) []byte {
	var header [messageHeader]byte
	binary.BigEndian.PutUint64(header[:8], uint64(timestamp))
	binary.BigEndian.PutUint16(header[8:10], attempts)
	copy(header[10:], id[:])
	return AppendFrame(dst, FrameMessage, header[:], body)
}
