package rules

import (
	"net/netip"
	"testing"
)

// What the rules do to packets is tested in package server, on real ones.

func TestWhoIsAPeer(t *testing.T) {
	a := netip.MustParseAddr
	n := Network{Subnet: netip.MustParsePrefix("10.9.0.0/24"), Gateway: a("10.9.0.1"), Own: a("10.9.0.11")}
	for address, is := range map[string]bool{"10.9.0.12": true, "10.9.0.1": false, "10.9.0.11": false, "10.9.1.12": false, "127.0.0.1": false} {
		if n.Covers(nil, a(address)) != is {
			t.Errorf("%s is a peer when none are named: %v", address, !is)
		}
	}
	named := []netip.Addr{a("10.9.0.12")}
	if !n.Covers(named, a("10.9.0.12")) || n.Covers(named, a("10.9.0.13")) {
		t.Error("when peers are named, others are covered")
	}
}

func TestNetworksThatAreNone(t *testing.T) {
	subnet, six := netip.MustParsePrefix("10.9.0.0/24"), netip.MustParseAddr("fd00::1")
	gateway, own := netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("10.9.0.11")
	if err := (Network{subnet, gateway, own}).Validate(); err != nil {
		t.Error(err)
	}
	for name, n := range map[string]Network{
		"nothing":         {},
		"no gateway":      {Subnet: subnet, Own: own},
		"IPv6 subnet":     {netip.MustParsePrefix("fd00::/64"), gateway, own},
		"IPv6 gateway":    {subnet, six, own},
		"pod in another":  {subnet, gateway, netip.MustParseAddr("10.9.1.11")},
		"pod has no IPv4": {subnet, gateway, six},
	} {
		if n.Validate() == nil {
			t.Errorf("%s: %+v passes", name, n)
		}
	}
}
