package conductor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/scenarios"
)

// Bounds of what the conductor waits for. They are generous, for an engine of
// containers on a busy machine takes seconds for a call: reaching one is a
// harness error that says which, never a verdict.
const (
	bootWithin   = time.Minute            // a started process has to be ready
	stopWithin   = 20 * time.Second       // an orderly stop has to be over
	goneWithin   = 15 * time.Second       // a killed process has to be gone
	actWithin    = 70 * time.Second       // the host has to have done what it was asked for; it has bounds of its own, and says more
	cycle        = 4 * time.Millisecond   // how often streams are read and faults looked at
	longestCycle = time.Second            // one that took longer was none: the machine stood still
	tickEvery    = 200 * time.Millisecond // harness watermark in the history
	statsEvery   = 50 * time.Millisecond  // how often the drain asks for the backlog
	probeEvery   = 10 * time.Millisecond  // how often a starting broker is asked whether it answers
	harnessName  = "harness"              // source of the harness's own history lines
)

// Options say what to run and where.
type Options struct {
	Plan     scenarios.Plan
	Dir      string                    // run directory with plan.json in it, absolute
	Host     Host                      // where the processes live; Run closes it
	Sink     func(history.Event) error // gets every event in merged order; an error ends the run
	Progress func(Progress)            // called every cycle; nil: not
}

// Progress is where a run is.
type Progress struct {
	Phase          string
	Elapsed, Total time.Duration // Total is what the plan's timetable foresees at most
	Acks, Consumes int64
	Faults         int // that took effect
	Planned        int // faults of the plan
}

// Outcome is what the conductor has to say of a run beyond its history.
type Outcome struct {
	TargetVersion string
	Faults        []faults.Entry
	WarmedUp      bool
	Interrupted   bool // the context ended first

	// LeftOut says why faults of the plan were not carried out, each reason once,
	// as clauses. A run that left any out proves too little to pass.
	LeftOut []string
}

// Conductor runs one plan once.
type Conductor struct {
	Options
	nodes     []*node // brokers of the system under test
	processes []*process
	inbox     *inbox
	diary     *diary // the harness's own history
	journal   *journal
	probes    chan probed

	quiet     quietness
	programme programme         // from boot on
	scheduler *faults.Scheduler // from chaos on
	actions   []*action
	struck    chan Actuation // what became of signals that begin or end faults
	seeking   <-chan survey  // who leads, for a fault on a selector that is due; nil: not asked
	sentinels *sentinels     // from the drain on
	took      int            // faults that took effect

	began, chaosBegan int64
	stood             time.Duration // how long the machine did, while the run waited for something
	phase             string
	lastTick          int64
	version           string
}

// probed reports that a broker incarnation answers, or did not in time.
type probed struct {
	process *process
	life    int
	why     string // it takes part in nothing, for this reason; "": it does its work
	err     error
}

// New returns the conductor of one run.
func New(o Options) *Conductor {
	return &Conductor{Options: o, probes: make(chan probed, 16), struck: make(chan Actuation, 64)}
}

// Run carries the plan out. An error is a failure of the harness or its
// surroundings, ErrTargetMissing among them; what happened until then is in
// the history. The host is closed when it returns.
func (c *Conductor) Run(ctx context.Context) (outcome Outcome, err error) {
	c.began = stream.Now()
	defer func() {
		if errors.Is(err, context.Canceled) {
			outcome.Interrupted, err = true, nil
		}
	}()
	if err := c.prepare(ctx); err != nil {
		return Outcome{}, errors.Join(err, c.Host.Close(), c.quiet.close())
	}
	defer func() {
		if errors.Is(err, context.Canceled) {
			outcome.Interrupted, err = true, nil
		}
		// What fails from here on is a failure, whoever wanted the end.
		err = errors.Join(err, c.shutDown())
		outcome.TargetVersion, outcome.LeftOut = c.version, c.programme.why
		if c.scheduler != nil {
			outcome.Faults = c.programme.entries(c.scheduler)
		}
	}()
	return outcome, c.carryOut(ctx, &outcome)
}

// carryOut goes through the phases.
func (c *Conductor) carryOut(ctx context.Context, outcome *Outcome) error {
	if err := c.boot(ctx); err != nil {
		return err
	}
	warm, err := c.warmUp(ctx)
	if err != nil {
		return err
	}
	if outcome.WarmedUp = warm; warm {
		if err := c.chaos(ctx); err != nil {
			return err
		}
	}
	if err := c.drain(ctx); err != nil {
		return err
	}
	return c.verify(ctx)
}

