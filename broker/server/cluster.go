package server

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"pestle/broker/core"
)

// ClusterStatus is the JSON of GET /cluster: what one node knows of its
// cluster, from one consistent snapshot.
type ClusterStatus struct {
	Node       uint64         `json:"node"`
	Health     string         `json:"health"`               // "OK", or why publishes are refused or soon may be
	Quarantine string         `json:"quarantine,omitempty"` // why this node takes part in nothing
	Members    []MemberStatus `json:"members"`
	Draining   []uint64       `json:"draining"` // nodes that are not to lead
	Groups     []GroupStatus  `json:"groups"`   // by group; 0 is the metadata
}

// MemberStatus is one node of the cluster, as the metadata say.
type MemberStatus struct {
	ID      uint64 `json:"id"`
	Address string `json:"address"`
	Learner bool   `json:"learner"` // it gets everything and has no vote yet
}

// GroupStatus is what the node that was asked knows of one group. Positions
// are indexes of entries in the group's log.
type GroupStatus struct {
	Group   uint32       `json:"group"`
	Role    string       `json:"role"`  // follower, candidate, leader or learner
	State   string       `json:"state"` // healthy, degraded, read-only or electing
	Term    uint64       `json:"term"`
	Lead    uint64       `json:"lead"` // node that leads it; 0: none known
	First   uint64       `json:"first"`
	Commit  uint64       `json:"commit"`
	Applied uint64       `json:"applied"`
	Last    uint64       `json:"last"`
	Peers   []PeerStatus `json:"peers,omitempty"` // only its leader knows
}

// PeerStatus is how far another node has come in a group.
type PeerStatus struct {
	Node    uint64 `json:"node"`
	Match   uint64 `json:"match"`  // it has everything up to here on disk
	Active  bool   `json:"active"` // heard of lately
	Learner bool   `json:"learner"`
}

// Name returns how people call a group.
func (g GroupStatus) Name() string { return groupName(g.Group) }

func groupName(group uint32) string {
	if group == 0 {
		return "metadata"
	}
	return strconv.FormatUint(uint64(group), 10)
}

// Troubles says what keeps the node from serving everything, one line each;
// none when every group has a leader that it knows.
func (c ClusterStatus) Troubles() (lines []string) {
	if c.Quarantine != "" {
		return []string{"quarantine: " + c.Quarantine}
	}
	for _, g := range c.Groups {
		if g.State == core.Healthy.String() || g.State == core.Degraded.String() {
			continue
		}
		why := "no leader is known"
		if g.Lead != 0 {
			why = fmt.Sprintf("node %d leads it without a majority", g.Lead)
		}
		lines = append(lines, fmt.Sprintf("group %s is %s: %s", g.Name(), g.State, why))
	}
	if c.Health != healthy && len(lines) == 0 { // else it is about the groups
		lines = []string{c.Health}
	}
	return lines
}

func describeCluster(st *core.Stats) ClusterStatus {
	out := ClusterStatus{
		Node: st.Node, Health: st.Health, Quarantine: st.Quarantine,
		Members:  make([]MemberStatus, 0, len(st.Cluster)),
		Draining: append([]uint64{}, st.Draining...),
		Groups:   describeGroups(st.Groups),
	}
	for _, m := range st.Cluster {
		out.Members = append(out.Members, MemberStatus(m))
	}
	return out
}

func describeGroups(groups []core.GroupStats) []GroupStatus {
	out := make([]GroupStatus, 0, len(groups))
	for _, g := range groups {
		group := GroupStatus{
			Group: g.Group, Role: g.Role.String(), State: g.State.String(), Term: g.Term, Lead: g.Lead,
			First: g.First, Commit: g.Commit, Applied: g.Applied, Last: g.Last,
		}
		for _, p := range g.Peers {
			group.Peers = append(group.Peers, PeerStatus(p))
		}
		out = append(out, group)
	}
	return out
}

// cluster is GET /cluster.
func (s *Server) cluster(r *http.Request) (any, error) {
	reply, err := s.ask(r.Context(), core.Request{Kind: core.ReqStats})
	if err != nil {
		return nil, err
	}
	return describeCluster(reply.Stats), nil
}

// transfer is POST /cluster/transfer?group=&node=: the node shall lead the
// group, or all.
func (s *Server) transfer(r *http.Request) (any, error) {
	return s.change(r, func(values url.Values) (core.Request, error) {
		group, err := groupOf(values)
		if err != nil {
			return core.Request{}, err
		}
		node, err := nodeOf(values, "node")
		return core.Request{Kind: core.ReqTransfer, Group: group, Node: node}, err
	})
}

// drain is POST /cluster/drain?node=&undo=: the node leads nothing any more.
func (s *Server) drain(r *http.Request) (any, error) {
	return s.change(r, func(values url.Values) (core.Request, error) {
		node, err := nodeOf(values, "node")
		return core.Request{Kind: core.ReqDrain, Node: node, Undo: flag(values, "undo", false, true)}, err
	})
}

// replace is POST /cluster/replace?node=&new=&address=: another node, which
// was started to join, takes the place of one that lost its data. Without new
// and address the node is removed.
func (s *Server) replace(r *http.Request) (any, error) {
	return s.change(r, func(values url.Values) (core.Request, error) {
		req := core.Request{Kind: core.ReqReplace, Address: values.Get("address")}
		var err error
		if req.Node, err = nodeOf(values, "node"); err != nil || !values.Has("new") && req.Address == "" {
			return req, err
		}
		if req.NewNode, err = nodeOf(values, "new"); err != nil {
			return req, err
		}
		if _, _, err := net.SplitHostPort(req.Address); err != nil {
			return req, &httpError{http.StatusBadRequest, "INVALID_ARG_ADDRESS", fmt.Sprintf("address %q: give host:port, where the other nodes reach node %d", req.Address, req.NewNode)}
		}
		return req, nil
	})
}

// change asks the core for a change of the cluster.
func (s *Server) change(r *http.Request, parse func(url.Values) (core.Request, error)) (any, error) {
	values, err := parameters(r)
	if err != nil {
		return nil, err
	}
	req, err := parse(values)
	if err != nil {
		return nil, err
	}
	_, err = s.ask(r.Context(), req)
	return "OK", err
}

// nodeOf returns the node that a parameter names.
func nodeOf(values url.Values, parameter string) (uint64, error) {
	if !values.Has(parameter) {
		return 0, refuse(http.StatusBadRequest, "MISSING_ARG_"+strings.ToUpper(parameter))
	}
	node, err := strconv.ParseUint(values.Get(parameter), 10, 64)
	if err != nil || node == 0 {
		return 0, &httpError{http.StatusBadRequest, "INVALID_ARG_" + strings.ToUpper(parameter), "ids of nodes are numbers from 1"}
	}
	return node, nil
}

// groupOf returns the group that the parameter group names.
func groupOf(values url.Values) (uint32, error) {
	switch text := values.Get("group"); text {
	case "":
		return 0, refuse(http.StatusBadRequest, "MISSING_ARG_GROUP")
	case "all":
		return core.AllGroups, nil
	case groupName(0):
		return 0, nil
	default:
		group, err := strconv.ParseUint(text, 10, 32)
		if err != nil || group == core.AllGroups {
			return 0, &httpError{http.StatusBadRequest, "INVALID_ARG_GROUP", "give the number of a group, metadata or all"}
		}
		return uint32(group), nil
	}
}
