//go:build linux

package server

import (
	"net"
	"net/netip"
	"testing"

	"pestle/faults/agent/sockets"
)

// A connection that has gone since it was listed is nothing to be torn, and
// neither is the listener on its port, which has the same address.
func TestAConnectionThatIsGone(t *testing.T) {
	up("lo")
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, far := connect(t, listener)
	list, err := sockets.With(func(netip.Addr) bool { return true })
	if err != nil || len(list) < 2 {
		t.Fatalf("%d connections are listed, %v", len(list), err)
	}
	for _, c := range []net.Conn{near, far} { // an RST leaves nothing behind, not even TIME_WAIT
		if err := c.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if torn, err := sockets.Destroy(list); torn != 0 || err != nil {
		t.Errorf("%d are torn, %v; want none, and no error", torn, err)
	}
	near, far = connect(t, listener)
	near.Close()
	far.Close()
}

func connect(t *testing.T, listener net.Listener) (near, far net.Conn) {
	t.Helper()
	near, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if far, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return near, far
}
