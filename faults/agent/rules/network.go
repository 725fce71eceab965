package rules

import (
	"fmt"
	"net/netip"
	"slices"
)

// Network is where the pod's peers are.
type Network struct {
	Subnet  netip.Prefix // IPv4, of the test
	Gateway netip.Addr   // the harness comes from there; never a peer
	Own     netip.Addr   // the pod's; never a peer
}

// Validate tells what is wrong with a network, or nil.
func (n Network) Validate() error {
	switch {
	case !n.Subnet.IsValid() || !n.Subnet.Addr().Is4():
		return fmt.Errorf("subnet %s is none of IPv4", n.Subnet)
	case !n.Gateway.Is4():
		return fmt.Errorf("gateway %s is no IPv4 address", n.Gateway)
	case !n.Own.Is4() || !n.Subnet.Contains(n.Own):
		return fmt.Errorf("the pod's address %s is not in %s", n.Own, n.Subnet)
	}
	return nil
}

// Covers tells whether an address is one of the peers; none given: any of the
// network but the gateway and the pod.
func (n Network) Covers(peers []netip.Addr, address netip.Addr) bool {
	if len(peers) > 0 {
		return slices.Contains(peers, address)
	}
	return n.Subnet.Contains(address) && address != n.Gateway && address != n.Own
}
