package peer

import (
	"io"
	"net"
	"strings"
	"testing"
)

func TestFramesWaitUntilEarlierOnesAreReleased(t *testing.T) {
	w := newWindow(10)
	over := make(chan struct{})
	if !w.take(100, over) {
		t.Fatal("one frame that is longer than the window has to pass")
	}
	if w.tryTake(1) {
		t.Fatal("nothing may pass while the window is full")
	}
	w.give(100)
	if !w.tryTake(4) || !w.tryTake(6) || w.tryTake(1) {
		t.Fatal("ten bytes have to fit, and no eleventh")
	}
	passed := make(chan bool)
	go func() { passed <- w.take(5, over) }()
	w.give(4)
	w.give(6)
	if !<-passed {
		t.Fatal("room was made, and not taken")
	}
	go func() { passed <- w.take(100, over) }()
	close(over)
	if <-passed {
		t.Fatal("a frame passed after the end")
	}
}

func TestANewConnectionTakesTheOldOnesPlace(t *testing.T) {
	b := start(t, 2, "", nil)
	open := func() net.Conn {
		sock := dial(t, b)
		if _, err := sock.Write((hello{from: 1, to: 2}).bytes()); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(sock, make([]byte, 1)); err != nil {
			t.Fatalf("no welcome: %v", err)
		}
		return sock
	}
	first, second := open(), open()
	if _, err := first.Read(make([]byte, 1)); err == nil {
		t.Error("the first connection is still open")
	}
	if _, err := second.Write(appendFrame(nil, []byte("x"))); err != nil {
		t.Fatal(err)
	}
	b.want(t, 1, "x")
}

func TestStrangersAreRefusedAndNamed(t *testing.T) {
	for _, test := range []struct{ name, opening, want string }{
		{"HTTP", "GET / HTTP/1.1\r\nHost: example\r\n\r\n", `it begins with \"GET / HT\": not a node of a cluster`},
		{"another version", magic + "\x02" + strings.Repeat("\x00", 20), "it speaks version 2 between nodes, this one version 1"},
		{"another node's address", string(hello{from: 1, to: 3}.bytes()), "node 1 looks for node 3 here, and this is node 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := start(t, 2, "", nil)
			sock := dial(t, b)
			if _, err := io.WriteString(sock, test.opening); err != nil {
				t.Fatal(err)
			}
			if n, err := sock.Read(make([]byte, 1)); err == nil {
				t.Fatalf("got %d bytes, want a closed connection", n)
			}
			b.Close()
			if !strings.Contains(b.log.String(), test.want) {
				t.Errorf("the log lacks %q:\n%s", test.want, b.log)
			}
		})
	}
}
