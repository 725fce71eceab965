// Package checker judges a run: it reads what clients and faults did, event by
// event, and says for each property of the catalog pass, fail or inconclusive,
// with the exposure that backs it.
//
// It owns the property catalog, the reachability claims and the algebra of
// verdicts. It never reads a file, a clock or a system under test: the history
// is its only evidence, so that the same code judges a live run and a saved
// one, and the same history always gives the same verdict. A property
// no-data-loss is judged in no_data_loss.go.
//
//	c := checker.New(cfg)
//	for e := range events { // in the order of history.Event.Before
//		if err := c.Observe(e); err != nil {
//			return err // the harness is broken, not the target
//		}
//	}
//	for _, p := range c.Verdict().Properties {
//		fmt.Println(p.Slug, p.Status, p.Exposure)
//	}
//
// Each event costs O(1) amortised. Memory is bounded by the open messages
// (those that a later event may still be judged by), by the causes of
// redelivery (faults, connection losses, restarts), by 18 bytes for each
// message ever sent and by 5 more for each channel that has finished it.
//
// Words: a try is one send of an id; it ends acked, failed (refused for sure)
// or unknown, or never, when its producer was killed. A copy is one position
// that holds the id. A stream is one channel of one topic.
package checker

import (
	"fmt"
	"strings"

	"pestle/history"
)

// Checker judges one history. Make one with New.
type Checker struct {
	cfg Config
	*run
	last    history.Event     // the one before, for the order of events
	any     bool              // there was one
	lines   map[string]uint64 // last line number by source
	lost    []string          // stretches of missing lines, for people
	lostAll uint64            // missing lines
	free    *message          // recycled messages, linked by next
	early   earlyConsumes
	still   standstill

	acksBeforeChaos int64
	chaos           bool // the phase has begun

	corruption noDataCorruption
	phantoms   noPhantomMessages
	ordering   messageOrdering
	loss       noDataLoss
	producing  producerProgress
	consuming  consumerProgress
	guarantee  deliveryGuarantee
	finality   ackFinality
	drain      drain
	flow       flowControl
	holding    notEarly
	inside     invariants
	claims     claims
}

// New returns a checker for a run of the plan that cfg describes.
func New(cfg Config) *Checker {
	c := &Checker{cfg: cfg, lines: make(map[string]uint64)}
	c.run = newRun(&c.cfg)
	c.early.byID = make(map[string][]int)
	c.corruption.run = c.run
	c.phantoms = noPhantomMessages{run: c.run, early: &c.early}
	c.ordering.run = c.run
	c.loss = noDataLoss{run: c.run, ordering: &c.ordering, during: make([]int64, len(c.faults.kinds))}
	c.producing = producerProgress{run: c.run, each: make([]windowSends, len(c.producers))}
	c.consuming = consumerProgress{run: c.run, each: make([]windowStream, len(c.streams))}
	c.guarantee.run = c.run
	c.finality = ackFinality{run: c.run, final: finalTimes{run: c.run, blocks: make(map[finalBlock]*finalFacts)}}
	c.drain = drain{run: c.run, emptied: make([]bool, len(c.streams)), left: make([]string, len(c.streams))}
	c.flow.run = c.run
	c.holding.run = c.run
	c.inside.run = c.run
	return c
}

// maxLost is how many stretches of missing lines a verdict names.
const maxLost = 5

// Observe takes the next event, in the order of history.Event.Before over all
// sources. An error says that the history cannot be true (time or a line
// number going back, an ack of what was never sent, names the plan does not
// know), which is the harness's fault and never the target's; no verdict
// should be drawn from the run. Missing lines are no error, for what is there
// can still be judged: but the run cannot pass any more.
func (c *Checker) Observe(e history.Event) error {
	err := c.inOrder(e)
	if err == nil {
		err = c.judgeEvent(e)
	}
	if err != nil {
		what := strings.Join(strings.Fields(string(e.Ev)+" "+e.What+" "+e.ID), " ")
		return fmt.Errorf("judge line %d of %s (%s): %w; the recorder or the file of %s is at fault, not the target",
			e.Seq, e.Src, what, err, e.Src)
	}
	return nil
}

