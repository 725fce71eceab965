package sim

import (
	"strconv"

	"pestle/faults"
	"pestle/sim/clock"
	"pestle/sim/network"
	"pestle/sim/random"
	"pestle/sim/schedule"
)

const (
	microsecond = int64(1_000)
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond
)

// process is one process of the run over all its incarnations, on a machine
// of its own.
type process struct {
	*world
	name   string
	role   faults.Role
	host   network.Host // and its index in world.processes
	stream int          // of its history; 0 for a broker, which has none
	node   node

	clock *clock.Clock
	noise *random.Stream // of this incarnation

	epoch    uint32 // counts starts and ends: events of an earlier one are void
	lives    int    // incarnations started
	running  bool
	ready    bool // this incarnation works: a broker serves, a client has begun
	expected bool // its end is part of a fault or of the end of the run
	out      bool // it has no part in the run, or none any more: nobody starts it
	paused   bool
	dark     bool    // its machine is without power
	inbox    []input // came while it was paused, or while the processor was busy with what came before

	slow   int64  // so many times as long takes what it computes; 0: no time worth telling
	freeAt int64  // virtual time at which the slow processor is through with the inbox
	turns  uint64 // counts slow spells: turns of an earlier one are void

	timerFor int64  // virtual time that a timer is set for; never: none is
	timer    uint64 // number of the last one set: earlier ones are void
}

// input is one thing that happens to a process: an event of its own, a notice
// of the network, or what another broker tells it.
type input struct {
	event  schedule.Event
	notice network.Notice // when event.Kind is evNotice
	told   []byte         // when event.Kind is evTold
}

// node is what runs in a process.
type node interface {
	boot(now int64)              // the process has just begun
	handle(now int64, in *input) // something happened to it
	terminate(now int64)         // it is asked to end in order
	gone(now int64, power bool)  // it has ended, or its machine has lost power
	due() (at int64, ok bool)    // virtual time at which evTimer is wanted
}

// The kinds of a process's events; what A means stands behind.
const (
	evNotice uint8 = iota // not in the queue: a notice of the network
	evTold                // not in the queue: a datagram of another broker
	evBoot
	evTimer     // number of the timer
	evTerminate //
	evAbort     // a broker's orderly stop takes too long
	evDisk      // a broker's disk change is done
	evRead      // a broker's disk read is done: slot
	evWrite     // a broker's output of a connection is taken by the kernel
	evHangUp    // a broker waits no longer for a connection's end
	evRequest   // a request of the harness: number
	evEffect    // a client goes on with its effects
	evDrain     // a producer is told to drain
	evTurn      // the slow processor is through with the first of the inbox: number of the spell
)

const never = int64(1<<63 - 1)

// post schedules an event of the process's incarnation.
func (p *process) post(at int64, kind uint8, a uint64) {
	p.queue.Add(schedule.Event{At: at, To: actorOf(p.host), Kind: kind, Life: p.epoch, A: a})
}

// start begins an incarnation; it takes a while until it runs.
func (p *process) start(now int64) {
	p.epoch++
	p.lives++
	p.noise = random.New(p.seed, "process", p.name, strconv.Itoa(p.lives))
	p.running, p.ready, p.expected, p.paused = true, false, false, false
	p.inbox, p.freeAt = nil, now
	p.timerFor = never
	if p.dark {
		p.dark = false
		p.net.Boot(now, p.host)
	}
	if p.stream != 0 {
		p.record.open(p.stream)
	}
	p.say(now, p.name, "start", uint64(p.lives), 0)
	p.post(now+p.noise.Between(2*millisecond, 20*millisecond), evBoot, 0)
}

// end is the end of an incarnation, by itself or by force. The kernel keeps
// what it has; without power nobody is told anything.
func (p *process) end(now int64, power bool) {
	p.epoch++
	p.running, p.ready, p.paused = false, false, false
	p.inbox = nil
	p.node.gone(now, power)
	if p.dark = power; power {
		p.net.Vanish(now, p.host)
	} else {
		p.net.Kill(now, p.host)
	}
	if p.stream != 0 {
		p.record.close(p.stream)
	}
	p.say(now, p.name, "end", uint64(p.lives), 0)
	p.ended(now, p)
}

// deliver hands something to the process, or keeps it while it is paused or has
// a slow processor.
func (p *process) deliver(now int64, in *input) {
	switch {
	case !p.running:
	case in.event.Kind == evTurn:
		p.turn(now, in.event.A)
	case p.paused:
		p.inbox = append(p.inbox, *in)
	case p.slow > 0:
		p.wait(now, in)
	default:
		p.take(now, in)
	}
}

func (p *process) take(now int64, in *input) {
	switch in.event.Kind {
	case evBoot:
		p.node.boot(now)
	case evTerminate:
		p.node.terminate(now)
	case evTimer:
		if in.event.A != p.timer {
			return
		}
		p.timerFor = never
		p.node.handle(now, in)
	default:
		p.node.handle(now, in)
	}
	if p.running {
		p.setTimer(now)
	}
}

// resume lets a paused process go on with what came meanwhile.
func (p *process) resume(now int64) {
	p.paused = false
	inbox, epoch := p.inbox, p.epoch
	p.inbox = nil
	for i := range inbox {
		if p.epoch != epoch {
			return
		}
		p.deliver(now, &inbox[i])
	}
}

// setTimer sees to it that the process is woken when its node wants it. A
// timer that is set for an earlier time does no harm, so a later wish costs
// nothing.
func (p *process) setTimer(now int64) {
	at, ok := p.node.due()
	if !ok || at >= p.timerFor {
		return
	}
	p.timerFor = at
	p.timer++
	p.post(max(at, now)+p.slack(), evTimer, p.timer)
}

// rewind sets the timer anew after its clock was changed.
func (p *process) rewind(now int64) {
	p.timerFor = never
	if p.running {
		p.setTimer(now)
	}
}

// slack is how late a timer fires: the scheduler's doing, and now and then
// that of a collection of garbage or of a busy machine.
func (p *process) slack() int64 {
	const rare = 10 // permille
	if p.noise.Permille(rare) {
		return p.noise.Below(20 * millisecond)
	}
	return p.noise.Below(100 * microsecond)
}
