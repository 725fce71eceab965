package shrink

import (
	"context"
	"slices"

	"pestle/faults"
	"pestle/scenarios"
	"pestle/workload"
)

const (
	microsecond = int64(1_000)
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond

	// maxRounds bounds how often the order is gone through.
	maxRounds = 4
	// tail is how much of chaos stays behind the last thing kept: enough for a
	// process to come up again, and for its clients to find it.
	tail = faults.Settle
	// minChaos is the shortest chaos a plan may have.
	minChaos = second
)

// walk goes through the order, again and again while the plan becomes smaller:
// what is left out at the end may have been all that needed something earlier.
func (s *search) walk(ctx context.Context) {
	for round := range maxRounds {
		before := sizeOf(s.best.plan, s.best.trial)
		for _, step := range s.order(round) {
			s.step = step.name
			step.run(ctx)
		}
		if s.over || round > 0 && sizeOf(s.best.plan, s.best.trial) == before {
			return
		}
	}
}

// step is one step of the order.
type step struct {
	name string
	run  func(context.Context)
}

func (s *search) order(round int) []step {
	steps := []step{
		{"what follows the violation", s.cutAfter},
		{"the drain", s.cutDrain},
		{"warm-up, claims and quiet windows", s.bare},
		{"times for triggers", s.times},
		{"classes of faults", s.classes},
		{"clients", s.clients},
		{"faults", s.fewerFaults},
	}
	if round == 0 {
		// A run without the messages that do not matter takes a tenth of the
		// time: that this is tried at once makes the rest affordable.
		steps = slices.Insert(steps, 4, step{"all messages but the violated", s.violatedOnly}, step{"an earlier start", s.earlier})
	}
	if s.Coarse {
		return steps
	}
	return append(steps,
		// A consumer that holds many at once needs many for what it proves.
		step{"plain clients", s.plainWorkload},
		step{"fewer, larger messages", s.thin},
		step{"messages", s.fewerMessages},
		step{"an earlier start", s.earlier},
		step{"plain numbers", s.plain},
	)
}

// cutAfter ends chaos as early as it can: just behind the violation where that
// was proven during chaos, and else behind as few faults as will do, which are
// found by doubling.
func (s *search) cutAfter(ctx context.Context) {
	base := s.best
	var ends []int64
	for _, e := range base.trial.Faults {
		if e.Ended != faults.Never {
			ends = append(ends, e.Ended+tail)
		}
	}
	slices.Sort(ends)
	var cuts []int64
	for i := 1; i <= len(ends); i *= 2 {
		cuts = append(cuts, ends[i-1])
	}
	if len(ends) > 0 {
		cuts = append(cuts, ends[len(ends)-1])
	}
	if proven := base.symptom.Violation.T - base.trial.ChaosBegan; proven > 0 {
		cuts = append(cuts, proven+tail)
	}
	slices.Sort(cuts)
	for _, at := range slices.Compact(cuts) {
		at = max(at, minChaos)
		if at < base.plan.Phases.Chaos && s.try(ctx, cut(base.plan, base.trial, at)) {
			return
		}
	}
	s.try(ctx, keepFaults(base.plan, base.trial, func(f faults.Fault) bool {
		_, ok := base.trial.effective(f.Ref)
		return ok
	}))
}

// cutDrain makes the drain as short as it can be. Where the broker is gone for
// good, the producers try their last messages again and again until it ends.
func (s *search) cutDrain(ctx context.Context) {
	s.edit(ctx, func(p *scenarios.Plan) { p.Workload.Tries = 1 })
	for _, within := range []int64{1, 2, 3, 5, 10, 20} {
		if within*second >= s.best.plan.Phases.DrainWithin || s.edit(ctx, func(p *scenarios.Plan) { p.Phases.DrainWithin = within * second }) {
			return
		}
	}
}

