//go:build linux

package rules

import (
	"errors"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// ProbeTable tells why there can be no table here; nil: there can.
func ProbeTable() error { return probe() }

// ProbeReject tells why nothing can be rejected with an RST.
func ProbeReject() error {
	return probe(append(isTCP(), &expr.Reject{Type: unix.NFT_REJECT_TCP_RST})...)
}

// ProbeNumgen tells why the kernel cannot draw numbers.
func ProbeNumgen() error {
	return probe(&expr.Numgen{Register: 1, Type: unix.NFT_NG_RANDOM, Modulus: 1000})
}

// ProbeQueue returns a way to send packets to a queue, or why there is none.
func ProbeQueue() (Way, error) {
	native := probe(NativeQueue.verdict())
	if native == nil {
		return NativeQueue, nil
	}
	if errors.Is(native, unix.EPERM) {
		return NoQueue, native
	}
	target := probe(TargetQueue.verdict())
	if target == nil {
		return TargetQueue, nil
	}
	return NoQueue, fmt.Errorf("neither nft's queue (%w) nor the NFQUEUE target (%w)", native, target)
}

// probe adds a table of its own with a rule in a chain that nothing passes, and
// removes it in the same transaction.
func probe(rule ...expr.Any) error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("open nftables: %w", err)
	}
	table := conn.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: tableName + "-probe"})
	chain := conn.AddChain(&nftables.Chain{Name: "probe", Table: table})
	if len(rule) > 0 {
		conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: rule})
	}
	conn.DelTable(table)
	err = conn.Flush()
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: no CAP_NET_ADMIN in this network namespace, or not root", err)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT):
		return fmt.Errorf("%w: the kernel was built without it", err)
	}
	return err
}
