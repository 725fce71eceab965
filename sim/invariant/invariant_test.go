package invariant_test

import (
	"strings"
	"testing"

	"pestle/sim/invariant"
)

type view = invariant.View

// shown is one thing that a broker shows, or that happens to it.
type shown struct {
	node uint64
	view view
	do   func(w *invariant.Watch, node uint64, v view) *invariant.Breach
}

func show(node uint64, v view) shown {
	return shown{node, v, func(w *invariant.Watch, node uint64, v view) *invariant.Breach { return w.Show(node, 1, v) }}
}

func ended(node uint64, v view) shown {
	return shown{node, v, func(w *invariant.Watch, node uint64, v view) *invariant.Breach { return w.Ended(node, 1, v) }}
}

func begin(node uint64) shown {
	return shown{node, view{}, func(w *invariant.Watch, node uint64, _ view) *invariant.Breach { w.Begin(node); return nil }}
}

func forget(node uint64) shown {
	return shown{node, view{}, func(w *invariant.Watch, node uint64, _ view) *invariant.Breach { w.Forget(node); return nil }}
}

func durable(voters int, last ...uint64) shown {
	return shown{do: func(w *invariant.Watch, _ uint64, _ view) *invariant.Breach {
		var list []view
		for _, l := range last {
			list = append(list, view{Last: l})
		}
		return w.Majority(1, list, voters)
	}}
}