// prepare makes everything but processes.
func (c *Conductor) prepare(ctx context.Context) error {
	layout := newLayout(c.Plan, c.Dir)
	if err := layout.makeDirs(); err != nil {
		return err
	}
	if err := c.quiet.prepare(c.Dir); err != nil {
		return err
	}
	if err := c.Host.Prepare(ctx, layout); err != nil {
		return err
	}
	c.processes, c.nodes = newCast(layout, c.Host)
	for _, f := range c.Plan.Faults {
		if c.process(f.Target) == nil && !faults.IsSelector(f.Target) {
			return fmt.Errorf("fault %d is a %s of %s, which is no process of this run", f.Ref, f.Kind, f.Target)
		}
	}
	c.programme = newProgramme(c.Plan, c.Host)
	c.inbox = newInbox(c.Dir, Streams(c.Plan), c.Sink)
	var err error
	if c.journal, err = newJournal(filepath.Join(c.Dir, ActuationsName)); err != nil {
		return err
	}
	for _, l := range c.programme.left {
		if err := c.journal.write(l); err != nil {
			return err
		}
	}
	c.diary, err = newDiary(filepath.Join(c.Dir, "history", harnessName+".ndjson"))
	return err
}

// Streams names the history streams of a run: the harness's own, and one of
// each workload process.
func Streams(plan scenarios.Plan) []string {
	names := []string{harnessName}
	for _, c := range plan.Workload.Consumers {
		names = append(names, c.Name)
	}
	for _, p := range plan.Workload.Producers {
		names = append(names, p.Name)
	}
	return names
}

