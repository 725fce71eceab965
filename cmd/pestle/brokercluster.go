package main

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"pestle/broker/core"
)

// clusterFlags make a broker one node of several.
type clusterFlags struct {
	node    uint64
	peer    string
	cluster string
	join    bool
	groups  uint32
}

// maxDataGroups is more than any machine has use for.
const maxDataGroups = 64

func (f *clusterFlags) define(flags *pflag.FlagSet) {
	flags.Uint64Var(&f.node, "node-id", 1, "`number` of this node, from 1; never used again for a node that lost its data")
	flags.StringVar(&f.peer, "peer-address", "", "`host:port` to listen on for other nodes (default this node's address in --cluster)")
	flags.StringVar(&f.cluster, "cluster", "", "`nodes` that a new cluster begins with, this one among them: 1=host:port,2=host:port,3=host:port")
	flags.BoolVar(&f.join, "join", false, "wait to be added to a running cluster; --cluster tells where its nodes are")
	flags.Uint32Var(&f.groups, "data-groups", 4, "`number` of groups, each with a leader of its own, that topics are spread over, 1 to 64; the same on every node")
}

// set checks the flags and puts them into cfg.
func (f *clusterFlags) set(cfg *core.Config) error {
	if f.node == 0 {
		return fmt.Errorf("--node-id is 0; it must be at least 1")
	}
	if f.groups < 1 || f.groups > maxDataGroups {
		return fmt.Errorf("--data-groups is %d; it must be 1 to %d", f.groups, maxDataGroups)
	}
	cfg.Node, cfg.DataGroups, cfg.Join = f.node, f.groups, f.join
	if f.cluster == "" {
		switch {
		case f.join:
			return fmt.Errorf("--join needs --cluster with the nodes of the running cluster")
		case f.peer != "":
			return fmt.Errorf("--peer-address needs --cluster with the nodes that may connect, or this one alone: %d=%s", f.node, f.peer)
		}
		return nil
	}
	members, err := parseMembers(f.cluster)
	if err != nil {
		return fmt.Errorf("--cluster %q: %w", f.cluster, err)
	}
	cfg.Cluster, err = f.locate(members)
	return err
}

// locate finds where the other nodes reach this one, and returns the members
// with this node among them.
func (f *clusterFlags) locate(members []core.Member) ([]core.Member, error) {
	at := slices.IndexFunc(members, func(m core.Member) bool { return m.ID == f.node })
	switch {
	case at >= 0 && f.peer == "":
		f.peer = members[at].Address
	case at < 0 && !f.join:
		return nil, fmt.Errorf("--cluster %q does not have node %d, which is this one (--node-id)", f.cluster, f.node)
	case at < 0:
		if err := checkAddress(f.peer); err != nil {
			return nil, fmt.Errorf("--peer-address, where the other nodes reach this one when --cluster does not tell: %w", err)
		}
		members = append(members, core.Member{ID: f.node, Address: f.peer})
	}
	return members, nil
}

// parseMembers reads id=host:port,id=host:port.
func parseMembers(text string) ([]core.Member, error) {
	var members []core.Member
	for entry := range strings.SplitSeq(text, ",") {
		id, address, found := strings.Cut(entry, "=")
		if !found {
			return nil, fmt.Errorf("%q is not a node; give id=host:port", entry)
		}
		node, err := parseNode(id)
		if err != nil {
			return nil, err
		}
		if err := checkAddress(address); err != nil {
			return nil, fmt.Errorf("node %d: %w", node, err)
		}
		for _, m := range members {
			if m.ID == node {
				return nil, fmt.Errorf("node %d is there twice", node)
			}
			if m.Address == address {
				return nil, fmt.Errorf("nodes %d and %d have the same address", m.ID, node)
			}
		}
		members = append(members, core.Member{ID: node, Address: address})
	}
	return members, nil
}

// parseNode reads a node's id.
func parseNode(text string) (uint64, error) {
	node, err := strconv.ParseUint(text, 10, 64)
	if err != nil || node == 0 {
		return 0, fmt.Errorf("%q is not a node's id; ids are numbers from 1", text)
	}
	return node, nil
}

// checkAddress refuses an address that nobody could dial.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%w; give host:port", err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || host == "" {
		return fmt.Errorf("%q cannot be dialled; give host:port with a port from 1 to 65535", address)
	}
	return nil
}
