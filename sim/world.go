package sim

import (
	"fmt"
	"strconv"

	"pestle/broker/core"
	"pestle/broker/plant"
	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
	"pestle/sim/clock"
	"pestle/sim/disk"
	"pestle/sim/invariant"
	"pestle/sim/network"
	"pestle/sim/random"
	"pestle/sim/schedule"
)

// Actors of the queue: the network's streams and its datagrams, the conductor,
// and then the processes by host.
const (
	networkActor schedule.Actor = iota
	datagramActor
	conductorActor
	firstProcess
)

func actorOf(h network.Host) schedule.Actor { return firstProcess + schedule.Actor(h) }

// epoch is what the wall clocks show at the start of a run, in ns since the
// Unix epoch: a fixed day, for a run has none.
const epoch = 1_750_000_000 * second

// world is one run.
type world struct {
	plan  scenarios.Plan
	seed  uint64 // of everything the plan leaves open
	until Limit
	log   func(string)

	statistics func(int64, string, *core.Stats)

	queue     *schedule.Queue
	net       *network.Network
	datagrams *network.Datagrams // between brokers
	lots      *lots
	trace     trace
	record    *recorder
	steps     uint64
	processes []*process // by host
	brokers   []*broker
	input     input // the one that is being delivered: its memory is reused

	conductor
	watch   *watch                 // nil: there is one broker
	points  [core.PointCount]int64 // how often each was passed
	failed  error                  // the first failure of the harness
	stopped bool                   // Until was reached
}

func run(o Options, source *lots) (Result, error) {
	w, err := newWorld(o, source)
	if err != nil {
		return Result{}, err
	}
	w.conduct()
	w.record.finish()
	if w.failed == nil {
		w.failed = w.record.failed
	}
	return w.result(), w.failed
}

func newWorld(o Options, source *lots) (*world, error) {
	if o.Plan.Target.Kind != "pestle" {
		return nil, fmt.Errorf("the simulated world runs Pestle's own broker, not a target of kind %q: use another world", o.Plan.Target.Kind)
	}
	w := &world{
		plan: o.Plan, seed: random.Mix(o.Plan.Seed ^ random.Mix(o.Noise)), until: o.Until, log: o.Log,
		statistics: o.Statistics, lots: source, trace: newTrace(),
	}
	if w.until.Time == 0 {
		w.until.Time = never
	}
	if w.until.Steps == 0 {
		w.until.Steps = 1<<64 - 1
	}
	w.queue = schedule.New(random.Mix(w.seed ^ 1))
	w.net = network.New(w.queue, networkActor, w.seed, w.networkProfile())
	w.datagrams = network.NewDatagrams(w.net, datagramActor, w.datagramProfile())
	names := []string{harnessName}
	bug, err := plant.Find(o.Plan.Target.Plant)
	if err != nil {
		return nil, fmt.Errorf("target.plant: %w", err)
	}
	nodes := max(1, w.plan.Target.Nodes)
	for number := range nodes + spares(&w.plan) {
		w.addBroker(uint64(number)+1, bug).out = number >= nodes
	}
	if nodes > 1 {
		w.watch = &watch{Watch: invariant.New()}
	}
	for _, c := range w.plan.Workload.Consumers {
		names = append(names, c.Name)
		if err := w.addClient(c.Name, faults.Consumer, len(names)-1, newConsumer); err != nil {
			return nil, err
		}
	}
	for _, p := range w.plan.Workload.Producers {
		names = append(names, p.Name)
		if err := w.addClient(p.Name, faults.Producer, len(names)-1, newProducer); err != nil {
			return nil, err
		}
	}
	w.record = newRecorder(names, o.Sink)
	return w, w.checkFaults()
}

func (w *world) add(name string, role faults.Role, stream int) *process {
	p := &process{
		world: w, name: name, role: role, host: network.Host(len(w.processes)), stream: stream,
		clock: clock.New(0, epoch), timerFor: never,
	}
	w.processes = append(w.processes, p)
	return p
}

// addBroker adds the broker whose node has a number.
func (w *world) addBroker(number uint64, bug plant.ID) *broker {
	name := "broker-" + strconv.FormatUint(number, 10)
	b := &broker{process: w.add(name, faults.Broker, 0), number: number, plant: bug}
	times := disk.Typical()
	if w.plan.Target.Disk == scenarios.DiskSlow {
		times = disk.Turning()
	}
	b.disk = disk.New(random.New(w.seed, "disk", name), times)
	if w.plan.Target.Disk == scenarios.DiskLying {
		b.disk.Inject(disk.Fault{Kind: disk.Lying})
	}
	b.node = b
	w.brokers = append(w.brokers, b)
	return b
}

func (w *world) addClient(name string, role faults.Role, stream int, build func(*world, *process, string) (*client, error)) error {
	p := w.add(name, role, stream)
	c, err := build(w, p, name)
	if err != nil {
		return err
	}
	p.node = c
	return nil
}

