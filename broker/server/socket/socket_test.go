package socket

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func TestAWriteTakesWhatThereIsRoomFor(t *testing.T) {
	near, far := pair(t)
	if err := near.SetWriteDeadline(time.Unix(1, 0)); err != nil { // long over
		t.Fatal(err)
	}
	w := NewWriter(near)
	if n := w.Write([]byte("first")); n != 5 {
		t.Fatalf("%d bytes of 5 were taken with an empty buffer", n)
	}
	rest := bytes.Repeat([]byte("x"), 64<<20)
	written := 5
	for n := w.Write(rest); n > 0; n = w.Write(rest) {
		written += n
	}
	near.Close()
	got, err := io.ReadAll(far)
	if err != nil || len(got) != written || !bytes.HasPrefix(got, []byte("firstx")) {
		t.Errorf("%d bytes arrived of %d, %v", len(got), written, err)
	}
	if n := w.Write([]byte("late")); n != 0 {
		t.Errorf("a closed connection took %d bytes", n)
	}
}

func TestWhatIsNoSocketTakesNothing(t *testing.T) {
	near, _ := net.Pipe()
	for _, w := range []Writer{{}, NewWriter(near)} {
		if n := w.Write([]byte("a")); n != 0 {
			t.Errorf("%d bytes were taken", n)
		}
	}
}
