package process

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
	joinEvery  = 100 * time.Millisecond // how often it is asked for
)

// successor starts what comes after a process that a fault has ended: itself,
// or the spare that replaces it.
func (w *World) successor(a *action) error {
	a.again = a.child
	if a.fault.Kind == faults.Replace {
		a.again = w.nextSpare()
	}
	return w.start(a.again)
}

// nextSpare returns the first broker that was never started; the plan has one
// for each replacement.
func (w *World) nextSpare() *child {
	i := slices.IndexFunc(w.children, func(c *child) bool { return c.spare() && c.lives == 0 })
	return w.children[i]
}

// joined ends a fault whose successor is ready, which of a replacement it is
// when the cluster has taken it.
func (w *World) joined(a *action) (ended bool, err error) {
	if a.fault.Kind != faults.Replace {
		return true, w.ended(a)
	}
	if a.joined == nil {
		a.joined = join(w.members(false), a.child.node, a.again.node)
	}
	select {
	case err := <-a.joined:
		if err != nil {
			return false, err
		}
		a.again.node.member = true
		return true, w.ended(a)
	default:
		return false, nil
	}
}

// join asks the members, one after another, to take a new broker in the place
// of an old one, until they have. The channel gets the outcome.
func join(members []*node, gone, come *node) <-chan error {
	out := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), joinWithin)
		defer cancel()
		last := errors.New("no broker was asked")
		for {
			for _, n := range members {
				done, err := n.replace(ctx, gone, come)
				if done {
					out <- nil
					return
				}
				if err != nil {
					last = err
				}
			}
			select {
			case <-ctx.Done():
				out <- fmt.Errorf("%s is no voter in the place of %s after %v; the last answer: %w", come.name, gone.name, joinWithin, last)
				return
			case <-time.After(joinEvery):
			}
		}
	}()
	return out
}

// membership is the part of GET /cluster that tells who is in.
type membership struct {
	Members []struct {
		ID      uint64 `json:"id"`
		Learner bool   `json:"learner"`
	} `json:"members"`
}

// replace tells whether n knows come to be a voter and gone to be out. It asks
// for that where nothing has begun.
func (n *node) replace(ctx context.Context, gone, come *node) (done bool, err error) {
	var now membership
	if err := n.call(ctx, http.MethodGet, "/cluster", nil, &now); err != nil {
		return false, err
	}
	known, voter, out := false, false, true
	for _, m := range now.Members {
		switch m.ID {
		case come.id:
			known, voter = true, !m.Learner
		case gone.id:
			out = false
		}
	}
	if voter && out {
		return true, nil
	}
	if known {
		return false, errors.New("it is catching up")
	}
	return false, n.call(ctx, http.MethodPost, "/cluster/replace", url.Values{
		"node": {strconv.FormatUint(gone.id, 10)}, "new": {strconv.FormatUint(come.id, 10)}, "address": {come.peer},
	}, nil)
}
