//go:build linux

package sockets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// States of a connection that can be torn, from linux/tcp_states.h: those with
// a process, or with bytes under way.
var live = map[uint8]bool{
	1:  true, // ESTABLISHED
	2:  true, // SYN_SENT
	4:  true, // FIN_WAIT1
	5:  true, // FIN_WAIT2
	8:  true, // CLOSE_WAIT
	9:  true, // LAST_ACK
	11: true, // CLOSING
}

// listings is how often the kernel is asked for a list that did not change
// while it was made.
const listings = 5

// With returns the live connections whose peer is covered.
func With(covers func(peer netip.Addr) bool) ([]Connection, error) {
	var connections []Connection
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		all, err := list(family)
		if err != nil {
			return nil, fmt.Errorf("list TCP connections: %w", err)
		}
		for _, s := range all {
			c := Connection{endpoint(s.ID.Source, s.ID.SourcePort), endpoint(s.ID.Destination, s.ID.DestinationPort), s.ID.Cookie}
			if live[s.State] && c.Local.Addr().Is4() && c.Peer.Addr().Is4() && covers(c.Peer.Addr()) {
				connections = append(connections, c)
			}
		}
	}
	return connections, nil
}

func list(family uint8) (all []*netlink.Socket, err error) {
	for range listings {
		all, err = netlink.SocketDiagTCP(family)
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return all, nil // it changes all the time: whoever comes now comes after the fault
}

func endpoint(ip net.IP, port uint16) netip.AddrPort {
	address, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(address.Unmap(), port)
}

// Destroy ends connections and returns how many there still were. Errors: EPERM
// without CAP_NET_ADMIN, EOPNOTSUPP if the kernel was built without
// INET_DIAG_DESTROY.
func Destroy(connections []Connection) (int, error) {
	torn := 0
	for _, c := range connections {
		err := destroy(c)
		switch {
		case err == nil:
			torn++
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESTALE): // it ended by itself
		default:
			return torn, fmt.Errorf("end the connection of %s with %s: %w", c.Local, c.Peer, err)
		}
	}
	return torn, nil
}

// destroy ends one connection. Its cookie goes along: without it the kernel takes
// the listener of the same port for a connection that is gone.
func destroy(c Connection) error {
	request := nl.NewNetlinkRequest(nl.SOCK_DESTROY, unix.NLM_F_ACK)
	request.AddData(wanted(c))
	_, err := request.Execute(unix.NETLINK_INET_DIAG, 0)
	return err
}

// wanted is a connection as the kernel is asked for it: struct inet_diag_req_v2.
type wanted Connection

// Len is the request's size in bytes.
func (wanted) Len() int { return 56 }

// Serialize returns family, protocol and the connection's identity.
func (w wanted) Serialize() []byte {
	b := make([]byte, w.Len())
	b[0], b[1] = unix.AF_INET, unix.IPPROTO_TCP
	binary.BigEndian.PutUint16(b[8:], w.Local.Port())
	binary.BigEndian.PutUint16(b[10:], w.Peer.Port())
	copy(b[12:], w.Local.Addr().AsSlice())
	copy(b[28:], w.Peer.Addr().AsSlice())
	binary.NativeEndian.PutUint32(b[48:], w.cookie[0])
	binary.NativeEndian.PutUint32(b[52:], w.cookie[1])
	return b
}

// Probe tells why connections cannot be ended here; nil: they can. It makes one
// of its own on the loopback device and ends it.
func Probe() error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	conn, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		return err
	}
	defer conn.Close()
	err = netlink.SocketDestroy(conn.LocalAddr(), conn.RemoteAddr())
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: no CAP_NET_ADMIN in this network namespace", err)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%w: the kernel was built without INET_DIAG_DESTROY", err)
	}
	return err
}
