package workload

import (
	"fmt"

	"pestle/history"
	"pestle/sim/random"
)

const (
	maxRetryPause    = 60_000_000_000 // ns; doubling ends here
	maxSentinelPause = 500_000_000    // ns; between the tries of the last message

	millisecond = 1_000_000 // ns; the grain of deferrals, which NSQ counts in it
)

// ProducerConfig is one producer's share of a plan. Times are nanoseconds.
type ProducerConfig struct {
	Name     string // producer-<n>
	Topic    string
	Tries    int   // sends of one id at most, ≥ 1; 1 is at most once
	Backoff  int64 // before the second try, ≥ 1; doubles with each further one, up to a minute
	Timeout  int64 // of one try, ≥ 1; after it the try is unknown
	Interval int64 // between the starts of two messages, ≥ 1
	Pending  int   // messages whose outcome is open at most, ≥ 1; 1 keeps strict order
	MinSize  int   // payload characters, 0 to MaxSize
	MaxSize  int   // up to MaxPayload

	DeferPermille int64 // messages published with a deferral, 0 to 1000, drawn from Seed and the id
	DeferMin      int64 // of one deferral, 0 to DeferMax, in whole ms
	DeferMax      int64

	Seed uint64
	Only Ranges // counters it sends, ascending; the others have their turn and nothing is sent; nil: all
}

// Resume is what an incarnation takes over from the ones before.
type Resume struct {
	Incarnation int    // of this one, from 1
	Highest     uint64 // producer: the highest counter in the state file
}

// Producer publishes numbered messages. It starts one every Interval, however
// the target is doing, unless Pending of them are open: starts missed for that
// reason are not made up for. A try that failed or is unknown is followed by
// the next after a pause; a message out of tries is given up. Messages that a
// former incarnation left open are not tried again: nobody knows what became
// of them.
//
// After EvDrain it starts no message, brings the open ones to their end, and
// then publishes a last one until that is acked, with a new id for each try,
// so that the tries of no id exceed the plan's: the sentinel that proves to
// the checker that a drain has reached the end, and so is never deferred. After
// EvStop it waits for the tries under way, gives up the rest and is done.
type Producer struct {
	cfg    ProducerConfig
	number int
	resume Resume
	pen    pen

	highest   uint64
	open      []*outgoing // by counter
	nextStart int64
	phase     producerPhase
	pause     int64 // between sentinels
	sentinel  int64 // when the next sentinel may start
}

type producerPhase uint8

const (
	producing producerPhase = iota
	draining                // the open messages come to their end
	sealing                 // sentinels are sent until one is acked
	sealed                  // nothing is left to do
	stopping                // tries under way come to their end
	stopped
)

// outgoing is a message whose outcome is open.
type outgoing struct {
	id      ID
	try     int // the last one started
	sending bool
	retryAt int64 // when not sending
	body    []byte
	sum     string
	size    int
	delay   int64 // its deferral; 0: none
}

// NewProducer returns a Producer that expects EvStart. A config out of range
// is an error that names the field.
func NewProducer(cfg ProducerConfig, resume Resume) (*Producer, error) {
	number, err := ProducerNumber(cfg.Name)
	if err != nil {
		return nil, err
	}
	for _, bound := range [...]struct {
		field       string
		value, most int64
	}{
		{"tries", int64(cfg.Tries), 1 << 20},
		{"backoff", cfg.Backoff, maxRetryPause},
		{"timeout", cfg.Timeout, 1 << 60},
		{"interval", cfg.Interval, 1 << 60},
		{"pending", int64(cfg.Pending), 1 << 20},
		{"max_size", int64(cfg.MaxSize), MaxPayload},
	} {
		if bound.value < 1 || bound.value > bound.most {
			return nil, fmt.Errorf("%s: %s is %d, want 1 to %d", cfg.Name, bound.field, bound.value, bound.most)
		}
	}
	switch {
	case cfg.MinSize < 0 || cfg.MinSize > cfg.MaxSize:
		return nil, fmt.Errorf("%s: min_size is %d, want 0 to max_size (%d)", cfg.Name, cfg.MinSize, cfg.MaxSize)
	case cfg.DeferPermille < 0 || cfg.DeferPermille > 1000:
		return nil, fmt.Errorf("%s: defer_permille is %d, want 0 to 1000", cfg.Name, cfg.DeferPermille)
	case cfg.DeferMin < 0 || cfg.DeferMin > cfg.DeferMax || cfg.DeferMin%millisecond != 0 || cfg.DeferMax%millisecond != 0:
		return nil, fmt.Errorf("%s: defer_min and defer_max are %d and %d ns, want whole ms, 0 to defer_max", cfg.Name, cfg.DeferMin, cfg.DeferMax)
	}
	return &Producer{cfg: cfg, number: number, resume: resume, highest: resume.Highest}, nil
}

