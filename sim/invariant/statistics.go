package invariant

import (
	"pestle/broker/core"
	"pestle/broker/nsq"
)

// OfStatistics says what is wrong with one snapshot of a broker's statistics,
// whose numbers have to fit together; nil: nothing.
//
//	commit          what is applied is committed and in the log; what the log leaves out is committed
//	in flight       a channel's are those of its clients, and no client has more than it asked for
//	conservation    what waits, is in flight or deferred is not more than was got and is not finished
//	owner           who says that it leads a topic leads its group
//	deliveries      a client answered no more than it was sent
func OfStatistics(s *core.Stats) *Breach {
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Applied > g.Commit || g.Applied > g.Last || g.First > g.Commit+1 {
			return breach(Statistics, "broker-%d, group %d: the log begins at %d, applied %d, commit %d, last %d",
				s.Node, g.Group, g.First, g.Applied, g.Commit, g.Last)
		}
	}
	for i := range s.Topics {
		t := &s.Topics[i]
		if t.Leads && !leadsGroup(s, t.Group) {
			return breach(Statistics, "broker-%d leads topic %s and not its group %d", s.Node, t.Name, t.Group)
		}
		for j := range t.Channels {
			if found := ofChannel(s, t, &t.Channels[j]); found != nil {
				return found
			}
		}
	}
	return nil
}

func leadsGroup(s *core.Stats, number uint32) bool {
	for i := range s.Groups {
		if g := &s.Groups[i]; g.Group == number {
			return g.Role == core.Leader
		}
	}
	return false
}

func ofChannel(s *core.Stats, t *core.TopicStats, ch *core.ChannelStats) *Breach {
	wrong := func(what string) *Breach {
		return breach(Statistics, "broker-%d, topic %s, channel %s: %s: %d messages of %d, %d waiting, %d in flight, %d deferred, all below %d finished",
			s.Node, t.Name, ch.Name, what, ch.MessageCount, t.MessageCount, ch.Depth, ch.InFlight, ch.Deferred, ch.FinishedBelow)
	}
	held := ch.Depth + ch.InFlight + ch.Deferred
	switch {
	case ch.Depth < 0 || ch.InFlight < 0 || ch.Deferred < 0 || ch.FinishedBelow < 0:
		return wrong("a count is negative")
	case ch.MessageCount > t.MessageCount || ch.FinishedBelow > t.MessageCount:
		return wrong("it has more than its topic got")
	case held > ch.MessageCount || held > t.MessageCount-ch.FinishedBelow:
		return wrong("it holds more than it got and has not finished")
	}
	if !t.Leads {
		return nil // what is in flight is not known
	}
	inFlight := int64(0)
	for i := range ch.Clients {
		c := &ch.Clients[i]
		inFlight += c.InFlight
		if c.InFlight > c.Ready && c.State == int(nsq.StateSubscribed) {
			return wrong("client " + c.ClientID + " has more in flight than it is ready for")
		}
		if c.FinishCount+c.RequeueCount > c.MessageCount {
			return wrong("client " + c.ClientID + " answered more than it was sent")
		}
	}
	if inFlight != ch.InFlight {
		return wrong("its clients have another number in flight")
	}
	return nil
}
