package shrink

import (
	"context"
	"slices"

	"pestle/faults"
	"pestle/scenarios"
)

// plain makes the numbers of the plan small and round.
func (s *search) plain(ctx context.Context) {
	s.flatNetwork(ctx)
	s.edit(ctx, func(p *scenarios.Plan) { p.Target.Knobs = nil })
	s.plainWorkload(ctx)
	for i := range s.best.plan.Faults {
		s.plainFault(ctx, i)
	}
	for _, chaos := range []int64{1, 2, 3, 5, 10, 20, 30, 60} {
		if chaos*second >= s.best.plan.Phases.Chaos || s.edit(ctx, func(p *scenarios.Plan) { p.Phases.Chaos = chaos * second }) {
			break
		}
	}
}

// flatNetwork gives every packet the same latency.
func (s *search) flatNetwork(ctx context.Context) {
	for _, latency := range []int64{millisecond, 0} {
		if s.edit(ctx, func(p *scenarios.Plan) { p.Network = &scenarios.Network{Latency: latency} }) {
			return
		}
	}
	if s.best.plan.Network == nil {
		return
	}
	for _, flat := range []func(*scenarios.Network){
		func(n *scenarios.Network) { n.Asymmetry, n.SlowerBy = 0, 0 },
		func(n *scenarios.Network) { n.Spread = 0 },
	} {
		s.edit(ctx, func(p *scenarios.Plan) { flat(p.Network) })
	}
}

// plainPayload is the size of a payload that says nothing by its size.
const plainPayload = 100

// payloads gives every payload the same size.
func (s *search) payloads(ctx context.Context, size int) {
	s.edit(ctx, func(p *scenarios.Plan) {
		for i := range p.Workload.Producers {
			p.Workload.Producers[i].MinSize, p.Workload.Producers[i].MaxSize = size, size
		}
	})
}

func (s *search) plainWorkload(ctx context.Context) {
	s.payloads(ctx, plainPayload)
	s.edit(ctx, func(p *scenarios.Plan) {
		for i := range p.Workload.Producers {
			p.Workload.Producers[i].Pending = 1
		}
	})
	s.edit(ctx, func(p *scenarios.Plan) {
		for i := range p.Workload.Consumers {
			p.Workload.Consumers[i].RequeuePermille, p.Workload.Consumers[i].RequeueDelay = 0, 0
		}
	})
	s.edit(ctx, func(p *scenarios.Plan) {
		for i := range p.Workload.Consumers {
			p.Workload.Consumers[i].ForgetPermille = 0
		}
	})
	s.edit(ctx, func(p *scenarios.Plan) {
		for i := range p.Workload.Producers {
			x := &p.Workload.Producers[i]
			x.DeferPermille, x.DeferMin, x.DeferMax = 0, 0, 0
		}
	})
	for _, n := range []int{1, 2, 3, 5, 10} {
		fewer := s.edit(ctx, func(p *scenarios.Plan) {
			for i := range p.Workload.Consumers {
				p.Workload.Consumers[i].InFlight = min(n, p.Workload.Consumers[i].InFlight)
			}
		})
		if fewer {
			break
		}
	}
}

// plainFault makes the numbers of one fault small and round.
func (s *search) plainFault(ctx context.Context, i int) {
	spec, _ := faults.Find(s.best.plan.Faults[i].Kind)
	s.number(ctx, i, rounder, func(f *faults.Fault) *int64 { return &f.Anchor.At })
	if s.best.plan.Faults[i].Anchor.After != nil {
		s.number(ctx, i, smaller(0), func(f *faults.Fault) *int64 { return &f.Anchor.After.Delay })
	}
	s.number(ctx, i, smaller(spec.MinFor), func(f *faults.Fault) *int64 { return &f.For })
	for _, param := range spec.Params {
		if param.Unit == faults.NoNumber {
			continue
		}
		least := max(param.Min, 0)
		if param.Optional {
			least = 0
		}
		s.param(ctx, i, param.Name, least)
	}
}

// number tries values in place of one number of a fault, the plainest first.
func (s *search) number(ctx context.Context, i int, plainer func(v int64) []int64, of func(*faults.Fault) *int64) {
	f := s.best.plan.Faults[i]
	for _, v := range plainer(*of(&f)) {
		if s.edit(ctx, func(p *scenarios.Plan) { *of(&p.Faults[i]) = v }) {
			return
		}
	}
}

// param does the same with a numeric parameter.
func (s *search) param(ctx context.Context, i int, name string, least int64) {
	f := s.best.plan.Faults[i]
	for _, v := range smaller(least)(f.Value(name)) {
		if s.edit(ctx, func(p *scenarios.Plan) { p.Faults[i].Set(name, v) }) {
			return
		}
	}
}

// units are the round numbers: nanoseconds, permille and counts alike.
func units() []int64 {
	return []int64{second, 100 * millisecond, 10 * millisecond, millisecond, 100 * microsecond, 1000, 100, 10, 1}
}

// rounder lists times near v, the roundest first, and none that is v itself.
func rounder(v int64) []int64 {
	var list []int64
	for _, unit := range units()[:4] {
		near := (v + unit/2) / unit * unit
		list = append(list, near, v/unit*unit)
	}
	return except(list, v)
}

// smaller lists numbers from least up to below v: least itself, then powers of
// ten, and v cut to one digit. A negative v is listed by its size.
func smaller(least int64) func(v int64) []int64 {
	return func(v int64) []int64 {
		size, sign := v, int64(1)
		if v < 0 {
			size, sign = -v, -1
		}
		list := []int64{least}
		for _, unit := range slices.Backward(units()) {
			if unit > least && unit < size {
				list = append(list, sign*unit)
			}
		}
		for _, unit := range units() {
			if digit := size / unit * unit; size >= unit && size < 10*unit && digit >= least {
				list = append(list, sign*digit)
			}
		}
		return except(list, v)
	}
}

// except returns the values of a list that are not v, each once.
func except(list []int64, v int64) []int64 {
	var out []int64
	for _, x := range list {
		if x != v && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// earlier moves faults and messages towards the start of chaos, as far as they
// go or else by a half, a quarter, … of that. What lasts until the messages may
// begin with chaos.
func (s *search) earlier(ctx context.Context) {
	for _, first := range []int64{s.firstOf(func(f faults.Fault) int64 { return f.Anchor.At + f.For }), s.firstOf(func(f faults.Fault) int64 { return f.Anchor.At })} {
		for by := (first - ahead) / millisecond * millisecond; by > ahead; by /= 2 {
			if s.try(ctx, earlier(s.best.plan, by)) {
				return
			}
		}
	}
}

// ahead is what stays of chaos in front of the first thing in it.
const ahead = 100 * millisecond

// firstOf is the earliest of a moment of each timed fault and of the messages.
func (s *search) firstOf(moment func(faults.Fault) int64) int64 {
	first := s.best.plan.Phases.Chaos
	for _, f := range s.best.plan.Faults {
		if f.Anchor.After == nil {
			first = min(first, moment(f))
		}
	}
	for _, x := range s.best.plan.Workload.Producers {
		switch {
		case x.Only == nil:
			return 0
		case len(x.Only) > 0:
			first = min(first, int64(x.Only[0][0]-1)*x.Interval)
		}
	}
	return first
}
