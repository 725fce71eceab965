//det:ring0

package scenarios

import (
	"slices"

	"pestle/sim/random"
)

// Expand draws every choice of a run. The same scenario and seed give the same
// plan; each draw has a stream of its own, keyed by what it is for, so that a
// change of one key or fault line leaves the draws of the others alone.
//
// The error says that the faults do not fit into the chaos.
func Expand(s Scenario, seed uint64) (Plan, error) {
	s = s.of(s.nodes[stream(seed, []string{"target"}, "nodes").Below(int64(len(s.nodes)))])
	p := Plan{
		Schema:   PlanSchema,
		Scenario: s.Name,
		Seed:     seed,
		Target:   s.Target,
		Network:  s.network.expand(seed),
		Workload: s.workload.expand(seed),
		Phases: Phases{
			WarmUpAcks:   s.phases.warmUpAcks,
			WarmUpWithin: s.phases.warmUpWithin,
			Chaos:        s.phases.chaos,
			Quiet:        s.phases.windows(),
			Recovery:     s.phases.recovery,
			DrainWithin:  s.phases.drain,
		},
		Properties: s.properties,
		Claims:     s.claims,
	}
	p.Target.Knobs = s.knobs.expand(seed)
	occurrences, err := s.place(seed, s.draw(seed), p.Phases.Quiet)
	if err != nil {
		return Plan{}, err
	}
	p.Faults = number(occurrences)
	return p, nil
}

func (k *knobs) expand(seed uint64) *Knobs {
	if k == nil {
		return nil
	}
	key := []string{"knobs"}
	return &Knobs{
		FileSize: size(stream(seed, key, "file_size"), k.fileSize),
		Cache:    size(stream(seed, key, "cache"), k.cache),
		Log:      size(stream(seed, key, "log"), k.log),
	}
}

func (n *network) expand(seed uint64) *Network {
	if n == nil {
		return nil
	}
	key := []string{"network"}
	return &Network{
		Latency:   microseconds(stream(seed, key, "latency"), n.latency),
		Spread:    microseconds(stream(seed, key, "spread"), n.spread),
		Asymmetry: between(stream(seed, key, "asymmetry"), n.asymmetry),
		SlowerBy:  microseconds(stream(seed, key, "slower_by"), n.slowerBy),
	}
}

func (w workload) expand(seed uint64) Workload {
	out := Workload{
		Topic:             w.topic,
		AtMostOnce:        w.atMostOnce,
		Tries:             w.tries,
		Backoff:           w.backoff,
		Timeout:           w.timeout,
		MsgTimeout:        duration(stream(seed, []string{"workload"}, "msg_timeout"), w.msgTimeout),
		ConsumeAfterChaos: w.consumeAfterChaos,
	}
	for n := 1; n <= w.producers; n++ {
		name := producerName(n)
		key := []string{"producer", name}
		p := Producer{
			Name:     name,
			Interval: second / between(stream(seed, key, "rate"), w.rate),
			Pending:  int(between(stream(seed, key, "pending"), w.pending)),
			MinSize:  int(w.payload.lo), MaxSize: int(w.payload.hi),
			Seed: random.New(seed, "producer", name).Uint64(),
		}
		if p.DeferPermille = between(stream(seed, key, "defer"), w.deferShare); p.DeferPermille > 0 {
			p.DeferMin, p.DeferMax = w.deferBy.lo, w.deferBy.hi
		}
		out.Producers = append(out.Producers, p)
	}
	for _, c := range w.channels {
		for n := 1; n <= c.consumers; n++ {
			name := consumerName(c.name, n)
			key := []string{"consumer", name}
			out.Consumers = append(out.Consumers, Consumer{
				Name: name, Channel: c.name,
				InFlight:        int(between(stream(seed, key, "in_flight"), c.inFlight)),
				RequeuePermille: between(stream(seed, key, "requeue"), c.requeue),
				RequeueDelay:    duration(stream(seed, key, "requeue_delay"), c.requeueDelay),
				ForgetPermille:  between(stream(seed, key, "forget"), c.forget),
				Seed:            random.New(seed, "consumer", name).Uint64(),
			})
		}
	}
	return out
}

// stream returns the stream of one draw.
func stream(seed uint64, key []string, purpose string) *random.Stream {
	return random.New(seed, slices.Concat(key, []string{purpose})...)
}

// between draws a number of a span.
func between(r *random.Stream, s span) int64 { return r.Between(s.lo, s.hi) }

// duration draws a duration of a span, in whole milliseconds where the span
// allows it: nobody wants to read more digits.
func duration(r *random.Stream, s span) int64 {
	if s.lo%millisecond == 0 && s.hi%millisecond == 0 {
		return r.Between(s.lo/millisecond, s.hi/millisecond) * millisecond
	}
	return microseconds(r, s)
}

// size draws a number of bytes of a span, in whole KiB where the span allows
// it.
func size(r *random.Stream, s span) int64 {
	const kib = 1 << 10
	if s.lo%kib == 0 && s.hi%kib == 0 {
		return r.Between(s.lo/kib, s.hi/kib) * kib
	}
	return between(r, s)
}

// microseconds draws a duration of a span in whole microseconds.
func microseconds(r *random.Stream, s span) int64 {
	return r.Between(s.lo/microsecond, s.hi/microsecond) * microsecond
}
