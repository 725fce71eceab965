package peer

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"testing"
)

func TestFramesArriveInOrderBetweenAll(t *testing.T) {
	nodes := []*node{start(t, 1, "", nil), start(t, 2, "", nil), start(t, 3, "", nil)}
	const each = 500
	for i := range each {
		for _, from := range nodes {
			for _, to := range nodes {
				if from != to {
					from.tell(to, fmt.Sprintf("%d to %d, number %d", from.id, to.id, i))
				}
			}
		}
	}
	for _, to := range nodes {
		seen := map[uint64]int{}
		for range 2 * each {
			f := to.next(t)
			if want := fmt.Sprintf("%d to %d, number %d", f.From, to.id, seen[f.From]); string(f.Data) != want {
				t.Fatalf("got %q, want %q", f.Data, want)
			}
			seen[f.From]++
		}
	}
	for _, n := range nodes {
		n.Close()
		for _, s := range n.Stats() {
			if s.SentFrames != each || s.ReceivedFrames != each || s.DroppedFrames != 0 || s.Connects != 1 ||
				s.SentBytes != s.ReceivedBytes || s.SentBytes < each*headerSize {
				t.Errorf("node %d counts %+v", n.id, s)
			}
			if l := n.links[s.Node]; l.pending != 0 {
				t.Errorf("node %d believes that %d bytes are on their way to node %d", n.id, l.pending, s.Node)
			}
		}
	}
}

func TestStatsAreByNode(t *testing.T) {
	a := New(Config{})
	for _, node := range []uint64{5, 3, 1 << 63, 4, 2} {
		a.count(node)
	}
	var got []uint64
	for _, s := range a.Stats() {
		got = append(got, s.Node)
	}
	if want := []uint64{2, 3, 4, 5, 1 << 63}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFramesOfAnySizeAreWhole(t *testing.T) {
	a, b := start(t, 1, "", nil), start(t, 2, "", nil)
	for _, size := range []int{0, 1, readSize - 4, readSize, trusted - 1, trusted, trusted + 1, maxWrite + 5, 9 << 20} {
		frame := bytes.Repeat([]byte{byte(size), 7, byte(size >> 8)}, size/3+1)[:size]
		a.Tell(2, b.address, frame)
		a.Flush(true)
		if got := b.next(t).Data; !bytes.Equal(got, frame) {
			t.Fatalf("%d bytes were sent, and %d others arrived", size, len(got))
		}
	}
}

func TestWhatIsToldTogetherLeavesTogether(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := start(t, 1, "", nil)
	var want []byte
	for i := range 100 {
		frame := fmt.Append(nil, i)
		a.Tell(2, l.Addr().String(), frame)
		want = appendFrame(want, frame)
	}
	if s := a.stats(2); s.Connects != 0 {
		t.Fatalf("connected before Flush: %+v", s)
	}
	a.Flush(true)
	sock, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	if _, err := readHello(sock); err != nil {
		t.Fatal(err)
	}
	if _, err := sock.Write([]byte{welcome}); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 2*len(want))
	n, err := sock.Read(got)
	if err != nil || !bytes.Equal(got[:n], want) {
		t.Fatalf("one read got %d bytes, %v; want all %d", n, err, len(want))
	}
}

func TestANewAddressIsUsedAtOnce(t *testing.T) {
	a, b := start(t, 1, "", nil), start(t, 2, "", nil)
	a.connect(t, b)
	moved := start(t, 2, "", nil)
	a.tell(moved, "here")
	moved.want(t, 1, "here")
}

func TestCloseSendsWhatIsQueued(t *testing.T) {
	a, b := start(t, 1, "", nil), start(t, 2, "", nil)
	a.connect(t, b)
	a.Tell(2, b.address, []byte("last words"))
	a.Close()
	b.past(t, "last words")
}

// BenchmarkRoundTrip measures a frame of 1 KiB to another node and one back.
//
//	go test -run - -bench RoundTrip ./broker/server/peer
func BenchmarkRoundTrip(b *testing.B) {
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		return l
	}
	near, far := listen(), listen()
	quiet := slog.New(slog.DiscardHandler)
	back := make(chan struct{}, 1)
	one := New(Config{Node: 1, Listener: near, Log: quiet, Deliver: func(f *Frame) {
		f.Release()
		back <- struct{}{}
	}})
	defer one.Close()
	var two *Transport
	two = New(Config{Node: 2, Listener: far, Log: quiet, Deliver: func(f *Frame) {
		f.Release()
		two.Tell(1, near.Addr().String(), f.Data)
		two.Flush(true)
	}})
	defer two.Close()
	one.Serve()
	two.Serve()
	frame := make([]byte, 1<<10)
	for b.Loop() {
		one.Tell(2, far.Addr().String(), frame)
		one.Flush(true)
		<-back
	}
}
