package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"pestle/broker/core"
	"pestle/broker/plant"
	"pestle/sim/disk"
	"pestle/sim/network"
	"pestle/sim/random"
)

const (
	// flushDelay is how long at most the broker's output waits for the thread
	// that writes it; what gathers meanwhile leaves in one piece.
	flushDelay = 20 * microsecond
	// hangUpGrace is how long the last bytes of a connection may take that is
	// being closed.
	hangUpGrace = second
	// stopWithin is how long an orderly stop may take.
	stopWithin = 10 * second
)

// broker is a broker process: the core, and what package broker/server is to
// it on a real machine.
type broker struct {
	*process
	number uint64 // its node's
	disk   *disk.Disk
	plant  plant.ID // bug that its program has
	harmed bool     // its disk has been under a fault of the medium
	wiped  bool     // its disk was emptied

	core  *core.Core
	draws *random.Stream // of this incarnation's consensus
	fx    core.Effects
	conns map[network.ConnID]*link
	early []network.Notice // connections that wait until clients are served
	ready bool

	changes  []core.Effect // disk effects that wait for the one under way
	changing bool          // one is
	change   core.Effect
	outcome  disk.Outcome
	stuck    bool // the first of changes could not begin: the disk is stuck

	reads []read   // by slot
	free  []uint64 // slots

	stopping bool
	log      []byte
}

// link is one connection as the broker's driver has it.
type link struct {
	out      [][]byte // not handed to the kernel yet
	writing  bool     // a write is on its way
	closing  bool     // the core has closed it
	reported bool     // the core knows that it is over
}

// read is a disk read under way.
type read struct {
	effect  core.Effect
	outcome disk.Outcome
	stuck   bool // it could not begin
}

func (b *broker) config() core.Config {
	cfg := core.Config{
		FileSize: defaultFileSize, CacheBytes: defaultCache,
		Node: b.number, Cluster: b.members(), Join: b.joins(),
	}
	if k := b.plan.Target.Knobs; k != nil {
		cfg.FileSize, cfg.CacheBytes, cfg.LogBytes = k.FileSize, k.Cache, k.Log
	}
	cfg.Plant = b.plant
	if b.plan.Target.Durability == "memory" {
		cfg.Durability = core.Memory
	}
	return cfg
}

const (
	// defaultFileSize keeps the restart of a simulated broker cheap.
	defaultFileSize = 1 << 20
	defaultCache    = 256 << 10
)

// boot recovers the journal. Connections wait meanwhile, as in a kernel.
func (b *broker) boot(now int64) {
	b.core, b.fx = nil, core.Effects{}
	b.conns, b.early, b.ready = map[network.ConnID]*link{}, nil, false
	b.changes, b.changing, b.stuck, b.reads, b.free = nil, false, false, nil, nil
	b.stopping = false
	b.draws = random.New(b.seed, "consensus", b.name, strconv.Itoa(b.lives))
	b.clock.Restart(now)
	b.net.Listen(b.host)
	cfg := b.config()
	cfg.Salt = b.noise.Uint64()
	r := core.NewRecovery(cfg)
	b.disk.SyncDirectory()
	for _, file := range b.disk.Files() {
		content, _ := b.disk.Content(file)
		b.sayData(now, b.name, "recover", file, 0, content)
		if err := r.Feed(file, content); err != nil {
			b.refuse(now, err)
			return
		}
	}
	b.lots.stream = b.draws
	c, err := r.Finish(b.time(now), &b.fx)
	b.lots.stream = nil
	if err != nil {
		b.refuse(now, err)
		return
	}
	b.core = c
	if b.watch != nil {
		b.watch.Begin(b.number)
	}
	b.look(now)
	b.carryOut(now)
}

func (b *broker) refuse(now int64, err error) {
	b.note(now, "refuses to start: "+err.Error())
	b.refusal(now, b.process, err)
}

func (b *broker) time(now int64) core.Time {
	return core.Time{Mono: b.clock.Mono(now), Wall: b.clock.Wall(now)}
}

