//go:build linux

package rules

import (
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
)

// QueueNumber is the netfilter queue of the shaped packets.
const QueueNumber = 0

// Mark is on packets that the shaper sends: they are not shaped again.
const Mark = 0xC4A05

// Way is how a rule sends packets to the queue: kernels have one or the other,
// or both.
type Way string

// The ways. NoQueue is the zero value.
const (
	NoQueue     Way = ""
	NativeQueue Way = "native" // nftables' own expression, CONFIG_NFT_QUEUE
	TargetQueue Way = "xt"     // iptables' target, CONFIG_NETFILTER_XT_TARGET_NFQUEUE and CONFIG_NFT_COMPAT
)

// queueRevision is the target's version with the bypass flag.
const queueRevision = 3

// verdict sends to the queue; while nobody has it open, packets pass.
func (w Way) verdict() expr.Any {
	if w == NativeQueue {
		return &expr.Queue{Num: QueueNumber, Total: 1, Flag: expr.QueueFlagBypass}
	}
	const bypass = 1
	info := make(xt.Unknown, 0, 8) // struct xt_NFQ_info_v3: queue, queues, flags; padded
	for _, field := range []uint16{QueueNumber, 1, bypass, 0} {
		info = append(info, binaryutil.NativeEndian.PutUint16(field)...)
	}
	return &expr.Target{Name: "NFQUEUE", Rev: queueRevision, Info: &info}
}
