package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

const (
	magic      = "PESTLEP"
	version    = 1
	welcome    = 1
	helloSize  = len(magic) + 1 + 8 + 8 + sumSize
	headerSize = 4 + sumSize
	sumSize    = 4

	// MaxFrame is the longest frame in bytes: far more than the longest
	// message and what is around it, and little enough to be held.
	MaxFrame = 64 << 20

	// trusted is how much memory a length on the wire is good for, in bytes,
	// before the bytes it announces arrive.
	trusted = 1 << 20
)

// hello opens a connection.
type hello struct{ from, to uint64 }

func (h hello) bytes() []byte {
	out := make([]byte, 0, helloSize)
	out = append(out, magic...)
	out = append(out, version)
	out = binary.BigEndian.AppendUint64(out, h.from)
	return appendSum(binary.BigEndian.AppendUint64(out, h.to), 0)
}

// appendSum appends the CRC-32C of what stands behind the first so many bytes.
func appendSum(b []byte, from int) []byte {
	return binary.BigEndian.AppendUint32(b, sum(b[from:]))
}

func sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// whole reports whether b ends with the sum of what stands before it.
func whole(b []byte) bool {
	said := len(b) - sumSize
	return binary.BigEndian.Uint32(b[said:]) == sum(b[:said])
}

func readHello(r io.Reader) (hello, error) {
	var b [helloSize]byte
	if n, err := io.ReadFull(r, b[:]); err != nil {
		return hello{}, fmt.Errorf("%d of %d bytes of an opening arrived: %w", n, helloSize, err)
	}
	if string(b[:len(magic)]) != magic {
		return hello{}, fmt.Errorf("it begins with %q: not a node of a cluster", b[:len(magic)+1])
	}
	if v := b[len(magic)]; v != version {
		return hello{}, fmt.Errorf("it speaks version %d between nodes, this one version %d: run the same program on all of them", v, version)
	}
	if !whole(b[:]) {
		return hello{}, errors.New("its opening came damaged")
	}
	ids := b[len(magic)+1:]
	return hello{from: binary.BigEndian.Uint64(ids), to: binary.BigEndian.Uint64(ids[8:])}, nil
}

func appendFrame(b, frame []byte) []byte {
	from := len(b)
	b = appendSum(binary.BigEndian.AppendUint32(b, uint32(len(frame))), from)
	return append(b, frame...)
}

// readFrame reads one frame of at most limit bytes. The error is io.EOF when
// the stream ends between two frames.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	if !whole(header[:]) {
		// Whoever believed it would wait for what never comes, and lose its place.
		return nil, errors.New("the length of a frame came damaged")
	}
	size := binary.BigEndian.Uint32(header[:])
	if int64(size) > int64(limit) {
		return nil, fmt.Errorf("a frame of %d bytes is announced, and none may have more than %d", size, limit)
	}
	frame, err := readExactly(r, int(size))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return frame, err
}

// readExactly reads size bytes into memory that is taken as they arrive.
func readExactly(r io.Reader, size int) ([]byte, error) {
	out := make([]byte, 0, min(size, trusted))
	for len(out) < size {
		out = slices.Grow(out, min(size-len(out), max(len(out), trusted)))
		n, err := io.ReadFull(r, out[len(out):min(size, cap(out))])
		out = out[:len(out)+n]
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// framesIn counts the frames that lie whole in the first n bytes of b, which
// begins with one.
func framesIn(b []byte, n int) (count int) {
	for at := 0; at+headerSize <= n; count++ {
		at += headerSize + int(binary.BigEndian.Uint32(b[at:]))
		if at > n {
			break
		}
	}
	return count
}
