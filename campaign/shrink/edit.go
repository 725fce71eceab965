package shrink

import (
	"slices"
	"strconv"

	"pestle/faults"
	"pestle/scenarios"
	"pestle/workload"
)

// The functions of this file return a changed copy of a plan. What they return
// may be no valid plan: the search looks.

// copied returns a plan that shares no memory with p.
func copied(p scenarios.Plan) scenarios.Plan {
	if p.Network != nil {
		n := *p.Network
		p.Network = &n
	}
	if p.Target.Knobs != nil {
		k := *p.Target.Knobs
		p.Target.Knobs = &k
	}
	p.Target.Flags = slices.Clone(p.Target.Flags)
	p.Workload.Producers = slices.Clone(p.Workload.Producers)
	for i := range p.Workload.Producers {
		p.Workload.Producers[i].Only = slices.Clone(p.Workload.Producers[i].Only)
	}
	p.Workload.Consumers = slices.Clone(p.Workload.Consumers)
	p.Phases.Quiet = slices.Clone(p.Phases.Quiet)
	p.Faults = slices.Clone(p.Faults)
	for i := range p.Faults {
		f := &p.Faults[i]
		f.Side = slices.Clone(f.Side)
		if f.Anchor.After != nil {
			after := *f.Anchor.After
			f.Anchor.After = &after
		}
	}
	p.Properties = slices.Clone(p.Properties)
	p.Claims = slices.Clone(p.Claims)
	return p
}

// keepFaults leaves out the faults that keep does not want. One that waited for
// a fault left out gets the time at which it took effect in the trial; where it
// never did, it goes too.
func keepFaults(p scenarios.Plan, t Trial, keep func(faults.Fault) bool) scenarios.Plan {
	p = copied(p)
	number := map[int]int{} // new ref by old one
	var kept []faults.Fault
	for _, f := range p.Faults {
		if keep(f) {
			number[f.Ref] = 0
		}
	}
	for _, f := range p.Faults {
		if _, wanted := number[f.Ref]; !wanted {
			continue
		}
		if after := f.Anchor.After; after != nil && after.Fault != 0 {
			if _, there := number[after.Fault]; !there && !timed(&f, t) {
				delete(number, f.Ref)
				continue
			}
		}
		kept = append(kept, f)
		number[f.Ref] = len(kept)
	}
	for i := range kept {
		kept[i].Ref = i + 1
		if after := kept[i].Anchor.After; after != nil && after.Fault != 0 {
			after.Fault = number[after.Fault]
		}
	}
	p.Faults = kept
	return p
}

// timed anchors a fault to the time at which it took effect in the trial. It
// reports false when it never did.
func timed(f *faults.Fault, t Trial) bool {
	at, ok := t.effective(f.Ref)
	if ok {
		f.Anchor = faults.Anchor{At: at}
	}
	return ok
}

// withoutProcess leaves out the faults that need a process, and takes it out of
// the sides of partitions.
func withoutProcess(p scenarios.Plan, t Trial, name string) scenarios.Plan {
	p = keepFaults(p, t, func(f faults.Fault) bool {
		return f.Target != name && f.Peer != name && !slices.Equal(f.Side, []string{name})
	})
	for i := range p.Faults {
		f := &p.Faults[i]
		f.Side = slices.DeleteFunc(f.Side, func(s string) bool { return s == name })
	}
	return p
}

// withoutConsumer leaves a consumer out.
func withoutConsumer(p scenarios.Plan, t Trial, name string) scenarios.Plan {
	p = withoutProcess(p, t, name)
	p.Workload.Consumers = slices.DeleteFunc(p.Workload.Consumers, func(c scenarios.Consumer) bool { return c.Name == name })
	return p
}

// withoutProducer leaves a producer out. Producers are numbered without gaps:
// those behind it move up, with their faults.
func withoutProducer(p scenarios.Plan, t Trial, name string) scenarios.Plan {
	p = withoutProcess(p, t, name)
	list := p.Workload.Producers
	at := slices.IndexFunc(list, func(x scenarios.Producer) bool { return x.Name == name })
	list = slices.Delete(list, at, at+1)
	for i := at; i < len(list); i++ {
		to := "producer-" + strconv.Itoa(i+1)
		rename(&p, list[i].Name, to)
		list[i].Name = to
	}
	p.Workload.Producers = list
	return p
}

// rename gives the faults of a process to its new name.
func rename(p *scenarios.Plan, from, to string) {
	for i := range p.Faults {
		f := &p.Faults[i]
		for _, name := range []*string{&f.Target, &f.Peer} {
			if *name == from {
				*name = to
			}
		}
		for j := range f.Side {
			if f.Side[j] == from {
				f.Side[j] = to
			}
		}
	}
}

// keepMessages lets producers send these messages only.
func keepMessages(p scenarios.Plan, ids []workload.ID) scenarios.Plan {
	p = copied(p)
	for i := range p.Workload.Producers {
		var sent workload.Ranges
		for _, id := range ids {
			if id.Producer == i+1 {
				sent.Add(id.Counter)
			}
		}
		only := make([][2]uint64, 0, len(sent))
		for _, r := range sent {
			only = append(only, [2]uint64{r.From, r.To})
		}
		p.Workload.Producers[i].Only = only
	}
	return p
}

// cut ends chaos at a time, and leaves out what the trial had not begun by
// then, and the quiet windows that were not over.
func cut(p scenarios.Plan, t Trial, at int64) scenarios.Plan {
	p = keepFaults(p, t, func(f faults.Fault) bool {
		began, ok := t.effective(f.Ref)
		return ok && began < at
	})
	p.Phases.Chaos = at
	p.Phases.Quiet = slices.DeleteFunc(p.Phases.Quiet, func(q scenarios.Quiet) bool { return q.To > at })
	return p
}

// earlier moves everything in chaos towards its start: faults, quiet windows and
// the end of chaos by so much, and the messages by as many turns of their
// producer as fit into it. What would begin before chaos loses that part. Less
// than nothing moves all but the messages away.
func earlier(p scenarios.Plan, by int64) scenarios.Plan {
	p = copied(p)
	p.Phases.Chaos -= by
	for i := range p.Faults {
		f := &p.Faults[i]
		if f.Anchor.After != nil {
			continue
		}
		if f.Anchor.At -= by; f.Anchor.At < 0 {
			f.For += f.Anchor.At
			f.Anchor.At = 0
		}
	}
	for i := range p.Phases.Quiet {
		p.Phases.Quiet[i].From -= by
		p.Phases.Quiet[i].To -= by
	}
	for i := range p.Workload.Producers {
		x := &p.Workload.Producers[i]
		turns := uint64(max(0, by/x.Interval))
		for j := range x.Only {
			if x.Only[j][0] <= turns {
				turns = x.Only[j][0] - 1
			}
			x.Only[j][0] -= turns
			x.Only[j][1] -= turns
		}
	}
	return p
}
