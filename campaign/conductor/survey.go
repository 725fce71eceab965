package conductor

import (
	"context"
	"time"

	"pestle/faults"
)

// surveyWithin is how long a survey waits for the slowest broker: one that is
// paused says nothing, and the others are not to wait for it.
const surveyWithin = 250 * time.Millisecond

// stats is the part of /stats that the run is led by: NSQ's keys, and those
// of a cluster.
type stats struct {
	Groups []groupStats `json:"groups"`
	Topics []struct {
		Name     string `json:"topic_name"`
		Group    uint32 `json:"group"` // that holds its messages
		Leads    bool   `json:"leads"` // this broker leads that group
		Depth    int64  `json:"depth"`
		Channels []struct {
			Name     string `json:"channel_name"`
			Depth    int64  `json:"depth"`
			InFlight int64  `json:"in_flight_count"`
			Deferred int64  `json:"deferred_count"`
		} `json:"channels"`
	} `json:"topics"`
}

// groupStats is what a broker knows of a group.
type groupStats struct {
	Group uint32 `json:"group"` // 0: the metadata
	Role  string `json:"role"`
	Term  uint64 `json:"term"`
}

func (s *stats) group(number uint32) groupStats {
	for _, g := range s.Groups {
		if g.Group == number {
			return g
		}
	}
	return groupStats{}
}

// survey is what the brokers said of one topic at about the same time.
type survey struct {
	topic   string
	size    int        // of the cluster; a target of one broker leads, whatever it says
	answers []surveyed // in the order they came
}

type surveyed struct {
	node  *node
	stats stats
}

// ask surveys the members of the cluster that run, in the background. The
// channel gets one survey: as soon as more answers would change nothing, or
// surveyWithin from now.
func (c *Conductor) ask() <-chan survey {
	s := survey{topic: c.Plan.Workload.Topic, size: max(c.Plan.Target.Nodes, 1)}
	nodes := c.members(true)
	out := make(chan survey, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), surveyWithin)
		defer cancel()
		answers := make(chan *surveyed, len(nodes))
		for _, n := range nodes {
			go func() {
				said, err := n.stats(ctx, s.topic)
				if err != nil {
					answers <- nil
					return
				}
				answers <- &surveyed{node: n, stats: said}
			}()
		}
		for range nodes {
			if a := <-answers; a != nil {
				s.answers = append(s.answers, *a)
			}
			if s.complete() {
				break
			}
		}
		out <- s
	}()
	return out
}

// complete tells that more answers would change nothing.
func (s survey) complete() bool {
	_, topic := s.leader()
	_, metadata := s.metadataLeader()
	return topic && metadata
}

// leader returns the answer of the broker that leads the topic's group.
func (s survey) leader() (surveyed, bool) {
	if s.size == 1 && len(s.answers) == 1 {
		return s.answers[0], true
	}
	return s.leading(func(said *stats) (leads bool, term uint64) {
		for _, t := range said.Topics {
			if t.Name == s.topic {
				return t.Leads, said.group(t.Group).Term
			}
		}
		return false, 0
	})
}

// metadataLeader returns the answer of the broker that leads the metadata.
func (s survey) metadataLeader() (surveyed, bool) {
	return s.leading(func(said *stats) (leads bool, term uint64) {
		g := said.group(0)
		return g.Role == "leader", g.Term
	})
}

// cluster is what the survey tells of the members.
func (s survey) cluster(members []*node) faults.Cluster {
	var c faults.Cluster
	if lead, known := s.leader(); known {
		c.Leader = lead.node.name
	}
	if lead, known := s.metadataLeader(); known {
		c.Metadata = lead.node.name
	}
	for _, n := range members {
		c.Brokers = append(c.Brokers, n.name)
	}
	return c
}

// leading returns the answer of the broker that leads a group, of which role
// tells what an answer says. One that was cut off or paused may still believe
// that it leads: the highest term is right, and of any majority one knows it.
func (s survey) leading(role func(*stats) (leads bool, term uint64)) (lead surveyed, known bool) {
	if len(s.answers) <= s.size/2 {
		return surveyed{}, false
	}
	var highest uint64
	for _, a := range s.answers {
		leads, term := role(&a.stats)
		if term > highest {
			lead, highest, known = surveyed{}, term, false
		}
		if leads && term == highest {
			lead, known = a, true
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
