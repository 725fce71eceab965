package workload

import (
	"fmt"

	"pestle/history"
	"pestle/sim/random"
)

// ConsumerConfig is one consumer's share of a plan.
type ConsumerConfig struct {
	Name            string
	Topic           string
	Channel         string
	RequeuePermille int64 // first deliveries given back, 0 to 1000, drawn from Seed and the id
	RequeueDelay    int64 // ns, ≥ 0; the target is asked for whole ms
	ForgetPermille  int64 // first deliveries that get no answer at all, 0 to 1000, drawn likewise
	InFlight        int   // RDY; needed to forget
	MsgTimeout      int64 // lease of a delivery, ns; needed to forget
	Seed            uint64
}

// Consumer checks each message it is handed, records it and confirms it, or
// gives a drawn share of the first deliveries back. For each delivery the
// order is: state line, consume line, finish (or requeue) line, and only then
// the answer to the target. So a finish line says that the client was about to
// confirm: one that was cut off by a kill or a lost connection has a line and
// may not have arrived.
//
// Another drawn share it forgets: a forgot note stands in for the answer, and
// only the end of its lease can bring the message back. Since a forgotten one
// takes up a place of those in flight until then, it forgets none while the
// last one may still be leased, and none at all where InFlight is 1.
//
// A body that is no envelope, or whose checksum does not match, has no consume
// line but a malformed note, and is confirmed, so that it does not come again
// for ever.
type Consumer struct {
	cfg    ConsumerConfig
	resume Resume
	pen    pen
	done   bool

	forgetAgain int64 // when the last one forgotten is back for sure
}

// NewConsumer returns a Consumer that expects EvStart. A config out of range
// is an error that names the field.
func NewConsumer(cfg ConsumerConfig, resume Resume) (*Consumer, error) {
	switch {
	case cfg.Name == "" || cfg.Topic == "" || cfg.Channel == "":
		return nil, fmt.Errorf("consumer %q of channel %q of topic %q: every name must be set", cfg.Name, cfg.Channel, cfg.Topic)
	case cfg.RequeuePermille < 0 || cfg.RequeuePermille > 1000:
		return nil, fmt.Errorf("%s: requeue_permille is %d, want 0 to 1000", cfg.Name, cfg.RequeuePermille)
	case cfg.RequeueDelay < 0:
		return nil, fmt.Errorf("%s: requeue_delay is %d ns, want ≥ 0", cfg.Name, cfg.RequeueDelay)
	case cfg.ForgetPermille < 0 || cfg.ForgetPermille > 1000:
		return nil, fmt.Errorf("%s: forget_permille is %d, want 0 to 1000", cfg.Name, cfg.ForgetPermille)
	case cfg.ForgetPermille > 0 && (cfg.InFlight < 1 || cfg.MsgTimeout < 1):
		return nil, fmt.Errorf("%s: in_flight is %d and msg_timeout %d ns; to forget, both must be ≥ 1", cfg.Name, cfg.InFlight, cfg.MsgTimeout)
	}
	return &Consumer{cfg: cfg, resume: resume}, nil
}

// Step takes one event at the time now, in nanoseconds of the history's
// clock, and appends what is to be done.
func (c *Consumer) Step(now int64, e Event, fx *Effects) {
	if c.done {
		return
	}
	switch e.Kind {
	case EvStart:
		c.pen.note(now, history.NoteStarted, history.Event{Try: c.resume.Incarnation}, fx)
	case EvDelivery:
		c.deliver(now, e.Delivery, fx)
	case EvConnected:
		c.pen.note(now, history.NoteConnected, history.Event{Target: e.Target, Channel: c.cfg.Channel}, fx)
	case EvDisconnected:
		c.pen.note(now, history.NoteDisconnected, history.Event{Target: e.Target, Channel: c.cfg.Channel, Text: e.Text}, fx)
	case EvStop:
		c.done = true
		c.pen.note(now, history.NoteStopped, history.Event{}, fx)
		fx.add(Effect{Kind: FxDone})
		return
	}
	c.pen.tick(now, fx)
}

// NextDeadline returns when the next EvTimer is due. Once the machine is done
// there is none.
func (c *Consumer) NextDeadline() (int64, bool) { return c.pen.deadline(), !c.done }

func (c *Consumer) deliver(now int64, d Delivery, fx *Effects) {
	line := history.Event{Topic: c.cfg.Topic, Channel: c.cfg.Channel, Consumer: c.cfg.Name, Pos: d.Position, Target: d.Target}
	m, sum, err := Decode(c.cfg.Topic, "", d.Body)
	if m.ID != (ID{}) {
		line.ID = m.ID.String()
	}
	if err == nil && !validPosition(d.Position) {
		err = fmt.Errorf("the target's position %.40q cannot be written down", d.Position)
	}
	seen := line
	seen.Attempts, seen.Size, seen.Held = d.Attempts, len(m.Payload), d.Held
	if d.Overrun {
		over := line
		over.Text = fmt.Sprintf("%d deliveries without an answer", d.Held)
		c.pen.note(now, history.NoteOverrun, over, fx)
	}
	if err != nil {
		seen.Size, seen.Text = len(d.Body), err.Error()
		c.pen.note(now, history.NoteMalformed, seen, fx)
		c.finish(now, line, d.Token, fx)
		return
	}
	fx.add(Effect{Kind: FxState, Line: ConsumerLine{ID: m.ID, Position: d.Position}.AppendTo(nil)})
	seen.Ev, seen.Sum = history.Consume, sum.String()
	c.pen.write(now, seen, fx)
	switch {
	case d.Attempts == 1 && c.drawn("requeue", line.ID, c.cfg.RequeuePermille):
		line.Ev, line.Defer = history.Requeue, c.cfg.RequeueDelay/millisecond*millisecond
		c.pen.write(now, line, fx)
		fx.add(Effect{Kind: FxRequeue, Token: d.Token, Delay: line.Defer})
	case d.Attempts == 1 && c.cfg.InFlight > 1 && now >= c.forgetAgain && c.drawn("forget", line.ID, c.cfg.ForgetPermille):
		c.forgetAgain = now + 2*c.cfg.MsgTimeout // twice: what the target does when it runs out takes time
		c.pen.note(now, history.NoteForgot, line, fx)
		fx.add(Effect{Kind: FxForget, Token: d.Token})
	default:
		c.finish(now, line, d.Token, fx)
	}
}

func (c *Consumer) drawn(purpose, id string, permille int64) bool {
	return random.New(c.cfg.Seed, purpose, id).Permille(permille)
}

func (c *Consumer) finish(now int64, line history.Event, token uint64, fx *Effects) {
	line.Ev = history.Finish
	c.pen.write(now, line, fx)
	fx.add(Effect{Kind: FxFinish, Token: token})
}
