package sim

import (
	"slices"

	"pestle/history"
	"pestle/scenarios"
)

// sentinels follows the producers' last messages through the raw streams.
type sentinels struct {
	channels  []string
	producers int
	ids       []string
	consumed  []map[string]bool // by channel: ids of producers' messages
}

func newSentinels(load scenarios.Workload) *sentinels {
	s := &sentinels{producers: len(load.Producers)}
	for _, c := range load.Consumers {
		if !slices.Contains(s.channels, c.Channel) {
			s.channels = append(s.channels, c.Channel)
			s.consumed = append(s.consumed, map[string]bool{})
		}
	}
	return s
}

func (s *sentinels) observe(e history.Event) {
	switch {
	case e.Ev == history.Note && e.What == history.NoteSentinel:
		s.ids = append(s.ids, e.ID)
	case e.Ev == history.Consume:
		if i := slices.Index(s.channels, e.Channel); i >= 0 {
			s.consumed[i][e.ID] = true
		}
	}
}

func (s *sentinels) sent() bool { return len(s.ids) >= s.producers }

// delivered reports whether a channel has delivered every sentinel.
func (s *sentinels) delivered(channel int) bool {
	for _, id := range s.ids {
		if !s.consumed[channel][id] {
			return false
		}
	}
	return true
}
