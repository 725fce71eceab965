package conductor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"pestle/faults"
)

// Bounds of a replacement.
const (
	joinWithin = 20 * time.Second       // a new broker has to have caught up and be a voter
	joinEvery  = 100 * time.Millisecond // how often the others are asked whether it is
)

// successor starts what comes after a process that a fault has ended: itself,
// or the spare that replaces it.
func (c *Conductor) successor(a *action) error {
	a.again = a.on
	if a.fault.Kind == faults.Replace {
		a.again = c.nextSpare()
	}
	return c.start(a.again)
}

// nextSpare returns the first broker that was never started; the plan has one
// for each replacement.
func (c *Conductor) nextSpare() *process {
	i := slices.IndexFunc(c.processes, func(p *process) bool { return p.Spare && p.lives == 0 })
	return c.processes[i]
}

// joined ends a fault whose successor is ready, which of a replacement it is
// when the cluster has taken it.
func (c *Conductor) joined(a *action) (ended bool, err error) {
	if a.fault.Kind != faults.Replace {
		return true, c.over(a)
	}
	if a.joined == nil {
		a.joined = join(c.members(false), a.on.node, a.again.node)
	}
	select {
	case err := <-a.joined:
		if err != nil {
			return false, err
		}
		a.again.node.member = true
		return true, c.over(a)
	default:
		return false, nil
	}
}

// join asks the members, one after another, to take a new broker in the place
// of an old one, and waits until every group has. The channel gets the outcome.
func join(members []*node, gone, come *node) <-chan error {
	out := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), joinWithin)
		defer cancel()
		last := errors.New("no broker was asked")
		for turn, asked := 0, false; ; turn++ {
			if !asked {
				last = members[turn%len(members)].replace(ctx, gone, come)
				asked = last == nil
			} else if taken(lookAt(ctx, append(members, come)), gone.id, come.id) {
				out <- nil
				return
			}
			select {
			case <-ctx.Done():
				if asked {
					last = errors.New("it was accepted")
				}
				out <- fmt.Errorf("%s is no voter in the place of %s after %v; what became of asking for it: %w", come.name, gone.name, joinWithin, last)
				return
			case <-time.After(joinEvery):
			}
		}
	}()
	return out
}

// replace asks one broker to see to a replacement.
func (n *node) replace(ctx context.Context, gone, come *node) error {
	return n.call(ctx, http.MethodPost, "/cluster/replace", url.Values{
		"node": {strconv.FormatUint(gone.id, 10)}, "new": {strconv.FormatUint(come.id, 10)}, "address": {come.Peer},
	}, nil)
}

// membership is the part of GET /cluster that tells who is in which group.
type membership struct {
	Node   uint64 `json:"node"` // that was asked
	Groups []struct {
		Group uint32 `json:"group"`
		Role  string `json:"role"`
		Term  uint64 `json:"term"`
		Peers []struct {
			Node    uint64 `json:"node"`
			Learner bool   `json:"learner"`
		} `json:"peers"` // the others, as the group's leader knows them
	} `json:"groups"`
}

// lookAt collects what those nodes say that answer.
func lookAt(ctx context.Context, nodes []*node) []membership {
	var list []membership
	for _, n := range nodes {
		var said membership
		if err := n.call(ctx, http.MethodGet, "/cluster", nil, &said); err == nil {
			list = append(list, said)
		}
	}
	return list
}

// taken tells whether every group has a leader that counts the node come as a
// voter and gone not at all.
func taken(said []membership, gone, come uint64) bool {
	highest, done := map[uint32]uint64{}, map[uint32]bool{}
	for _, m := range said {
		for _, g := range m.Groups {
			if g.Term > highest[g.Group] {
				highest[g.Group], done[g.Group] = g.Term, false
			}
			if g.Role != "leader" || g.Term < highest[g.Group] {
				continue
			}
			voter, out := m.Node == come, true
			for _, p := range g.Peers {
				voter = voter || p.Node == come && !p.Learner
				out = out && p.Node != gone
			}
			done[g.Group] = voter && out
		}
	}
	for group := range highest {
		if !done[group] {
			return false
		}
	}
	return len(highest) > 0
}
