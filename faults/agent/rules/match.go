//go:build linux

package rules

import (
	"net"
	"net/netip"

	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Where things stand in a packet's headers.
const (
	sourceAt      = 12 // IPv4
	destinationAt = 16
	sourcePortAt  = 0 // TCP
	targetPortAt  = 2
	tcpFlagsAt    = 13
	tcpRST        = 0x04

	// The registers of a connection's key follow one another.
	addressRegister   = unix.NFT_REG32_00
	peerPortRegister  = unix.NFT_REG32_01
	localPortRegister = unix.NFT_REG32_02
)

// matches returns the conditions under which packets of the peers are met, one
// list for each rule that it takes: a rule's conditions must all hold. at is
// where the peer's address stands in the header.
func (n Network) matches(peers []netip.Addr, at uint32) [][]expr.Any {
	if len(peers) == 0 {
		mask := net.CIDRMask(n.Subnet.Bits(), 32)
		subnet := n.Subnet.Masked().Addr()
		return [][]expr.Any{{
			address(at), equals(expr.CmpOpNeq, n.Gateway.AsSlice()), equals(expr.CmpOpNeq, n.Own.AsSlice()),
			&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: mask, Xor: make([]byte, 4)},
			equals(expr.CmpOpEq, subnet.AsSlice()),
		}}
	}
	lists := make([][]expr.Any, len(peers))
	for i, p := range peers {
		lists[i] = []expr.Any{address(at), equals(expr.CmpOpEq, p.AsSlice())}
	}
	return lists
}

func address(at uint32) expr.Any {
	return &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: at, Len: 4}
}

func equals(op expr.CmpOp, value []byte) expr.Any {
	return &expr.Cmp{Op: op, Register: 1, Data: value}
}

// notLoopback is met by what does not pass the loopback device, incoming or
// outgoing.
func notLoopback(name expr.MetaKey) []expr.Any {
	device := make([]byte, unix.IFNAMSIZ)
	copy(device, "lo")
	return []expr.Any{&expr.Meta{Key: name, Register: 1}, equals(expr.CmpOpNeq, device)}
}

func isTCP() []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, equals(expr.CmpOpEq, []byte{unix.IPPROTO_TCP})}
}

// notRST is met by TCP that is no RST. Those pass where connections are
// refused: they tell the other end.
func notRST() []expr.Any {
	return append(isTCP(),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: tcpFlagsAt, Len: 1},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 1, Mask: []byte{tcpRST}, Xor: []byte{0}},
		equals(expr.CmpOpEq, []byte{0}))
}

// inConnections is met by TCP packets of the set's connections. Its key is the
// peer's address, the peer's port and the local port, 4 bytes each.
func inConnections(set string, setID uint32, peerAt, peerPortAt, localPortAt uint32) []expr.Any {
	port := func(register, at uint32) expr.Any {
		return &expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: at, Len: 2}
	}
	return append(isTCP(),
		&expr.Payload{DestRegister: addressRegister, Base: expr.PayloadBaseNetworkHeader, Offset: peerAt, Len: 4},
		port(peerPortRegister, peerPortAt), port(localPortRegister, localPortAt),
		&expr.Lookup{SourceRegister: addressRegister, SetName: set, SetID: setID})
}

// notMarked is met by what the shaper did not send itself.
func notMarked(mark uint32) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyMARK, Register: 1},
		equals(expr.CmpOpNeq, binaryutil.NativeEndian.PutUint32(mark)),
	}
}