// Step takes one event at the time now, in nanoseconds of the history's
// clock, and appends what is to be done.
func (p *Producer) Step(now int64, e Event, fx *Effects) {
	if p.phase == stopped {
		return
	}
	switch e.Kind {
	case EvStart:
		p.pen.note(now, history.NoteStarted, history.Event{Try: p.resume.Incarnation}, fx)
		p.nextStart = now
		p.skip()
	case EvAck, EvFail, EvUnknown:
		p.outcome(now, e, fx)
	case EvConnected:
		p.pen.note(now, history.NoteConnected, history.Event{Target: e.Target}, fx)
	case EvDisconnected:
		p.pen.note(now, history.NoteDisconnected, history.Event{Target: e.Target, Text: e.Text}, fx)
	case EvDrain:
		if p.phase == producing {
			p.phase = draining
		}
	case EvStop:
		if p.phase < stopping {
			p.phase = stopping
			p.giveUpWaiting(now, fx)
		}
	}
	p.advance(now, fx)
	if p.phase != stopped {
		p.pen.tick(now, fx)
	}
}

// NextDeadline returns when the next EvTimer is due. Once the machine is done
// there is none.
func (p *Producer) NextDeadline() (int64, bool) {
	if p.phase == stopped {
		return 0, false
	}
	deadline := p.pen.deadline()
	for _, m := range p.open {
		if !m.sending {
			deadline = min(deadline, m.retryAt)
		}
	}
	if p.phase == producing && len(p.open) < p.cfg.Pending {
		deadline = min(deadline, p.nextStart)
	}
	if p.phase == sealing && len(p.open) == 0 {
		deadline = min(deadline, p.sentinel)
	}
	return deadline, true
}

// advance does what the time and the phase ask for.
func (p *Producer) advance(now int64, fx *Effects) {
	for _, m := range p.open {
		if !m.sending && m.retryAt <= now {
			p.send(now, m, fx)
		}
	}
	if p.phase == producing && p.nextStart <= now && len(p.open) < p.cfg.Pending {
		p.begin(now, fx)
		if p.nextStart += p.cfg.Interval; p.nextStart <= now {
			p.nextStart = now + p.cfg.Interval
		}
		p.skip()
	}
	if p.phase == draining && len(p.open) == 0 {
		p.phase, p.pause, p.sentinel = sealing, p.cfg.Backoff, now
	}
	if p.phase == sealing && len(p.open) == 0 && p.sentinel <= now {
		p.begin(now, fx)
	}
	if p.phase == stopping && len(p.open) == 0 {
		p.phase = stopped
		p.pen.note(now, history.NoteStopped, history.Event{}, fx)
		fx.add(Effect{Kind: FxDone})
	}
}

// begin starts the next message.
func (p *Producer) begin(now int64, fx *Effects) {
	p.highest++
	id := ID{Producer: p.number, Counter: p.highest}
	message := p.cfg.message(id)
	body, sum := message.Encode()
	m := &outgoing{id: id, body: body, sum: sum.String(), size: len(message.Payload)}
	if p.phase == producing {
		m.delay = p.cfg.deferral(id)
	}
	p.open = append(p.open, m)
	p.send(now, m, fx)
}

