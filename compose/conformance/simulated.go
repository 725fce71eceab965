package conformance

import (
	"fmt"
	"strconv"
	"strings"

	"pestle/broker/core"
	"pestle/campaign"
	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
	"pestle/sim"
)

// Simulated carries a plan out in simulation.
func Simulated(p scenarios.Plan) (*Run, error) {
	r := &Run{World: campaign.WorldSim, Plan: p}
	var events []history.Event
	var ends endings
	result, err := sim.Run(sim.Options{
		Plan: p, Log: ends.read,
		Sink:       func(e history.Event) error { events = append(events, e); return nil },
		Statistics: func(now int64, broker string, s *core.Stats) { r.Samples = append(r.Samples, sampled(now, broker, s)) },
	})
	if err != nil {
		return nil, fmt.Errorf("simulate %s: %w", p.Scenario, err)
	}
	r.Faults, r.Met = result.Faults, Met{Doubled: result.Met.Doubled, Damaged: result.Met.Damaged}
	if err := r.take(events); err != nil {
		return nil, fmt.Errorf("simulate %s: %w", p.Scenario, err)
	}
	chaosBegan := events[0].T - r.Events[0].T
	r.Orderly = ends.orderly(r.Faults, chaosBegan)
	return r, nil
}

func sampled(now int64, broker string, s *core.Stats) Sample {
	out := Sample{T: now, Broker: broker, Quarantine: s.Quarantine, Connected: map[string]int64{}, Votes: map[uint64]bool{}}
	for _, c := range s.Producers {
		out.Connected[c.ClientID] = c.ConnectedWall
	}
	for _, t := range s.Topics {
		for _, ch := range t.Channels {
			for _, c := range ch.Clients {
				out.Connected[c.ClientID] = c.ConnectedWall
			}
		}
	}
	for _, g := range s.Groups {
		for _, p := range g.Peers {
			out.Votes[p.Node] = !p.Learner
		}
	}
	return out
}

// endings follow the log of a simulated run for how its processes end.
type endings struct {
	list  []ending
	asked map[string]bool // process → it was asked to stop, and has not ended
}

type ending struct {
	t       int64
	process string
	orderly bool
}

// read takes one line: number, time in seconds, who, what.
func (n *endings) read(line string) {
	if n.asked == nil {
		n.asked = map[string]bool{}
	}
	words := strings.SplitN(line, " ", 4)
	if len(words) < 4 {
		return
	}
	who, what := words[2], words[3]
	switch {
	case what == "event stop":
		n.asked[who] = true
	case strings.HasPrefix(what, "end "):
		t, err := strconv.ParseInt(strings.Replace(words[1], ".", "", 1), 10, 64) // nine digits behind the point: ns
		if err != nil {
			return // no line of that form
		}
		n.list = append(n.list, ending{t: t, process: who, orderly: n.asked[who]})
		delete(n.asked, who)
	}
}

// orderly finds the end that each fault brought.
func (n *endings) orderly(entries []faults.Entry, chaosBegan int64) map[int]bool {
	of := map[int]bool{}
	for _, e := range entries {
		for _, end := range n.list {
			if t := end.t - chaosBegan; end.process == e.Target && t >= e.Effective && t <= e.Ended {
				of[e.Ref] = end.orderly
			}
		}
	}
	return of
}
