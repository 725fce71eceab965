package invariant_test

import (
	"strings"
	"testing"

	"pestle/broker/core"
	"pestle/sim/invariant"
)

// snapshot is that of a leader: eight messages, of which three are finished in
// order and one more, one waits, two are in flight and one is deferred.
func snapshot() *core.Stats {
	return &core.Stats{
		Node: 2,
		Groups: []core.GroupStats{
			{Group: 0, Role: core.Follower, First: 1, Commit: 3, Applied: 3, Last: 3},
			{Group: 1, Role: core.Leader, First: 5, Commit: 41, Applied: 41, Last: 42},
		},
		Topics: []core.TopicStats{{
			Name: "orders", Group: 1, Leads: true, MessageCount: 8,
			Channels: []core.ChannelStats{{
				Name: "billing", MessageCount: 8, FinishedBelow: 3, Depth: 1, InFlight: 2, Deferred: 1,
				Clients: []core.ClientStats{
					{ClientID: "c1", State: 3, Ready: 2, InFlight: 2, MessageCount: 7, FinishCount: 4, RequeueCount: 1},
					{ClientID: "c2", State: 3, Ready: 1},
				},
			}},
		}},
	}
}

func TestOfStatistics(t *testing.T) {
	if found := invariant.OfStatistics(snapshot()); found != nil {
		t.Fatalf("a snapshot that fits together: %s", found.Detail)
	}
	for name, c := range map[string]struct {
		spoil func(s *core.Stats, ch *core.ChannelStats)
		want  string
	}{
		"applied behind the log": {func(s *core.Stats, _ *core.ChannelStats) { s.Groups[1].Last = 40 }, "group 1"},
		"applied behind commit":  {func(s *core.Stats, _ *core.ChannelStats) { s.Groups[0].Applied = 4 }, "group 0"},
		"a gap before the log":   {func(s *core.Stats, _ *core.ChannelStats) { s.Groups[1].First = 43 }, "group 1"},
		"an owner without group": {func(s *core.Stats, _ *core.ChannelStats) { s.Groups[1].Role = core.Follower }, "leads topic orders and not its group 1"},
		"a negative depth":       {func(_ *core.Stats, ch *core.ChannelStats) { ch.Depth = -1 }, "negative"},
		"more than was sent":     {func(_ *core.Stats, ch *core.ChannelStats) { ch.MessageCount = 9 }, "more than its topic got"},
		"a floor above the end":  {func(_ *core.Stats, ch *core.ChannelStats) { ch.FinishedBelow = 9 }, "more than its topic got"},
		"more than is left":      {func(_ *core.Stats, ch *core.ChannelStats) { ch.Depth = 3 }, "it holds more than it got and has not finished"},
		"left behind the floor": {func(s *core.Stats, ch *core.ChannelStats) {
			ch.FinishedBelow, ch.Depth, ch.Deferred = 8, 0, 0
		}, "it holds more"},
		"more than ready":       {func(_ *core.Stats, ch *core.ChannelStats) { ch.Clients[0].Ready = 1 }, "c1 has more in flight"},
		"of nobody":             {func(_ *core.Stats, ch *core.ChannelStats) { ch.InFlight, ch.Depth = 1, 2 }, "another number in flight"},
		"answers without cause": {func(_ *core.Stats, ch *core.ChannelStats) { ch.Clients[0].MessageCount = 4 }, "c1 answered more"},
	} {
		s := snapshot()
		c.spoil(s, &s.Topics[0].Channels[0])
		if found := invariant.OfStatistics(s); found == nil || found.Name != invariant.Statistics || !strings.Contains(found.Detail, c.want) {
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
	}
}

// What a broker that does not lead says of deliveries is nothing.
func TestOfStatisticsElsewhere(t *testing.T) {
	s := snapshot()
	s.Groups[1].Role, s.Topics[0].Leads = core.Follower, false
	ch := &s.Topics[0].Channels[0]
	ch.InFlight, ch.Deferred, ch.Clients = 0, 0, nil
	if found := invariant.OfStatistics(s); found != nil {
		t.Error(found.Detail)
	}
}