func (b *broker) due() (int64, bool) {
	if b.core == nil {
		return 0, false
	}
	mono, ok := b.core.NextDeadline()
	if !ok {
		return 0, false
	}
	return b.clock.When(mono)
}

// step steps the core and carries out what it wants.
func (b *broker) step(now int64, ev core.Event) {
	if b.core == nil {
		return // it ended in the same moment
	}
	b.traceEvent(now, b.process, &ev)
	b.lots.stream = b.draws
	b.core.Step(b.time(now), ev, &b.fx)
	b.lots.stream = nil
	b.look(now)
	b.carryOut(now)
}

func (b *broker) handle(now int64, in *input) {
	if b.core == nil {
		return // it has not begun to listen
	}
	switch in.event.Kind {
	case evNotice:
		b.noticed(now, &in.notice)
	case evTold:
		b.step(now, core.Event{Kind: core.EvTold, Data: in.told})
	case evTimer:
		if due, ok := b.core.NextDeadline(); ok && due <= b.clock.Mono(now) {
			b.step(now, core.Event{Kind: core.EvTimer})
		}
	case evDisk:
		b.changed(now)
	case evRead:
		b.readDone(now, in.event.A)
	case evWrite:
		b.write(now, network.ConnID(in.event.A))
	case evHangUp:
		b.hangUp(now, network.ConnID(in.event.A))
	case evRequest:
		b.step(now, core.Event{Kind: core.EvRequest, Request: b.requests[in.event.A].asked})
	case evAbort:
		b.exit(now, "the orderly stop takes too long: the disk does not answer")
	}
}

// carryOut does what the core asked for.
func (b *broker) carryOut(now int64) {
	b.passed(now, b.process, b.fx.Points)
	for i := range b.fx.List {
		e := &b.fx.List[i]
		b.traceEffect(now, b.process, e)
		switch e.Kind {
		case core.FxSend:
			b.send(now, network.ConnID(e.Conn), e.Data)
		case core.FxClose:
			b.close(now, network.ConnID(e.Conn))
		case core.FxCreate, core.FxRecycle, core.FxWrite, core.FxSync, core.FxRemove:
			b.changes = append(b.changes, *e)
		case core.FxRead:
			b.startRead(now, *e)
		case core.FxTell:
			b.tell(now, e)
		case core.FxReply:
			b.replied(now, e.Request, e.Reply)
		case core.FxLog:
			b.note(now, e.Text)
		case core.FxExit:
			b.exit(now, e.Text)
			return
		case core.FxStopped:
			b.stopped(now)
			return
		}
	}
	clear(b.fx.List)
	b.fx.Reset()
	b.issue(now)
	if !b.ready && b.core.Ready() {
		b.ready = true
		b.serving(now, b.process)
		for i := range b.early {
			b.opened(now, &b.early[i])
		}
		b.early = nil
	}
}

// exit is the end of a process that must not go on.
func (b *broker) exit(now int64, why string) {
	b.note(now, "ends: "+why)
	b.exited(now, b.process, why)
	b.end(now, false)
}

func (b *broker) note(now int64, text string) {
	b.log = fmt.Appendf(b.log, "%d.%06d %s\n", now/second, now%second/microsecond, text)
	b.say(now, b.name, text, 0, 0)
}

func (b *broker) terminate(now int64) {
	if b.core == nil {
		b.end(now, false)
		return
	}
	if b.stopping {
		return
	}
	b.stopping = true
	b.net.Unlisten(b.host)
	b.post(now+stopWithin, evAbort, 0)
	b.step(now, core.Event{Kind: core.EvStop})
}

// stopped ends the process in order: the kernel takes what it has room for.
func (b *broker) stopped(now int64) {
	for _, id := range slices.Sorted(maps.Keys(b.conns)) {
		b.flushOut(now, id, b.conns[id])
		b.net.Close(now, id, network.Acceptor)
	}
	b.end(now, false)
}

func (b *broker) gone(now int64, power bool) {
	how := disk.Kill
	if power {
		how = disk.PowerLoss
	}
	b.lookAtDisk(now)
	b.disk.Crash(how)
	b.core, b.ready = nil, false
}
