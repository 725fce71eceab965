package campaign

import (
	"slices"

	"pestle/checker"
	"pestle/faults"
	"pestle/scenarios"
)

// Config is what the checker has to know of a plan: what the target promises,
// what the workload does, and what the world gives no evidence for.
func Config(plan scenarios.Plan, world string) checker.Config {
	load := plan.Workload
	c := checker.Config{
		Order:       checker.OrderPartition,
		AtMostOnce:  load.AtMostOnce,
		MaxTries:    load.Tries,
		MsgTimeout:  load.MsgTimeout,
		Recovery:    plan.Phases.Recovery,
		FaultKinds:  faultKinds(plan.Faults),
		Required:    plan.Properties,
		Claims:      plan.Claims,
		WarmUpFloor: plan.Phases.WarmUpAcks,
		Ready:       map[string]int{},
		Unpromised:  map[string]string{},
	}
	if plan.Target.Kind == "nsq" {
		c.Order = checker.OrderNone
		c.Unpromised[checker.MessageOrdering] = "NSQ promises no order"
		c.Unpromised[checker.AckFinality] = "NSQ does not write finishes down: it may deliver again after any end"
		c.Unpromised[checker.NotEarly] = "NSQ forgets deferrals when it ends, and when its memory queue is full"
	}
	if world == WorldDocker {
		c.Unpromised[checker.FlowControl] = "the clients of the world docker do not tell what they hold"
		// Nobody looks into the brokers, but what they show by themselves counts.
		c.Required = slices.DeleteFunc(slices.Clone(c.Required), func(slug string) bool { return slug == checker.Invariants })
	}
	if load.ConsumeAfterChaos {
		c.Unpromised[checker.ConsumerProgress] = "the plan keeps the consumers away until the drain"
	}
	for i, p := range load.Producers {
		c.Producers = append(c.Producers, p.Name)
		if c.MaxSize = max(c.MaxSize, p.MaxSize); i == 0 || p.MinSize < c.MinSize {
			c.MinSize = p.MinSize
		}
	}
	index := map[string]int{}
	for _, consumer := range load.Consumers {
		i, known := index[consumer.Channel]
		if !known {
			i = len(c.Streams)
			index[consumer.Channel] = i
			c.Streams = append(c.Streams, checker.Stream{Topic: load.Topic, Channel: consumer.Channel})
		}
		c.Streams[i].Consumers = append(c.Streams[i].Consumers, consumer.Name)
		c.Ready[consumer.Name] = consumer.InFlight
	}
	return c
}

// faultKinds lists the kinds of fault that the run has to meet, each once, in
// order of their first appearance: those of the plan, but for faults that only
// may happen.
func faultKinds(list []faults.Fault) []string {
	var kinds []string
	had := map[faults.Kind]bool{}
	for _, f := range list {
		if f.Maybe {
			continue
		}
		if !had[f.Kind] {
			had[f.Kind] = true
			kinds = append(kinds, string(f.Kind))
		}
	}
	return kinds
}
