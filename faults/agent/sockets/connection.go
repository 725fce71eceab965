package sockets

import "net/netip"

// Connection is one of the pod's, IPv4. Connections of a socket that serves
// IPv6 too are shown with their IPv4 addresses.
type Connection struct {
	Local, Peer netip.AddrPort

	cookie [2]uint32 // by which the kernel knows this one from others of the same addresses
}
