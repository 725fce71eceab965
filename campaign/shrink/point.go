package shrink

import (
	"context"
	"slices"

	"pestle/faults"
	"pestle/scenarios"
)

// atPoint tries the shortest stories that most failures of a broker have: the
// message of the violation, and one end of the broker where the code is narrow,
// with the consumer there or away. A fault that was lucky in its time is found
// so, where no noise would bring its luck back once something else is left out.
func (s *search) atPoint(ctx context.Context) {
	ids := s.best.symptom.messages()
	kind, ok := s.endOfBroker()
	if len(ids) == 0 || !ok {
		return
	}
	there := keepMessages(keepFaults(s.best.plan, s.best.trial, func(faults.Fault) bool { return false }), ids)
	there.Phases.Quiet, there.Phases.WarmUpAcks = nil, 0
	for _, p := range []scenarios.Plan{there, s.away(there)} {
		for _, delay := range []int64{0, 100 * microsecond, millisecond} {
			for count := int64(1); count <= 3; count++ {
				for _, point := range []string{"journal-write", "journal-sync", "ack", "delivery", "ledger-written", "requeue-due", "lease-expired", "deferral-due"} {
					broker := p.Processes()[0]
					candidate := copied(p)
					candidate.Faults = append(candidate.Faults, faults.Fault{
						Ref: len(p.Faults) + 1, Kind: kind, Target: broker, For: 100 * millisecond,
						Anchor: faults.Anchor{After: &faults.Event{Point: point, Count: count, Process: broker, Delay: delay}},
					})
					if s.try(ctx, candidate) {
						return
					}
				}
			}
		}
	}
}

// endOfBroker is the hardest kind of fault in the plan that ends a broker.
func (s *search) endOfBroker() (faults.Kind, bool) {
	for _, kind := range []faults.Kind{faults.PowerLoss, faults.Kill} {
		if has := func(f faults.Fault) bool { return f.Kind == kind && f.Target == s.best.plan.Processes()[0] }; slices.ContainsFunc(s.best.plan.Faults, has) {
			return kind, true
		}
	}
	return "", false
}

// away leaves one consumer, of the violation's channel, and keeps it away for
// nearly all of chaos.
func (s *search) away(p scenarios.Plan) scenarios.Plan {
	list := p.Workload.Consumers
	stays := max(0, slices.IndexFunc(list, func(c scenarios.Consumer) bool { return c.Channel == s.best.symptom.Violation.Channel }))
	name := list[stays].Name
	for _, c := range list {
		if c.Name != name {
			p = withoutConsumer(p, s.best.trial, c.Name)
		}
	}
	p.Faults = []faults.Fault{{Ref: 1, Kind: faults.Kill, Target: name, For: max(0, p.Phases.Chaos-tail)}}
	return p
}
