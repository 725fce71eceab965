package peer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTooLongAFrameIsRefusedByItsLength(t *testing.T) {
	header := appendSum(binary.BigEndian.AppendUint32(nil, 101), 0)
	_, err := readFrame(bytes.NewReader(header), 100)
	if err == nil || !strings.Contains(err.Error(), "a frame of 101 bytes is announced, and none may have more than 100") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// greedy is a stream that notes how much it is asked for at once.
type greedy struct {
	io.Reader
	asked int
}

func (g *greedy) Read(p []byte) (int, error) {
	g.asked = max(g.asked, len(p))
	return g.Reader.Read(p)
}

// What a length announces is not allocated before it arrives.
func TestALengthAloneTakesLittleMemory(t *testing.T) {
	r := &greedy{Reader: bytes.NewReader(appendSum(binary.BigEndian.AppendUint32(nil, MaxFrame), 0))}
	if _, err := readFrame(r, MaxFrame); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %v, want an unexpected end", err)
	}
	if r.asked > 2*trusted {
		t.Errorf("%d bytes were made ready for none", r.asked)
	}
}

func TestTheEndIsCleanBetweenFramesOnly(t *testing.T) {
	whole := appendFrame(nil, []byte("frame"))
	for n := range whole {
		want := io.ErrUnexpectedEOF
		if n == 0 {
			want = io.EOF
		}
		if _, err := readFrame(bytes.NewReader(whole[:n]), MaxFrame); !errors.Is(err, want) {
			t.Errorf("after %d bytes: %v, want %v", n, err, want)
		}
	}
}

func TestFramesInCountsWholeOnes(t *testing.T) {
	b := appendFrame(appendFrame(appendFrame(nil, []byte("a")), nil), []byte("bcd"))
	for n := range len(b) + 1 {
		want := 0
		switch {
		case n == len(b):
			want = 3
		case n >= 17:
			want = 2
		case n >= 9:
			want = 1
		}
		if got := framesIn(b, n); got != want {
			t.Errorf("in %d bytes: %d, want %d", n, got, want)
		}
	}
}

// A turned bit in what says how to read on ends the connection, at once.
func TestDamagedLengthsAndOpenings(t *testing.T) {
	frame, opening := appendFrame(nil, []byte("frame")), hello{from: 1, to: 2}.bytes()
	for bit := range 8 * headerSize {
		b := bytes.Clone(frame)
		b[bit/8] ^= 1 << (bit % 8)
		if got, err := readFrame(bytes.NewReader(b), MaxFrame); err == nil || !strings.Contains(err.Error(), "the length of a frame came damaged") {
			t.Errorf("bit %d of a length: %q, %v", bit, got, err)
		}
	}
	for bit := range 8 * len(opening) {
		b := bytes.Clone(opening)
		b[bit/8] ^= 1 << (bit % 8)
		if got, err := readHello(bytes.NewReader(b)); err == nil {
			t.Errorf("bit %d of an opening: %+v", bit, got)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, []byte("one")), nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{0, 0, 0})
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 1 << 10
		r := iotest.OneByteReader(bytes.NewReader(stream))
		var read []byte
		for {
			frame, err := readFrame(r, limit)
			if err != nil {
				break
			}
			if len(frame) > limit {
				t.Fatalf("a frame of %d bytes passed", len(frame))
			}
			read = appendFrame(read, frame)
		}
		if !bytes.HasPrefix(stream, read) {
			t.Fatalf("%x was taken for %x", stream, read)
		}
	})
}

func FuzzReadHello(f *testing.F) {
	f.Add(hello{from: 1, to: 2}.bytes())
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, opening []byte) {
		h, err := readHello(bytes.NewReader(opening))
		if err == nil && !bytes.HasPrefix(opening, h.bytes()) {
			t.Fatalf("%x was taken for %+v", opening, h)
		}
	})
}
