package server

import "net/netip"

// Options of an agent.
type Options struct {
	Subnet  netip.Prefix // of the test's network, IPv4; the pod has an address in it
	Gateway netip.Addr   // the harness comes from there: it is no peer
}