// bare leaves out what surrounds the failure: acks to wait for, reachability,
// windows in which progress is judged.
func (s *search) bare(ctx context.Context) {
	s.edit(ctx, func(p *scenarios.Plan) { p.Claims = nil })
	if s.best.plan.Phases.WarmUpAcks > 0 && !s.edit(ctx, func(p *scenarios.Plan) { p.Phases.WarmUpAcks = 0 }) {
		// Its messages may matter; then they become messages of chaos.
		p := earlier(s.best.plan, -s.best.trial.WarmUp)
		p.Phases.WarmUpAcks = 0
		s.try(ctx, p)
	}
	s.edit(ctx, func(p *scenarios.Plan) { p.Phases.Quiet = nil })
	for i := len(s.best.plan.Phases.Quiet) - 1; i >= 0; i-- {
		s.edit(ctx, func(p *scenarios.Plan) { p.Phases.Quiet = slices.Delete(p.Phases.Quiet, i, i+1) })
	}
}

// edit tries a change of the best plan.
func (s *search) edit(ctx context.Context, change func(*scenarios.Plan)) bool {
	p := copied(s.best.plan)
	change(&p)
	return s.try(ctx, p)
}

// times anchors triggered faults to the times at which they took effect, all
// at once or else one by one, so that each can be left out without the others,
// and without the messages that it counted. One that waits for a point of the
// broker's code goes on waiting where a time would need luck.
func (s *search) times(ctx context.Context) {
	byTime := func(which func(faults.Fault) bool) (p scenarios.Plan, ok bool) {
		p = copied(s.best.plan)
		for i := range p.Faults {
			if f := &p.Faults[i]; f.Anchor.After != nil && which(*f) && timed(f, s.best.trial) {
				ok = true
			}
		}
		return p, ok
	}
	if p, ok := byTime(func(f faults.Fault) bool { return f.Anchor.After.Point == "" }); ok && !s.try(ctx, p) {
		for ref := range len(p.Faults) {
			if p, ok := byTime(func(f faults.Fault) bool { return f.Anchor.After.Point == "" && f.Ref == ref+1 }); ok {
				s.try(ctx, p)
			}
		}
	}
	if p, ok := byTime(func(faults.Fault) bool { return true }); ok && s.sturdy(ctx, p) {
		s.try(ctx, p)
		return
	}
	for ref := range len(s.best.plan.Faults) {
		if p, ok := byTime(func(f faults.Fault) bool { return f.Ref == ref+1 }); ok && s.sturdy(ctx, p) {
			s.try(ctx, p)
		}
	}
}

// sturdy tells whether a plan fails under several noises: under the one that
// it was found with, any time will do that is the same as before.
func (s *search) sturdy(ctx context.Context, p scenarios.Plan) bool {
	const tries, enough = 8, 2
	if p.Validate() != nil {
		return false
	}
	hits := 0
	for noise := uint64(0); noise < tries && hits < enough && !s.exhausted(ctx); noise++ {
		if noise == s.best.noise {
			continue
		}
		trial, err := s.Oracle(ctx, p, noise)
		s.res.Runs++
		if err != nil {
			s.broke(ctx, err)
			continue
		}
		if _, same := shows(trial.Verdict, s.want); same {
			hits++
		}
	}
	return hits == enough
}

// classes leaves out all faults, those of one class, and those of one kind.
func (s *search) classes(ctx context.Context) {
	if len(s.best.plan.Faults) == 0 || s.try(ctx, keepFaults(s.best.plan, s.best.trial, func(faults.Fault) bool { return false })) {
		return
	}
	class := func(f faults.Fault) faults.Class { spec, _ := faults.Find(f.Kind); return spec.Class }
	for _, c := range []faults.Class{faults.OfClock, faults.OfNetwork, faults.OfDisk, faults.OfMedia, faults.OfProcess} {
		s.dropFaults(ctx, func(f faults.Fault) bool { return class(f) == c })
	}
	for _, spec := range faults.Kinds() {
		s.dropFaults(ctx, func(f faults.Fault) bool { return f.Kind == spec.Kind })
	}
}

// dropFaults tries to leave out the faults that drop picks.
func (s *search) dropFaults(ctx context.Context, drop func(faults.Fault) bool) {
	if slices.ContainsFunc(s.best.plan.Faults, drop) {
		s.try(ctx, keepFaults(s.best.plan, s.best.trial, func(f faults.Fault) bool { return !drop(f) }))
	}
}