func (c *Conductor) process(name string) *process {
	for _, p := range c.processes {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// members returns the brokers that are the cluster, in the order of their
// numbers: all of them, or those that can be asked because they run.
func (c *Conductor) members(running bool) []*node {
	var list []*node
	for _, n := range c.nodes {
		if n.member && (!running || n.external() || n.process.running) {
			list = append(list, n)
		}
	}
	return list
}

// note writes a history line of the harness and returns the moment it bears.
func (c *Conductor) note(e history.Event) (int64, error) {
	t, err := c.diary.note(e)
	c.lastTick = max(c.lastTick, t)
	return t, err
}

// say is note for whom its moment does not matter.
func (c *Conductor) say(e history.Event) error {
	_, err := c.note(e)
	return err
}

func (c *Conductor) enter(phase string) error {
	if c.phase = phase; phase == history.PhaseQuietEnd {
		c.phase = history.PhaseChaos
	}
	return c.say(history.Event{Ev: history.Phase, What: phase})
}

// start begins an incarnation of p; ready is told later, by its stream or by
// a probe.
func (c *Conductor) start(p *process) error {
	p.ready, p.asked, p.again = false, 0, 0
	p.troubled = p.node != nil && (p.node.harmed || c.diskFault(p))
	if p.node == nil {
		c.inbox.open(p.Name)
	}
	if err := c.Host.Start(p.Name); err != nil {
		return err
	}
	p.running = true
	p.lives++
	if p.node != nil {
		go c.probe(p, p.lives, p.node.probe())
	}
	return nil
}

// probe asks a starting broker until it answers.
func (c *Conductor) probe(p *process, life int, ask func(context.Context) (bool, string)) {
	const longest = 2*callWithin + probeEvery // of one look, on a machine that does not stand still
	for waited := time.Duration(0); waited < bootWithin; {
		began := time.Now()
		if ready, why := ask(context.Background()); ready {
			c.probes <- probed{process: p, life: life, why: why}
			return
		}
		time.Sleep(probeEvery)
		waited += min(time.Since(began), longest)
	}
	c.probes <- probed{process: p, life: life, err: fmt.Errorf("%s does not answer on http://%s/ping within %v", p.Name, p.node.Call, bootWithin)}
}

// step reads what happened since the last one. It returns the first thing
// that must not happen.
func (c *Conductor) step() error {
	if err := c.news(); err != nil {
		return err
	}
	if stream.Now()-c.lastTick > int64(tickEvery) {
		if err := c.say(history.Event{Ev: history.Note, What: history.NoteTick}); err != nil {
			return err
		}
	}
	if err := c.inbox.read(c.observe); err != nil {
		return err
	}
	if err := c.keepQuiet(); err != nil {
		return err
	}
	if c.Progress != nil {
		c.Progress(c.progress())
	}
	return nil
}

// news takes everything that the host and the probes have to tell.
func (c *Conductor) news() error {
	for {
		var err error
		select {
		case e := <-c.Host.Exits():
			err = c.exited(e)
		case a := <-c.Host.Actuations():
			err = c.answered(a)
		case a := <-c.struck:
			err = c.answered(a)
		case p := <-c.probes:
			err = c.answers(p)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answers notes that a broker answers, or did not in time.
func (c *Conductor) answers(said probed) error {
	p := said.process
	switch {
	case said.life != p.lives || !p.running:
		return nil // of an incarnation that is gone
	case said.err != nil:
		return fmt.Errorf("%w; its log ends: %s", said.err, c.Host.LastWords(p.Name))
	}
	p.ready = true
	if said.why != "" {
		return c.quarantined(p.node, said.why)
	}
	return c.say(history.Event{Ev: history.Note, What: history.NoteReady, Target: p.Name})
}

// observe sees each event as soon as it is written, before the merge.
func (c *Conductor) observe(e history.Event) {
	if e.Ev == history.Note && e.What == history.NoteStarted {
		if p := c.process(e.Src); p != nil && e.Try >= p.lives {
			p.ready = true
		}
	}
	if c.sentinels != nil {
		c.sentinels.observe(e)
	}
	if c.scheduler != nil && e.T >= c.chaosBegan {
		c.scheduler.Observe(c.sinceChaos(), e)
	}
}

// exited handles the end of a process: expected ones are part of a fault or
// of the end of the run, or what a broker does whose disk fails; others end the
// run.
func (c *Conductor) exited(e Exit) error {
	if e.Err != nil { // of whichever incarnation: the run ends
		return fmt.Errorf("run %s: %w", e.Process, e.Err)
	}
	p := c.process(e.Process)
	if p == nil || e.Life != p.lives || !p.running {
		return fmt.Errorf("incarnation %d of %s has ended, which does not run", e.Life, e.Process)
	}
	p.running, p.ready, p.ended = false, false, e.How
	if p.node == nil {
		if err := c.inbox.close(p.Name, c.observe); err != nil {
			return err
		}
	}
	if p.endedAsAsked(e) {
		return nil
	}
	if err := c.say(history.Event{Ev: history.Note, What: history.NoteExited, Target: p.Name, Text: e.How}); err != nil {
		return err
	}
	if c.supervise(p, e) {
		return nil
	}
	what := "ended by itself"
	if p.asked != 0 {
		what = "did not end as it was asked to, by " + unix.SignalName(p.asked)
	}
	return fmt.Errorf("%s %s (%s); its log ends: %s", p.Name, what, e.How, c.Host.LastWords(p.Name))
}

// wait steps until done says so. It fails with what (a clause) when the
// bound passes first.
func (c *Conductor) wait(ctx context.Context, bound time.Duration, what string, done func() bool) error {
	deadline := c.awake() + bound
	for last := time.Now(); ; {
		if err := c.step(); err != nil {
			return err
		}
		if done() {
			return nil
		}
		now := time.Now()
		if took := now.Sub(last); took > longestCycle {
			c.stood += took
		}
		last = now
		if c.awake() > deadline {
			return &late{what: what, bound: bound}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(cycle):
		}
	}
}

// awake is how long the run has gone on while its machine did: bounds are in
// this time. One that is overloaded or suspended stands still for everybody, and
// so does a run that waits for an engine inside a call of its host.
func (c *Conductor) awake() time.Duration { return time.Duration(stream.Now()-c.began) - c.stood }

// late is the error of a bound that passed.
type late struct {
	what  string
	bound time.Duration
}

func (l *late) Error() string { return fmt.Sprintf("%s within %v", l.what, l.bound) }

func (c *Conductor) sinceChaos() int64 { return stream.Now() - c.chaosBegan }

func (c *Conductor) progress() Progress {
	p := c.Plan.Phases
	return Progress{
		Phase:   c.phase,
		Elapsed: time.Duration(stream.Now() - c.began),
		Total:   time.Duration(p.WarmUpWithin + p.Chaos + p.DrainWithin),
		Acks:    c.inbox.acks, Consumes: c.inbox.consumes,
		Faults: c.took, Planned: len(c.Plan.Faults),
	}
}
