package process

import (
	"context"
	"sync"
	"time"
)

// surveyWithin is how long a survey waits for the slowest broker: one that is
// paused says nothing, and the others are not to wait for it.
const surveyWithin = 250 * time.Millisecond

// stats is the part of /stats that the run is led by: NSQ's keys, and those
// of a cluster.
type stats struct {
	Groups []struct {
		Group uint32 `json:"group"` // 0: the metadata
		Role  string `json:"role"`
		Term  uint64 `json:"term"`
	} `json:"groups"`
	Topics []struct {
		Name     string `json:"topic_name"`
		Group    uint32 `json:"group"` // that holds its messages
		Leads    bool   `json:"leads"` // this node leads that group
		Depth    int64  `json:"depth"`
		Channels []struct {
			Name     string `json:"channel_name"`
			Depth    int64  `json:"depth"`
			InFlight int64  `json:"in_flight_count"`
			Deferred int64  `json:"deferred_count"`
		} `json:"channels"`
	} `json:"topics"`
}

// term is the term that the node knows of a group.
func (s *stats) term(group uint32) uint64 {
	for _, g := range s.Groups {
		if g.Group == group {
			return g.Term
		}
	}
	return 0
}

// survey is what the brokers said of one topic at about the same time.
type survey struct {
	topic   string
	size    int        // of the cluster; a target of one broker leads, whatever it says
	answers []surveyed // of those that answered, in the order they were asked
}

type surveyed struct {
	node  *node
	stats stats
}

// ask surveys the brokers that run, in the background. The channel gets one
// survey, about surveyWithin from now at the latest.
func (w *World) ask() <-chan survey {
	s := survey{topic: w.Plan.Workload.Topic, size: max(w.Plan.Target.Nodes, 1)}
	nodes := w.running()
	out := make(chan survey, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), surveyWithin)
		defer cancel()
		answers := make([]*surveyed, len(nodes))
		var all sync.WaitGroup
		for i, n := range nodes {
			all.Go(func() {
				if said, err := n.stats(ctx, s.topic); err == nil {
					answers[i] = &surveyed{node: n, stats: said}
				}
			})
		}
		all.Wait()
		for _, a := range answers {
			if a != nil {
				s.answers = append(s.answers, *a)
			}
		}
		out <- s
	}()
	return out
}

// leader returns the answer of the broker that leads the topic's group. One
// that was cut off or paused may still believe that it does; the highest term
// is right, and a majority knows of it.
func (s survey) leader() (lead surveyed, known bool) {
	if len(s.answers) <= s.size/2 {
		return surveyed{}, false
	}
	if s.size == 1 {
		return s.answers[0], true
	}
	var highest uint64
	for _, a := range s.answers {
		for _, t := range a.stats.Topics {
			if t.Name != s.topic {
				continue
			}
			term := a.stats.term(t.Group)
			if term > highest {
				lead, highest, known = surveyed{}, term, false
			}
			if t.Leads && term == highest {
				lead, known = a, true
			}
		}
	}
	return lead, known
}

// backlog returns how many messages each channel of the topic still holds:
// waiting (in the topic or the channel), in flight or deferred.
func (a surveyed) backlog(topic string) map[string]int64 {
	left := map[string]int64{}
	for _, t := range a.stats.Topics {
		if t.Name != topic {
			continue
		}
		for _, ch := range t.Channels {
			left[ch.Name] = t.Depth + ch.Depth + ch.InFlight + ch.Deferred
		}
	}
	return left
}