func (w *world) process(name string) *process {
	for _, p := range w.processes {
		if p.name == name {
			return p
		}
	}
	return nil
}

// networkProfile is what the network of this run is like: as the plan says, or
// that of one site, a little different in each run. A round trip stays near
// 2 ms at most: a channel read one message at a time has to keep up with the
// some hundred messages per second that scenarios without a network ask for.
func (w *world) networkProfile() network.Profile {
	r := random.New(w.seed, "network")
	p := network.Profile{
		MinLatency:        r.Between(20*microsecond, 200*microsecond),
		MeanLatency:       r.Between(20*microsecond, 300*microsecond),
		TailLatency:       r.Between(0, 20*millisecond),
		AsymmetryPermille: 250,
		MaxAsymmetry:      500 * microsecond,
		BytesPerSecond:    r.Between(10<<20, 1<<30),
		Window:            int(r.Between(32<<10, 256<<10)),
		SplitPermille:     r.Between(0, 100),
		MergePermille:     r.Between(0, 100),
	}
	if n := w.plan.Network; n != nil {
		p.MinLatency, p.MeanLatency = n.Latency, n.Spread
		p.AsymmetryPermille, p.MaxAsymmetry = n.Asymmetry, n.SlowerBy
	}
	return p
}

// datagramProfile is how unreliable what brokers tell each other is without
// any fault: not at all in most runs.
func (w *world) datagramProfile() network.DatagramProfile {
	r := random.New(w.seed, "datagrams")
	sometimes := func(most int64) int64 {
		if r.Permille(500) {
			return 0
		}
		return r.Between(0, most)
	}
	return network.DatagramProfile{
		LossPermille: sometimes(10), DuplicatePermille: sometimes(10),
		ReorderPermille: sometimes(20), MaxReorder: r.Between(millisecond, 50*millisecond),
	}
}

// fail ends the run with the first failure of the harness.
func (w *world) fail(err error) {
	if w.failed == nil {
		w.failed = err
	}
}

// over reports that nothing more is to happen.
func (w *world) over() bool {
	if w.record.failed != nil {
		w.fail(w.record.failed)
	}
	if w.trace.events >= w.until.Steps {
		w.stopped = true
	}
	return w.stopped || w.failed != nil || w.watch != nil && w.watch.breach != nil
}

// run lets events happen until a virtual time, or until done says so, which is
// asked after each. It reports whether done did.
func (w *world) run(until int64, done func() bool) bool {
	for !w.over() {
		if done() {
			return true
		}
		ev, ok := w.queue.Take(min(until, w.until.Time))
		if !ok {
			w.stopped = until > w.until.Time
			return false
		}
		w.dispatch(ev)
	}
	return false
}

func (w *world) now() int64 { return w.queue.Now() }

func (w *world) dispatch(ev schedule.Event) {
	switch ev.To {
	case networkActor:
		w.notify(ev.At, w.net.Step(ev.At, ev))
	case datagramActor:
		w.arrived(ev)
	case conductorActor:
		w.happened(ev.At, ev)
	default:
		if p := w.processes[ev.To-firstProcess]; p.epoch == ev.Life {
			w.input = input{event: ev}
			p.deliver(ev.At, &w.input)
		}
	}
}

// notify hands notices of the network to their processes.
func (w *world) notify(now int64, notices []network.Notice) {
	for i := range notices {
		p := w.processes[notices[i].Host]
		w.traceNotice(now, p, &notices[i])
		w.input = input{notice: notices[i]}
		p.deliver(now, &w.input)
	}
}

func (w *world) result() Result {
	r := Result{
		TraceHash: w.trace.sum(), Checkpoints: w.trace.checkpoints, Events: w.trace.events, Steps: w.steps,
		Elapsed: w.now(), WarmedUp: w.warm, Partial: w.stopped,
	}
	if w.scheduler != nil {
		r.Faults = w.scheduler.Entries()
	}
	r.Points, r.Met = w.pointCounts(), w.datagrams.Met()
	for i := range w.record.streams {
		s := &w.record.streams[i]
		r.Histories = append(r.Histories, Stream{s.name, s.events()})
	}
	for _, p := range w.processes {
		switch n := p.node.(type) {
		case *client:
			r.States = append(r.States, State{p.name, n.state})
		case *broker:
			r.Logs = append(r.Logs, State{p.name, n.log})
			r.Bites = append(r.Bites, bites(n.disk)...)
		}
	}
	return r
}

// later schedules an event of the conductor.
func (w *world) later(at int64, kind uint8, a, b uint64) {
	w.queue.Add(schedule.Event{At: at, To: conductorActor, Kind: kind, A: a, B: b})
}

// observe sees each history line as soon as it is written, before the merge.
func (p *process) observe(now int64, e history.Event) {
	if e.Ev == history.Note && e.What == history.NoteStarted {
		p.readied(now, p)
	}
	p.world.observed(now, e)
}
