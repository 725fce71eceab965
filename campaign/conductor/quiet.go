package conductor

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"time"

	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/workload/antithesis/quiet"
)

const (
	// requestsEvery is how often the conductor looks for requests of quiet.
	requestsEvery = 20 * time.Millisecond

	// quietWithin bounds how long it may take until quiet that was asked for is
	// real: what runs has to be lifted, and what was ended to be ready again.
	quietWithin = bootWithin + actWithin
)

// quietness is the quiet of a run: the windows of its plan, and what its
// workload asks for while it runs. Both stand in the history as one window when
// they overlap, and progress is judged in both by the same rules. Times are
// CLOCK_MONOTONIC.
type quietness struct {
	desk    *quiet.Desk
	looked  int64           // at the desk
	waiting []quiet.Request // not answered yet
	since   int64           // when the first of them came
	until   int64           // no fault begins before

	planned bool  // the plan has a window now
	open    bool  // a window stands in the history and has not ended
	calm    int64 // since when no fault is active and everything is ready; 0: it is not so
}

func (q *quietness) prepare(dir string) (err error) {
	q.desk, err = quiet.Open(filepath.Join(dir, quiet.Dir))
	return err
}

func (q *quietness) close() error {
	if q.desk == nil {
		return nil
	}
	return q.desk.Close()
}

// asked tells whether no fault may be active now: the workload wants none, or
// the window that stands in the history has not ended there.
func (q *quietness) asked() bool { return len(q.waiting) > 0 || q.open || stream.Now() < q.until }

// keepQuiet takes requests and does what they and the plan want at this moment.
func (c *Conductor) keepQuiet() error {
	q, now := &c.quiet, stream.Now()
	if now-q.looked >= int64(requestsEvery) {
		q.looked = now
		came, err := q.desk.Requests()
		if err != nil {
			return err
		}
		if len(q.waiting) == 0 {
			q.since = now
		}
		q.waiting = append(q.waiting, came...)
	}
	switch {
	case !c.undisturbed():
		q.calm = 0
	case q.calm == 0:
		q.calm = now
	}
	return errors.Join(c.answerRequests(now), c.window())
}

// undisturbed tells whether no fault is active and every process is ready that
// is to run.
func (c *Conductor) undisturbed() bool {
	return len(c.actions) == 0 && !slices.ContainsFunc(c.processes, func(p *process) bool {
		away := p.node != nil && !p.node.member // replaced, or to replace, or it refuses to start
		return p.lives > 0 && !away && !(p.running && p.ready)
	})
}

// settled tells whether quiet is real: like a window of the plan it begins some
// time after the last fault, in which clients find their brokers again.
func (q *quietness) settled(now int64) bool { return q.calm != 0 && now >= q.calm+faults.Settle }

// answerRequests tells those who wait that quiet is real. Requests that overlap
// end together, with the last of them.
func (c *Conductor) answerRequests(now int64) error {
	q := &c.quiet
	switch {
	case len(q.waiting) == 0:
		return nil
	case !q.settled(now):
		if c.inChaos() && now-q.since > int64(quietWithin) {
			return &late{what: "the quiet that a process asked for does not come", bound: quietWithin}
		}
		return nil
	}
	for _, r := range q.waiting {
		q.until = max(q.until, now+int64(r.Seconds)*int64(time.Second))
	}
	if err := c.window(); err != nil { // it is in the history before anyone relies on it
		return err
	}
	for _, r := range q.waiting {
		if err := q.desk.Answer(r, quiet.Answer{Quiet: true, Until: q.until}); err != nil {
			return err
		}
	}
	q.waiting = nil
	return nil
}

func (c *Conductor) inChaos() bool {
	return c.phase == history.PhaseChaos || c.phase == history.PhaseQuiet
}

// window begins or ends the window in the history.
func (c *Conductor) window() error {
	q, now := &c.quiet, stream.Now()
	wanted := c.inChaos() && (q.planned || now < q.until && (q.open || q.settled(now)))
	if wanted == q.open {
		return nil
	}
	q.open = wanted
	if wanted {
		return c.enter(history.PhaseQuiet)
	}
	return c.enter(history.PhaseQuietEnd)
}

// plannedQuiet says whether the plan has a window now.
func (c *Conductor) plannedQuiet(on bool) error {
	c.quiet.planned = on
	return c.window()
}

// endQuiet ends the window, if there is one, because chaos does.
func (c *Conductor) endQuiet() error {
	if !c.quiet.open {
		return nil
	}
	c.quiet.open = false
	return c.enter(history.PhaseQuietEnd)
}

// Environment is what the environment of a process has beside its host's own:
// where a client of a run finds the stop-faults command.
func (l Layout) Environment(p Process, at Site) []string {
	if p.Role == faults.Broker {
		return nil
	}
	return []string{
		quiet.Variable + "=" + at.Quiet,
		quiet.DirVariable + "=" + path.Join(at.Dir, quiet.Dir),
	}
}

// cutShort makes a fault that is effective end now, rather than when its time is
// over.
func (a *action) cutShort(now int64) {
	from := a.began
	if ends(a.fault.Kind) {
		from = a.gone
	}
	if from != 0 {
		a.fault.For = min(a.fault.For, max(0, now-from))
	}
}