// clients leaves out channels, consumers and producers; first all but those of
// the violation.
func (s *search) clients(ctx context.Context) {
	if channel := s.best.symptom.Violation.Channel; channel != "" {
		s.dropConsumers(ctx, func(c scenarios.Consumer) bool { return c.Channel != channel })
	}
	for _, c := range s.best.plan.Workload.Consumers {
		s.dropConsumers(ctx, func(o scenarios.Consumer) bool { return o.Channel == c.Channel })
	}
	for _, c := range s.best.plan.Workload.Consumers {
		s.dropConsumers(ctx, func(o scenarios.Consumer) bool { return o.Name == c.Name })
	}
	if ids := s.best.symptom.messages(); len(ids) > 0 {
		p := s.best.plan
		for i := len(p.Workload.Producers); i >= 1; i-- {
			if !slices.ContainsFunc(ids, func(id workload.ID) bool { return id.Producer == i }) {
				p = withoutProducer(p, s.best.trial, p.Workload.Producers[i-1].Name)
			}
		}
		s.try(ctx, p)
	}
	for i := len(s.best.plan.Workload.Producers) - 1; i >= 0; i-- {
		if list := s.best.plan.Workload.Producers; len(list) > 1 && i < len(list) {
			s.try(ctx, withoutProducer(s.best.plan, s.best.trial, list[i].Name))
		}
	}
}

// dropConsumers tries to leave out the consumers that drop picks.
func (s *search) dropConsumers(ctx context.Context, drop func(scenarios.Consumer) bool) {
	p := s.best.plan
	for _, c := range s.best.plan.Workload.Consumers {
		if drop(c) {
			p = withoutConsumer(p, s.best.trial, c.Name)
		}
	}
	if n := len(p.Workload.Consumers); n > 0 && n < len(s.best.plan.Workload.Consumers) {
		s.try(ctx, p)
	}
}

// fewerFaults leaves out faults until none can be.
func (s *search) fewerFaults(ctx context.Context) {
	base := s.best
	minimize(len(base.plan.Faults), func(keep []int) bool {
		return s.try(ctx, keepFaults(base.plan, base.trial, func(f faults.Fault) bool { return slices.Contains(keep, f.Ref-1) }))
	})
}

// violatedOnly keeps the messages that the verdict names with the failure.
func (s *search) violatedOnly(ctx context.Context) {
	var ids []workload.ID
	for _, p := range s.best.trial.Verdict.Properties {
		for _, v := range p.Violations {
			if p.Slug == s.want.Property && v.Cause == s.want.Cause {
				ids = append(ids, Symptom{Violation: v}.messages()...)
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	base := s.best
	if first := base.symptom.messages(); len(first) > 0 && s.try(ctx, keepMessages(base.plan, first)) {
		return
	}
	if !s.try(ctx, keepMessages(base.plan, ids)) {
		s.atPoint(ctx)
	}
}

// thin keeps every n-th message only, n times as large: where the failure
// needs an amount of bytes, such as a full file, few large messages bring it
// about at the same time as many small ones.
func (s *search) thin(ctx context.Context) {
	base := s.best
	for n := 32; n > 1; n /= 2 {
		if len(base.trial.Sent) < 2*n {
			continue
		}
		var ids []workload.ID
		for i := n - 1; i < len(base.trial.Sent); i += n {
			ids = append(ids, base.trial.Sent[i])
		}
		p := keepMessages(base.plan, ids)
		for i := range p.Workload.Producers {
			x := &p.Workload.Producers[i]
			x.MinSize = (x.MinSize + x.MaxSize) / 2 * n
			x.MaxSize = x.MinSize
		}
		if s.try(ctx, p) {
			return
		}
	}
}

// fewerMessages leaves out messages until none can be.
func (s *search) fewerMessages(ctx context.Context) {
	base := s.best
	sent := base.trial.Sent
	minimize(len(sent), func(keep []int) bool {
		ids := make([]workload.ID, 0, len(keep))
		for _, i := range keep {
			ids = append(ids, sent[i])
		}
		return s.try(ctx, keepMessages(base.plan, ids))
	})
	s.clients(ctx) // those that have nothing left to do
}
