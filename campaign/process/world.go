package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/scenarios"
)

// Bounds of what the world waits for. They are generous: reaching one is a
// harness error that says which, never a verdict.
const (
	bootWithin  = 15 * time.Second       // a started process has to be ready
	stopWithin  = 10 * time.Second       // an orderly stop has to be over; then SIGKILL
	goneWithin  = 5 * time.Second        // a killed process has to be gone
	cycle       = 4 * time.Millisecond   // how often streams are read and faults looked at
	tickEvery   = 200 * time.Millisecond // harness watermark in the history
	statsEvery  = 50 * time.Millisecond  // how often the drain asks for the backlog
	probeEvery  = 10 * time.Millisecond  // how often a starting broker is asked whether it answers
	harnessName = "harness"              // source of the harness's own history lines
)

// PlanName is the plan's file in a run directory; the workload reads it.
const PlanName = "plan.json"

// Options say what to run and where.
type Options struct {
	Plan     scenarios.Plan
	Dir      string                    // run directory with plan.json in it
	Program  string                    // Pestle's own binary, for the broker and the workload
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

// Outcome is what the world has to say of a run beyond its history.
type Outcome struct {
	TargetVersion string
	Faults        []faults.Entry
	WarmedUp      bool
	Interrupted   bool // the context ended first
}

// World runs one plan once.
type World struct {
	Options
	nodes    []*node // brokers of the system under test
	nursery  *nursery
	children []*child
	inbox    *inbox
	journal  *stream.Writer // the harness's own history
	probes   chan probed

	scheduler *faults.Scheduler // from chaos on
	actions   []*action
	seeking   <-chan survey // who leads, for a fault on a selector that is due; nil: not asked
	sentinels *sentinels    // from the drain on
	effective int

	began, chaosBegan int64
	phase             string
	lastTick          int64
	version           string
}

// probed reports that a broker incarnation answers, or did not in time.
type probed struct {
	child *child
	life  int
	err   error
}

// New returns the world of one run.
func New(o Options) *World {
	return &World{Options: o, probes: make(chan probed, 16)}
}

// Run carries the plan out. An error is a failure of the harness or its
// surroundings, ErrTargetMissing among them; what happened until then is in
// the history. All processes are gone when it returns.
func (w *World) Run(ctx context.Context) (outcome Outcome, err error) {
	w.began = stream.Now()
	if err := w.prepare(); err != nil {
		return Outcome{}, err
	}
	defer func() {
		if errors.Is(err, context.Canceled) {
			outcome.Interrupted, err = true, nil
		}
		// What fails from here on is a failure, whoever wanted the end.
		err = errors.Join(err, w.shutDown())
		outcome.TargetVersion = w.version
		if w.scheduler != nil {
			outcome.Faults = w.scheduler.Entries()
		}
	}()
	if err := w.boot(ctx); err != nil {
		return outcome, err
	}
	warm, err := w.warmUp(ctx)
	if err != nil {
		return outcome, err
	}
	outcome.WarmedUp = warm
	if warm {
		if err := w.chaos(ctx); err != nil {
			return outcome, err
		}
	}
	if err := w.drain(ctx); err != nil {
		return outcome, err
	}
	return outcome, w.verify(ctx)
}

// prepare makes everything but processes.
func (w *World) prepare() error {
	var err error
	if w.nodes, err = newNodes(w.Plan, w.Program, w.Dir); err != nil {
		return err
	}
	for _, sub := range []string{"history", "logs", "state"} {
		if err := os.MkdirAll(filepath.Join(w.Dir, sub), 0o755); err != nil {
			return fmt.Errorf("make the run directory: %w", err)
		}
	}
	for _, n := range w.nodes {
		if n.external() {
			continue
		}
		if err := n.makeData(); err != nil {
			return err
		}
		w.children = append(w.children, &child{name: n.name, role: roleBroker, node: n, args: n.args, dir: w.Dir})
	}
	for _, c := range w.Plan.Workload.Consumers {
		w.children = append(w.children, w.workload(roleConsumer, "consumer", c.Name))
	}
	for _, p := range w.Plan.Workload.Producers {
		w.children = append(w.children, w.workload(roleProducer, "producer", p.Name))
	}
	for _, f := range w.Plan.Faults {
		if w.child(f.Target) == nil && !faults.IsSelector(f.Target) {
			return fmt.Errorf("fault %d is a %s of %s, which is no process of this run", f.Ref, f.Kind, f.Target)
		}
	}
	w.inbox = newInbox(w.Dir, Streams(w.Plan), w.Sink)
	w.journal, err = stream.OpenWriter(filepath.Join(w.Dir, "history", harnessName+".ndjson"), harnessName)
	if err != nil {
		return err
	}
	w.nursery = newNursery()
	return nil
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

func (w *World) workload(role role, verb, name string) *child {
	args := []string{
		w.Program, "workload", verb,
		"--plan", filepath.Join(w.Dir, PlanName), "--dir", w.Dir, "--name", name,
	}
	for _, n := range w.nodes {
		args = append(args, "--nsqd-tcp-address", n.tcp)
	}
	return &child{name: name, role: role, dir: w.Dir, args: args}
}

func (w *World) child(name string) *child {
	for _, c := range w.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// members returns the brokers that are the cluster, in the order of their
// numbers: all of them, or those that can be asked because they run.
func (w *World) members(running bool) []*node {
	var list []*node
	for _, n := range w.nodes {
		c := w.child(n.name)
		if n.member && (!running || c == nil || c.running()) {
			list = append(list, n)
		}
	}
	return list
}

// note writes a history line of the harness.
func (w *World) note(e history.Event) error {
	written, err := w.journal.Append(e)
	if err == nil {
		w.lastTick = written.T
	}
	return err
}

func (w *World) enter(phase string) error {
	if w.phase = phase; phase == history.PhaseQuietEnd {
		w.phase = history.PhaseChaos
	}
	return w.note(history.Event{Ev: history.Phase, What: phase})
}

// start begins an incarnation of c; ready is told later, by its stream or by
// a probe.
func (w *World) start(c *child) error {
	c.ready, c.asked = false, 0
	if c.role != roleBroker {
		w.inbox.open(c.name)
	}
	if err := w.nursery.start(c); err != nil {
		return err
	}
	if c.role == roleBroker {
		go w.probe(c, c.lives)
	}
	return nil
}

// probe asks a starting broker until it answers.
func (w *World) probe(c *child, life int) {
	ctx, cancel := context.WithTimeout(context.Background(), bootWithin)
	defer cancel()
	for !c.node.ready(ctx) {
		select {
		case <-ctx.Done():
			w.probes <- probed{c, life, fmt.Errorf("%s does not answer on http://%s/ping within %v", c.name, c.node.http, bootWithin)}
			return
		case <-time.After(probeEvery):
		}
	}
	w.probes <- probed{child: c, life: life}
}

// step reads what happened since the last one. It returns the first thing
// that must not happen.
func (w *World) step() error {
	for {
		select {
		case e := <-w.nursery.exits:
			if err := w.exited(e); err != nil {
				return err
			}
			continue
		case p := <-w.probes:
			if p.life != p.child.lives || !p.child.running() {
				continue // of an incarnation that is gone
			}
			if p.err != nil {
				return fmt.Errorf("%w; its log ends: %s", p.err, p.child.lastWords())
			}
			p.child.ready = true
			if err := w.note(history.Event{Ev: history.Note, What: history.NoteReady, Target: p.child.name}); err != nil {
				return err
			}
			continue
		default:
		}
		break
	}
	if stream.Now()-w.lastTick > int64(tickEvery) {
		if err := w.note(history.Event{Ev: history.Note, What: history.NoteTick}); err != nil {
			return err
		}
	}
	if err := w.inbox.read(w.observe); err != nil {
		return err
	}
	if w.Progress != nil {
		w.Progress(w.progress())
	}
	return nil
}

// observe sees each event as soon as it is written, before the merge.
func (w *World) observe(e history.Event) {
	if e.Ev == history.Note && e.What == history.NoteStarted {
		if c := w.child(e.Src); c != nil && e.Try >= c.lives {
			c.ready = true
		}
	}
	if w.sentinels != nil {
		w.sentinels.observe(e)
	}
	if w.scheduler != nil && e.T >= w.chaosBegan {
		w.scheduler.Observe(w.sinceChaos(), e)
	}
}

// exited handles the end of a process: expected ones are part of a fault or
// of the end of the run, others end the run.
func (w *World) exited(e exit) error {
	c := e.child
	c.gone()
	if c.role != roleBroker {
		if err := w.inbox.close(c.name, w.observe); err != nil {
			return err
		}
	}
	if e.err != nil {
		return fmt.Errorf("wait for %s: %w", c.name, e.err)
	}
	if c.endedAsAsked(e.state) {
		return nil
	}
	how := e.state.String()
	if err := w.note(history.Event{Ev: history.Note, What: history.NoteExited, Target: c.name, Text: how}); err != nil {
		return err
	}
	what := "ended by itself"
	if c.asked != 0 {
		what = "did not end as it was asked to, by " + unix.SignalName(c.asked)
	}
	return fmt.Errorf("%s %s (%s); its log ends: %s", c.name, what, how, c.lastWords())
}

// wait steps until done says so. It fails with what (a clause) when the
// bound passes first.
func (w *World) wait(ctx context.Context, bound time.Duration, what string, done func() bool) error {
	deadline := time.Now().Add(bound)
	for {
		if err := w.step(); err != nil {
			return err
		}
		if done() {
			return nil
		}
		if time.Now().After(deadline) {
			return &late{what: what, bound: bound}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(cycle):
		}
	}
}

// late is the error of a bound that passed.
type late struct {
	what  string
	bound time.Duration
}

func (l *late) Error() string { return fmt.Sprintf("%s within %v", l.what, l.bound) }

func (w *World) sinceChaos() int64 { return stream.Now() - w.chaosBegan }

func (w *World) progress() Progress {
	p := w.Plan.Phases
	return Progress{
		Phase:   w.phase,
		Elapsed: time.Duration(stream.Now() - w.began),
		Total:   time.Duration(p.WarmUpWithin + p.Chaos + p.DrainWithin),
		Acks:    w.inbox.acks, Consumes: w.inbox.consumes,
		Faults: w.effective, Planned: len(w.Plan.Faults),
	}
}
