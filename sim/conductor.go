package sim

import (
	"fmt"

	"pestle/broker/core"
	"pestle/faults"
	"pestle/history"
	"pestle/sim/random"
	"pestle/sim/schedule"
)

// Bounds of what the conductor waits for, in virtual time. They are those of
// the process world: reaching one is a failure of the harness that says which,
// never a verdict.
const (
	bootWithin = 15 * second       // a started process has to be ready
	healWithin = 25 * second       // the last faults have to be over
	endWithin  = 12 * second       // an orderly stop has to be over
	tickEvery  = 200 * millisecond // harness watermark in the history
	statsEvery = 50 * millisecond  // how often the drain asks for the backlog
	probeEvery = 10 * millisecond  // how often a starting broker is asked whether it answers
	maxRestart = 500 * millisecond // a supervisor starts a process again that ended by itself …
	minRestart = 100 * millisecond // … after so long
)

// conductor leads the run through its phases.
type conductor struct {
	harness  *random.Stream
	requests []request

	lastTick   int64
	chaosBegan int64
	beginning  bool // faults may begin
	scheduler  *faults.Scheduler
	armed      int64 // time of the next evDue; never: none
	actions    []*action
	waited     [core.PointCount]bool
	warm       bool
	sentinels  *sentinels // from the drain on
}

// The kinds of the conductor's events.
const (
	evTick       uint8 = iota + 1 // a watermark may be due
	evDue                         // a fault may be due
	evHeal                        // fault A has lasted its time
	evRestart                     // process A, which ended by itself in epoch B, is started again
	evProbe                       // a broker A of epoch B answers
	evReply                       // request A is answered
	evReplace                     // how far is the replacement that fault A asks for?
	evStatistics                  // the brokers are asked for their statistics
)

// conduct is the run.
func (w *world) conduct() {
	w.prepare()
	for _, phase := range []func(){w.boot, w.warmUp, w.chaos, w.drain, w.verify} {
		if phase(); w.over() {
			break
		}
	}
	w.enter(history.PhaseEnd)
}

func (w *world) prepare() {
	w.harness = random.New(w.seed, "harness")
	w.armed = never
	w.waited = waitedPoints(w.plan.Faults)
	w.later(tickEvery, evTick, 0, 0)
	if w.watch != nil || w.statistics != nil {
		w.later(statisticsEvery, evStatistics, 0, 0)
	}
}

// note writes a history line of the harness.
func (w *world) note(e history.Event) {
	w.lastTick = w.now()
	w.observed(w.now(), w.record.append(w.now(), 0, e))
}

func (w *world) enter(phase string) {
	w.say(w.now(), harnessName, phase, 0, 0)
	w.note(history.Event{Ev: history.Phase, What: phase})
}

// happened takes an event of the conductor's own.
func (w *world) happened(now int64, ev schedule.Event) {
	switch ev.Kind {
	case evTick:
		if now-w.lastTick >= tickEvery {
			w.note(history.Event{Ev: history.Note, What: history.NoteTick})
		}
		w.later(w.lastTick+tickEvery, evTick, 0, 0)
	case evDue:
		w.armed = never
		w.beginDue(now)
	case evHeal:
		w.heal(now, int(ev.A))
	case evRestart:
		if p := w.processes[ev.A]; p.epoch == uint32(ev.B) && !p.running {
			p.start(now)
		}
	case evReply:
		w.answered(now, &w.requests[ev.A])
	case evReplace:
		w.replaceOn(now, int(ev.A))
	case evStatistics:
		w.askStatistics(now)
	case evProbe:
		if p := w.processes[ev.A]; p.epoch == uint32(ev.B) {
			w.note(history.Event{Ev: history.Note, What: history.NoteReady, Target: p.name})
			w.readied(now, p)
		}
	}
}

// observed sees each history line of any process as soon as it is written.
func (w *world) observed(now int64, e history.Event) {
	if w.sentinels != nil {
		w.sentinels.observe(e)
	}
	if w.scheduler != nil && e.T >= w.chaosBegan {
		w.scheduler.Observe(now-w.chaosBegan, e)
		if e.Ev == history.Ack || e.Ev == history.Attempt {
			w.arm()
		}
	}
}

// serving notes that a broker serves clients; the harness finds out when it
// asks next.
func (w *world) serving(now int64, p *process) {
	w.later(now+w.harness.Below(probeEvery), evProbe, uint64(p.host), uint64(p.epoch))
}

// readied notes that a process works, which ends the fault that had stopped
// it.
func (w *world) readied(now int64, p *process) {
	if !p.running || p.ready {
		return
	}
	p.ready = true
	w.restarted(now, p)
}

// exited notes that a broker ends by itself; a supervisor starts it again.
func (w *world) exited(now int64, p *process, why string) {
	if p.expected {
		return
	}
	w.note(history.Event{Ev: history.Note, What: history.NoteExited, Target: p.name, Text: why})
	w.later(now+w.harness.Between(minRestart, maxRestart), evRestart, uint64(p.host), uint64(p.epoch+1))
}

