package compose

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"strings"

	"github.com/docker/docker/api/types/network"
)

// Every run has a bridge network of its own, one of the 256 of this range with
// 256 addresses each. Addresses of private use that few others take: Docker's
// own pools are 172.16/12 and 192.168/16.
var networkRange = netip.MustParsePrefix("10.213.0.0/16")

const (
	gateway   = 1   // the engine's end of the bridge, where the harness comes from
	firstHost = 10  // of the pods: the gateway and what the engine may add come before
	lastHost  = 250 // a run has no more than 241 processes
)

// makeNetwork makes the run's network. Where others have taken a subnet it goes
// on to the next; it begins at a place that the run's id draws, so that
// concurrent runs rarely meet.
func (e *Engine) makeNetwork(ctx context.Context, name, run string, labels map[string]string) (netip.Prefix, error) {
	hash := fnv.New32a()
	hash.Write([]byte(run))
	const subnets = 256
	for i := range uint32(subnets) {
		subnet := subnetAt(byte((hash.Sum32() + i) % subnets))
		if takenHere(subnet) {
			continue
		}
		ipv6 := false
		_, err := e.api.NetworkCreate(ctx, name, network.CreateOptions{
			Driver: "bridge", EnableIPv6: &ipv6, Labels: labels,
			IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: subnet.String(), Gateway: hostAt(subnet, gateway).String()}}},
		})
		if err == nil {
			return subnet, nil
		}
		if !strings.Contains(err.Error(), "overlaps") { // it has no kind of its own
			return netip.Prefix{}, fmt.Errorf("make network %s: %w", name, err)
		}
	}
	return netip.Prefix{}, fmt.Errorf("make network %s: all of %s is taken; remove what dead runs left with pestle down", name, networkRange)
}

// subnetAt returns the n-th subnet of the range.
func subnetAt(n byte) netip.Prefix {
	a := networkRange.Addr().As4()
	a[2] = n
	return netip.PrefixFrom(netip.AddrFrom4(a), 24)
}

// hostAt returns the n-th address of a subnet.
func hostAt(subnet netip.Prefix, n byte) netip.Addr {
	a := subnet.Addr().As4()
	a[3] = n
	return netip.AddrFrom4(a)
}

// takenHere tells whether this machine has an address of the subnet: the engine
// does not look at what it has not made.
func takenHere(subnet netip.Prefix) bool {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Overlaps(subnet) {
			return true
		}
	}
	return false
}

var errTooMany = errors.New("too many processes for one network")

// assign returns the address of the n-th process of a run, from 0.
func assign(subnet netip.Prefix, n int) (netip.Addr, error) {
	if n < 0 || n > lastHost-firstHost {
		return netip.Addr{}, fmt.Errorf("%w: the Docker world has room for %d", errTooMany, lastHost-firstHost+1)
	}
	return hostAt(subnet, byte(firstHost+n)), nil
}