func (cfg ProducerConfig) message(id ID) Message {
	return Message{ID: id, Topic: cfg.Topic, Payload: Payload(cfg.Seed, id, cfg.MinSize, cfg.MaxSize)}
}

// deferral returns how long the message has to be held back; 0: not at all.
func (cfg ProducerConfig) deferral(id ID) int64 {
	s := random.New(cfg.Seed, "defer", id.String())
	if !s.Permille(cfg.DeferPermille) {
		return 0
	}
	return s.Between(cfg.DeferMin/millisecond, cfg.DeferMax/millisecond) * millisecond
}

func (p *Producer) send(now int64, m *outgoing, fx *Effects) {
	m.try++
	m.sending = true
	fx.add(Effect{Kind: FxState, Line: ProducerLine{ID: m.id}.AppendTo(nil)})
	p.pen.write(now, history.Event{Ev: history.Attempt, ID: m.id.String(), Try: m.try,
		Topic: p.cfg.Topic, Size: m.size, Sum: m.sum, Defer: m.delay}, fx)
	fx.add(Effect{Kind: FxSend, ID: m.id, Try: m.try, Body: m.body, Delay: m.delay, Deadline: now + p.cfg.Timeout})
}

// outcome takes the answer to a try. One that no longer waits for an answer is
// not news.
func (p *Producer) outcome(now int64, e Event, fx *Effects) {
	m := p.find(e.ID)
	if m == nil || !m.sending || m.try != e.Try {
		return
	}
	m.sending = false
	line := history.Event{ID: m.id.String(), Try: m.try, Topic: p.cfg.Topic, Text: e.Text}
	switch e.Kind {
	case EvAck:
		fx.add(Effect{Kind: FxState, Line: ProducerLine{ID: m.id, Ack: true}.AppendTo(nil)})
		line.Ev, line.Text = history.Ack, ""
		p.pen.write(now, line, fx)
		p.remove(m)
		if p.phase == sealing {
			p.phase = sealed
			p.pen.note(now, history.NoteSentinel, history.Event{ID: line.ID, Topic: p.cfg.Topic}, fx)
		}
		return
	case EvFail:
		line.Ev = history.Fail
	default:
		line.Ev = history.Unknown
	}
	p.pen.write(now, line, fx)
	switch {
	case p.phase == sealing:
		p.giveUp(now, m, fx)
		p.sentinel = now + p.pause
		p.pause = min(2*p.pause, maxSentinelPause)
	case p.phase == stopping || m.try >= p.cfg.Tries:
		p.giveUp(now, m, fx)
	default:
		m.retryAt = now + p.retryPause(m.try)
	}
}

// retryPause returns the pause after a number of tries: Backoff, doubled with
// each further one.
func (p *Producer) retryPause(tries int) int64 {
	pause := p.cfg.Backoff
	for ; tries > 1 && pause < maxRetryPause; tries-- {
		pause *= 2
	}
	return min(pause, maxRetryPause)
}

func (p *Producer) giveUp(now int64, m *outgoing, fx *Effects) {
	p.pen.note(now, history.NoteGaveUp, history.Event{ID: m.id.String(), Try: m.try, Topic: p.cfg.Topic}, fx)
	p.remove(m)
}

// giveUpWaiting gives up the messages that wait for their next try.
func (p *Producer) giveUpWaiting(now int64, fx *Effects) {
	for i := 0; i < len(p.open); {
		if m := p.open[i]; !m.sending {
			p.giveUp(now, m, fx)
			continue
		}
		i++
	}
}

func (p *Producer) find(id ID) *outgoing {
	for _, m := range p.open {
		if m.id == id {
			return m
		}
	}
	return nil
}

func (p *Producer) remove(m *outgoing) {
	for i := range p.open {
		if p.open[i] == m {
			p.open = append(p.open[:i], p.open[i+1:]...)
			return
		}
	}
}
