package conformance

import (
	"slices"

	"pestle/checker"
	"pestle/faults"
	"pestle/scenarios"
)

// Plan is one run in which several rows are seen, each in its own time.
type Plan struct {
	Name   string
	Stages []Stage
	cast   cast
	beside []faults.Fault // with their moments
	chaos  int64
}

// Stage is a row with its moment: Fault.Anchor is set, Fault.Ref is not.
type Stage struct{ Row }

const (
	lead      = 2 * second // before the first fault: what the run is like without
	usualRest = 1800 * millisecond
)

// Plans has the rows of the table, in as few runs as they allow.
func Plans() []Plan {
	var list []Plan
	for _, g := range groups() {
		p := Plan{Name: g.name, cast: g.cast}
		at := lead
		for _, row := range g.rows {
			first := int64(0) // of what goes with it, some begins before it
			for _, f := range row.Beside {
				first = min(first, f.Anchor.At)
			}
			at -= first
			row.Fault.Anchor.At = at
			for _, f := range row.Beside {
				f.Anchor.At += at
				p.beside = append(p.beside, f)
			}
			p.Stages = append(p.Stages, Stage{row})
			at += row.Fault.For + row.rest()
		}
		p.chaos = at + faults.Margin
		list = append(list, p)
	}
	return list
}

func (r Row) rest() int64 {
	if r.Rest > 0 {
		return r.Rest
	}
	return usualRest
}

// With is the plan with its faults.
func (p Plan) With() scenarios.Plan {
	list := slices.Clone(p.beside)
	for _, s := range p.Stages {
		list = append(list, s.Fault)
	}
	return p.plan(list)
}

// Without is the same plan in which nothing happens, but for what goes beside.
func (p Plan) Without() scenarios.Plan { return p.plan(slices.Clone(p.beside)) }

func (p Plan) plan(list []faults.Fault) scenarios.Plan {
	slices.SortStableFunc(list, func(a, b faults.Fault) int { return int(a.Anchor.At - b.Anchor.At) })
	for i := range list {
		list[i].Ref = i + 1
	}
	out := scenarios.Plan{
		Schema: scenarios.PlanSchema, Scenario: "conformance-" + p.Name, Seed: 1,
		Target: p.cast.target, Workload: p.cast.workload,
		Phases: scenarios.Phases{
			WarmUpAcks: 60, WarmUpWithin: 15 * second, Chaos: p.chaos,
			Quiet: []scenarios.Quiet{}, Recovery: second, DrainWithin: p.cast.drain,
		},
		Faults: list, Properties: p.cast.properties, Claims: []string{},
	}
	return out
}

// cast is who takes part in a run.
type cast struct {
	target     scenarios.Target
	workload   scenarios.Workload
	drain      int64
	properties []string
}

// The names of those whom the rows are about.
const (
	one        = "broker-1"
	third      = "broker-3"
	producer   = "producer-1"
	other      = "producer-2"
	ordered    = "consumer-ordered-1"
	shared     = "consumer-shared-1"
	sendEvery  = 25 * millisecond
	heldBackBy = 800 * millisecond // what the shared channel's consumer gives back
)

// together is a broker under load from both sides. Its files are small, so that
// a disk without room is met, and its memory too, so that what waits is read.
func together() cast {
	return cast{
		target: scenarios.Target{
			Kind: "pestle", Nodes: 1, Durability: "fsync",
			Knobs: &scenarios.Knobs{FileSize: 16 << 10, Cache: 1 << 10},
		},
		workload: scenarios.Workload{
			Topic: "orders", Tries: 4, Backoff: 50 * millisecond, Timeout: 4 * second, MsgTimeout: 8 * second,
			Producers: []scenarios.Producer{sender(producer, 1), sender(other, 2)},
			Consumers: []scenarios.Consumer{
				{Name: ordered, Channel: "ordered", InFlight: 1, Seed: 3},
				{Name: shared, Channel: "shared", InFlight: 20, RequeuePermille: 300, RequeueDelay: heldBackBy, Seed: 4},
			},
		},
		drain:      25 * second,
		properties: []string{checker.NoDataCorruption, checker.NoPhantomMessages, checker.MessageOrdering, checker.NoDataLoss, checker.DeliveryGuarantee},
	}
}

func sender(name string, seed uint64) scenarios.Producer {
	return scenarios.Producer{Name: name, Interval: sendEvery, Pending: 64, MinSize: 200, MaxSize: 300, Seed: seed}
}

// clustered is three brokers.
func clustered() cast {
	c := together()
	c.target.Nodes = 3
	c.target.Knobs = nil
	return c
}

// harmed is a broker whose medium is to go wrong: only damage would be its fault.
func harmed() cast {
	c := together()
	c.target.Knobs.FileSize = 1 << 20
	c.workload.Tries, c.workload.Timeout = 2, 2*second
	c.drain = 8 * second // a message that is damaged stays where it is
	c.properties = []string{checker.NoDataCorruption}
	return c
}

// lonely is a broker whose messages wait until chaos is over: what its disk does
// to them nobody has seen before.
func lonely() cast {
	c := together()
	c.target.Knobs = nil
	c.workload.ConsumeAfterChaos = true
	c.workload.Tries, c.workload.Timeout = 2, second
	c.workload.Consumers = c.workload.Consumers[:1]
	c.drain = 5 * second
	c.properties = []string{checker.NoDataCorruption}
	return c
}

// lying is the same on a disk that acknowledges syncs it did not do.
func lying() cast {
	c := lonely()
	c.target.Disk = scenarios.DiskLying
	return c
}