func (c *Checker) inOrder(e history.Event) error {
	if c.any && !c.last.Before(e) {
		return fmt.Errorf("its time %d and place do not come after line %d of %s at %d", e.T, c.last.Seq, c.last.Src, c.last.T)
	}
	had := c.lines[e.Src]
	switch {
	case e.Src == "" || e.Seq == 0:
		return fmt.Errorf("a line needs a source and a number from 1")
	case e.Seq <= had:
		return fmt.Errorf("line %d of this source came before", had)
	case e.Seq > had+1:
		c.lostAll += e.Seq - had - 1
		if len(c.lost) < maxLost {
			c.lost = append(c.lost, fmt.Sprintf("%s lacks %s before line %d", e.Src, count(e.Seq-had-1, "line", "lines"), e.Seq))
		}
	}
	if !c.any {
		c.origin, c.any = e.T, true
	}
	c.lines[e.Src] = e.Seq
	c.last = history.Event{Seq: e.Seq, T: e.T, Src: e.Src}
	c.now = e.T
	return nil
}

func (c *Checker) judgeEvent(e history.Event) error {
	if gap := c.still.since(e); gap > 0 {
		c.quiet.stood = true
		if c.drain.phase == inDrain {
			c.drain.stood += gap
		}
	}
	c.guarantee.passed(e.T)
	c.holding.passed(e.T)
	switch e.Ev {
	case history.Attempt:
		return c.attempt(e)
	case history.Ack:
		return c.ended(e, acked)
	case history.Fail:
		return c.ended(e, failed)
	case history.Unknown:
		return c.ended(e, unknown)
	case history.Consume:
		return c.consume(e, false)
	case history.Requeue:
		return c.requeue(e)
	case history.Finish:
		return c.finish(e)
	case history.Phase:
		return c.phase(e)
	case history.Fault:
		return c.fault(e)
	case history.Note:
		return c.note(e)
	}
	return fmt.Errorf("there is no such event")
}

// Verdict judges what was observed so far. It changes nothing: more events may
// follow. Equal histories give equal verdicts.
func (c *Checker) Verdict() Verdict {
	judgements := []judgement{ // in catalog order
		c.corruption.judge(),
		c.phantoms.judge(),
		c.ordering.judge(),
		c.loss.judge(),
		c.producing.judge(),
		c.consuming.judge(),
		c.guarantee.judge(),
		c.finality.judge(),
		c.drain.judge(),
		c.flow.judge(),
		c.holding.judge(),
		c.inside.judge(),
	}
	v := Verdict{Claims: c.claims.judge(&c.cfg)}
	for i, entry := range Catalog() {
		v.Properties = append(v.Properties, settle(entry, &c.cfg, judgements[i]))
	}
	v.Status, v.Reason = overall(&c.cfg, v.Properties, v.Claims, c.weaknesses())
	return v
}

// weaknesses says what makes the run as a whole too weak for a pass.
func (c *Checker) weaknesses() []string {
	var list []string
	if c.lostAll > 0 {
		text := fmt.Sprintf("the history lost %s: %s", count(c.lostAll, "line", "lines"), strings.Join(c.lost, ", "))
		if len(c.lost) == maxLost {
			text += ", …"
		}
		list = append(list, text)
	}
	if c.early.met > 0 {
		list = append(list, fmt.Sprintf("the times of the history contradict each other: %s came before the attempt",
			count(c.early.met, "consume", "consumes")))
	}
	switch floor := c.cfg.WarmUpFloor; {
	case floor == 0:
	case !c.chaos:
		list = append(list, "the warm-up never ended")
	case c.acksBeforeChaos < floor:
		list = append(list, fmt.Sprintf("the warm-up reached only %d of %d acks", c.acksBeforeChaos, floor))
	}
	return list
}
