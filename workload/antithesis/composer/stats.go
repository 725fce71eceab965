package composer

import (
	"context"
	"net/http"
	"net/url"
)

// stats is the part of /stats that is looked at.
type stats struct {
	Node   uint64 `json:"node"`
	Groups []struct {
		Group   uint32 `json:"group"`
		Term    uint64 `json:"term"`
		First   uint64 `json:"first"`
		Commit  uint64 `json:"commit"`
		Applied uint64 `json:"applied"`
		Last    uint64 `json:"last"`
	} `json:"groups"`
	Topics []topicStats `json:"topics"`
}

type topicStats struct {
	Name         string         `json:"topic_name"`
	Group        uint32         `json:"group"`
	Leads        bool           `json:"leads"` // only then is known what is in flight and deferred
	Depth        int64          `json:"depth"`
	MessageCount int64          `json:"message_count"`
	Channels     []channelStats `json:"channels"`
}

type channelStats struct {
	Name          string `json:"channel_name"`
	Depth         int64  `json:"depth"`
	InFlight      int64  `json:"in_flight_count"`
	Deferred      int64  `json:"deferred_count"`
	MessageCount  int64  `json:"message_count"`
	FinishedBelow int64  `json:"finished_below"`
	Clients       []struct {
		ID       string `json:"client_id"`
		Ready    int64  `json:"ready_count"`
		InFlight int64  `json:"in_flight_count"`
	} `json:"clients"`
}

// left is how many messages a channel still has to deliver.
func (c channelStats) left() int64 { return c.Depth + c.InFlight + c.Deferred }

// stats asks one broker.
func (g *stage) stats(ctx context.Context, broker string) (stats, error) {
	var s stats
	err := call(ctx, http.MethodGet, broker, "/stats", url.Values{"format": {"json"}, "include_mem": {"false"}}, &s)
	return s, err
}

// backlog returns what the channels of the topic hold, as the broker of the
// highest term that leads it says; nil when none does.
func (g *stage) backlog(ctx context.Context) map[string]int64 {
	var left map[string]int64
	var highest uint64
	for _, broker := range g.HTTP {
		s, err := g.stats(ctx, broker)
		if err != nil {
			continue
		}
		for _, t := range s.Topics {
			if t.Name != topic || !t.Leads {
				continue
			}
			if term := s.term(t.Group); left == nil || term > highest {
				left, highest = map[string]int64{}, term
				for _, c := range t.Channels {
					left[c.Name] = t.Depth + c.left()
				}
			}
		}
	}
	return left
}

func (s stats) term(group uint32) uint64 {
	for _, g := range s.Groups {
		if g.Group == group {
			return g.Term
		}
	}
	return 0
}