func TestInvariants(t *testing.T) {
	for name, c := range map[string]struct {
		story []shown
		want  string // name of the invariant that the last of story breaks; "": it breaks none
	}{
		"an election and what follows": {[]shown{
			show(1, view{Term: 1}), show(2, view{Term: 1}),
			show(1, view{Leads: true, Term: 1, Last: 1}), show(2, view{Term: 1, Last: 1}),
			show(1, view{Leads: true, Term: 1, Commit: 1, Applied: 1, Last: 2, Chain: 7}),
			show(2, view{Term: 1, Commit: 1, Applied: 1, Last: 2, Chain: 7}),
			show(2, view{Leads: true, Term: 2, Commit: 1, Applied: 1, Last: 3, Chain: 7}),
			show(1, view{Term: 2, Commit: 1, Applied: 1, Last: 1, Chain: 7}), // its tail is cut
		}, ""},
		"a vote that is on the disk": {[]shown{
			show(1, view{Term: 4, Vote: 2, GaveTerm: 4, Gave: 2}), ended(1, view{Term: 4, Vote: 2}),
		}, ""},
		"a vote, and a later term on the disk": {[]shown{
			show(1, view{Term: 5, GaveTerm: 4, Gave: 2}), ended(1, view{Term: 5}),
		}, ""},
		"a vote of an earlier life": {[]shown{
			show(1, view{Term: 4, GaveTerm: 4, Gave: 2}), begin(1), ended(1, view{Term: 4}),
		}, ""},
		"a vote that is not on the disk": {[]shown{
			show(1, view{Term: 4, Vote: 2, GaveTerm: 4, Gave: 2}), ended(1, view{Term: 4}),
		}, invariant.VoteKept},
		"another vote is on the disk": {[]shown{
			show(1, view{Term: 4, Vote: 2, GaveTerm: 4, Gave: 2}), ended(1, view{Term: 4, Vote: 3}),
		}, invariant.VoteKept},
		"its term is not on the disk": {[]shown{
			show(1, view{Term: 4, Vote: 2, GaveTerm: 4, Gave: 2}), ended(1, view{Term: 3, Vote: 2}),
		}, invariant.VoteKept},
		"two leaders of two terms": {[]shown{
			show(1, view{Leads: true, Term: 1}), show(2, view{Leads: true, Term: 2}),
		}, ""},
		"two leaders of one term": {[]shown{
			show(1, view{Leads: true, Term: 2}), show(2, view{Leads: true, Term: 2}),
		}, invariant.OneLeader},
		"the same, one after the other": {[]shown{
			show(1, view{Leads: true, Term: 2}), show(1, view{Term: 3}), begin(2), show(2, view{Leads: true, Term: 2}),
		}, invariant.OneLeader},
		"applied before commit": {[]shown{
			show(1, view{Commit: 1, Applied: 2, Last: 2, Chain: 7}),
		}, invariant.Order},
		"commit behind the journal": {[]shown{
			show(1, view{Commit: 2, Last: 1}),
		}, ""},
		"the same on a disk": {[]shown{
			ended(1, view{Commit: 2, Last: 1}),
		}, invariant.Order},
		"applied before it is in the journal": {[]shown{
			show(1, view{Commit: 2, Applied: 2, Last: 1, Chain: 7}),
		}, invariant.Order},
		"the term falls": {[]shown{
			show(1, view{Term: 2}), show(1, view{Term: 1}),
		}, invariant.NoWayBack},
		"commit falls": {[]shown{
			show(1, view{Commit: 2, Last: 2}), show(1, view{Commit: 1, Last: 2}),
		}, invariant.NoWayBack},
		"applied falls": {[]shown{
			show(1, view{Commit: 2, Applied: 2, Last: 2, Chain: 7}), show(1, view{Commit: 2, Applied: 1, Last: 2, Chain: 6}),
		}, invariant.NoWayBack},
		"all of it in another life": {[]shown{
			show(1, view{Term: 2, Commit: 2, Applied: 2, Last: 2, Chain: 7}), begin(1),
			show(1, view{Term: 1, Commit: 1, Applied: 1, Last: 1, Chain: 6}),
		}, ""},
		"two brokers apply different entries": {[]shown{
			show(1, view{Commit: 2, Applied: 2, Last: 2, Chain: 7}), show(2, view{Commit: 2, Applied: 2, Last: 2, Chain: 8}),
		}, invariant.SameEntries},
		"a broker applies another entry in another life": {[]shown{
			show(1, view{Commit: 2, Applied: 2, Last: 2, Chain: 7}), begin(1), show(1, view{Commit: 2, Applied: 2, Last: 2, Chain: 8}),
		}, invariant.SameEntries},
		"a disk has another entry": {[]shown{
			show(1, view{Commit: 2, Applied: 2, Last: 2, Chain: 7}), ended(2, view{Commit: 2, Applied: 2, Last: 2, Chain: 8}),
		}, invariant.SameEntries},
		"a disk has applied more than it holds": {[]shown{
			ended(2, view{Commit: 2, Applied: 3, Last: 2, Chain: 8}),
		}, invariant.Order},
		"comes back with all it had": {[]shown{
			ended(1, view{Commit: 1, Applied: 1, Last: 5, Chain: 6}), begin(1), show(1, view{Commit: 1, Applied: 1, Last: 5, Chain: 6}),
		}, ""},
		"comes back with less": {[]shown{
			ended(1, view{Term: 3, Commit: 1, Applied: 1, Last: 5, LastTerm: 3, Chain: 6}), begin(1),
			show(1, view{Term: 3, Commit: 1, Applied: 1, Last: 4, LastTerm: 3, Chain: 6}),
		}, invariant.Restart},
		"comes back without what gave way to a later term": {[]shown{
			ended(1, view{Term: 3, Commit: 1, Applied: 1, Last: 5, LastTerm: 3, Chain: 6}), begin(1),
			show(1, view{Term: 4, Commit: 1, Applied: 1, Last: 4, LastTerm: 2, Chain: 6}),
		}, ""},
		"comes back having applied less": {[]shown{
			ended(1, view{Commit: 1, Applied: 1, Last: 5, Chain: 6}), begin(1), show(1, view{Last: 5}),
		}, invariant.Restart},
		"comes back with less from a disk that lost it": {[]shown{
			ended(1, view{Commit: 1, Applied: 1, Last: 5, Chain: 6}), forget(1), begin(1), show(1, view{}),
		}, ""},
		"a majority of the disks has it": {[]shown{
			show(1, view{Commit: 3, Applied: 3, Last: 3, Chain: 7}), durable(3, 3, 0, 4),
		}, ""},
		"a minority has it": {[]shown{
			show(1, view{Commit: 3, Applied: 3, Last: 3, Chain: 7}), durable(3, 3, 2, 2),
		}, invariant.DurableMajority},
		"half of them have it": {[]shown{
			show(1, view{Commit: 3, Applied: 3, Last: 3, Chain: 7}), durable(4, 3, 3, 2, 2),
		}, invariant.DurableMajority},
	} {
		t.Run(name, func(t *testing.T) {
			w := invariant.New()
			for i, s := range c.story {
				got := s.do(w, s.node, s.view)
				want := ""
				if i == len(c.story)-1 {
					want = c.want
				}
				switch {
				case got == nil && want != "":
					t.Errorf("nothing is wrong, want %s", want)
				case got != nil && got.Name != want:
					t.Errorf("%s: %s; want %q", got.Name, got.Detail, want)
				case got != nil && !strings.Contains(got.Detail, "group 1"):
					t.Errorf("it does not say where: %s", got.Detail)
				}
			}
		})
	}
}