// refusal is a broker that does not start with the journal it has. On a medium
// that lost what it had confirmed that is what it must do, and the run goes on
// without it; else a bug of the broker has cost its data, and the run cannot go
// on.
func (w *world) refusal(now int64, p *process, err error) {
	if !w.mayHaveLost(p) {
		w.fail(fmt.Errorf("%s refuses to start: %w", p.name, err))
		return
	}
	w.note(history.Event{Ev: history.Note, What: history.NoteExited, Target: p.name, Text: "refuses to start: " + err.Error()})
	p.out = true
	p.end(now, false)
	w.restarted(now, p) // it never will be: no fault holds it any longer
}

func (w *world) boot() {
	w.enter(history.PhaseBoot)
	if w.watch != nil {
		w.note(history.Event{Ev: history.Note, What: history.NoteWatched})
	}
	for _, b := range w.brokers {
		if !b.out {
			b.start(w.now())
		}
	}
	w.must(bootWithin, "the brokers are not ready", func() bool { return w.allReady(faults.Broker) })
	topic := w.plan.Workload.Topic
	w.call(core.Request{Kind: core.ReqCreateTopic, Topic: topic})
	if w.plan.Workload.ConsumeAfterChaos {
		w.startAll(faults.Producer)
		return
	}
	for _, c := range w.plan.Workload.Consumers {
		w.call(core.Request{Kind: core.ReqCreateChannel, Topic: topic, Channel: c.Channel})
	}
	w.startAll(faults.Consumer)
	w.startAll(faults.Producer)
}

// must waits; that the bound passes first is a failure of the harness.
func (w *world) must(within int64, what string, done func() bool) {
	if !w.run(w.now()+within, done) && !w.over() {
		w.fail(fmt.Errorf("%s within %d virtual seconds", what, within/second))
	}
}

func (w *world) allReady(role faults.Role) bool {
	for _, p := range w.processes {
		if p.role == role && !p.ready && !p.out {
			return false
		}
	}
	return true
}

func (w *world) startAll(role faults.Role) {
	for _, p := range w.processes {
		if p.role == role {
			p.start(w.now())
		}
	}
	w.must(bootWithin, "the workload does not begin", func() bool { return w.allReady(role) })
}

// warmUp waits for the plan's floor of acks. Missing it is no failure of the
// harness: the run goes on to its end and is inconclusive.
func (w *world) warmUp() {
	w.enter(history.PhaseWarmUp)
	w.warm = w.run(w.now()+w.plan.Phases.WarmUpWithin, func() bool {
		return w.record.acks >= w.plan.Phases.WarmUpAcks
	})
}

// chaos carries out the plan's faults, keeps the quiet windows, and heals what
// is still broken at the end.
func (w *world) chaos() {
	if !w.warm {
		return
	}
	w.enter(history.PhaseChaos)
	p := w.plan.Phases
	w.chaosBegan = w.now()
	w.scheduler = faults.New(w.plan.Faults, p.Quiet, p.Chaos)
	for _, quiet := range p.Quiet {
		w.chaosUntil(quiet.From)
		// The plan leaves no fault active here. One that heals late shortens
		// the window, for a window with a fault in it would accuse the target.
		w.healed()
		if w.now()-w.chaosBegan >= quiet.To || w.over() {
			continue
		}
		w.enter(history.PhaseQuiet)
		w.chaosUntil(quiet.To)
		w.enter(history.PhaseQuietEnd)
	}
	w.chaosUntil(p.Chaos)
	w.enter(history.PhaseHeal)
	w.healed()
}

// chaosUntil lets faults begin until t after the start of chaos.
func (w *world) chaosUntil(t int64) {
	w.beginning = true
	w.arm()
	w.run(w.chaosBegan+t, func() bool { return w.now() >= w.chaosBegan+t })
	w.beginning = false
}

// healed waits until every fault that was begun is over, and every broker that
// ended by itself serves again.
func (w *world) healed() {
	w.must(healWithin, "the last faults do not heal", func() bool {
		return len(w.actions) == 0 && w.allReady(faults.Broker)
	})
}

// verify ends the workload and the brokers in order.
func (w *world) verify() {
	w.enter(history.PhaseVerify)
	w.endAll(func(r faults.Role) bool { return r != faults.Broker })
	w.endAll(func(r faults.Role) bool { return r == faults.Broker })
}

func (w *world) endAll(which func(faults.Role) bool) {
	for _, p := range w.processes {
		if p.running && which(p.role) {
			p.expected = true
			p.post(w.now(), evTerminate, 0)
		}
	}
	w.must(endWithin, "processes do not stop when asked to", func() bool {
		for _, p := range w.processes {
			if p.running && which(p.role) {
				return false
			}
		}
		return true
	})
}
