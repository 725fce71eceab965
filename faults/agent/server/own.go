package server

import (
	"fmt"
	"net"
	"net/netip"
)

// own returns the pod's address in the subnet.
func own(subnet netip.Prefix) (netip.Addr, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("list the pod's addresses: %w", err)
	}
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil && subnet.Contains(prefix.Addr().Unmap()) {
			return prefix.Addr().Unmap(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("none of the pod's addresses %v is in %s: start the agent in the test's network", addresses, subnet)
}
