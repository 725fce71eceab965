package sim

import (
	"fmt"

	"pestle/broker/nsq"
	"pestle/sim/network"
	"pestle/workload"
)

// producerWire publishes over one connection at a time, as package
// workload/client does with go-nsq: it connects when there is something to
// send, and a send is answered exactly once. Of several brokers it goes to the
// next one when one fails it.
type producerWire struct {
	*client
	topic  string
	round  []*broker // in the order in which they are tried, again and again
	broker int       // of round: the one that is connected to, or will be

	session
	nsq       *nsq.Client
	ready     bool // IDENTIFY was answered
	notBefore int64
	lastError string
	sends     []send // not answered, in the order they came
}

// send is one try.
type send struct {
	id       workload.ID
	try      int
	body     []byte
	delay    int64
	deadline int64
	ticket   uint64 // 0: not handed to the connection yet
}

func newProducer(w *world, p *process, name string) (*client, error) {
	config, err := w.plan.ProducerConfig(name)
	if err != nil {
		return nil, err
	}
	return &client{
		process: p,
		make: func(c *client) (machine, error) {
			number, err := workload.ProducerNumber(name)
			if err != nil {
				return nil, err
			}
			lines, err := workload.ParseProducerLines(c.state)
			if err != nil {
				return nil, fmt.Errorf("state of %s: %w", name, err)
			}
			state, err := workload.ReplayProducer(number, config.Only, lines)
			if err != nil {
				return nil, fmt.Errorf("state of %s: %w", name, err)
			}
			lacking, err := workload.MissingFromProducer(config, lines, c.past())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			c.replay(c.queue.Now(), lacking)
			return workload.NewProducer(config, workload.Resume{Incarnation: c.lives, Highest: state.Highest})
		},
		connect: func(c *client) wire {
			return &producerWire{client: c, topic: config.Topic, round: c.shuffledBrokers()}
		},
	}, nil
}

func (w *producerWire) begin(int64) {}

// carry is called with FxSend only.
func (w *producerWire) carry(now int64, e *workload.Effect) {
	s := send{id: e.ID, try: e.Try, body: e.Body, delay: e.Delay, deadline: e.Deadline}
	switch {
	case w.ready:
		w.sends = append(w.sends, s)
		w.publish(now, &w.sends[len(w.sends)-1])
	case w.conn != 0:
		w.sends = append(w.sends, s)
	case now < w.notBefore:
		w.answer(now, s, workload.EvFail, "not sent: "+w.lastError)
	default:
		w.sends = append(w.sends, s)
		w.session = session{conn: w.net.Dial(now, w.host, w.round[w.broker].host), dialled: now, stalled: never}
	}
}

func (w *producerWire) publish(now int64, s *send) {
	if s.delay > 0 {
		s.ticket = w.nsq.DeferredPublish(w.topic, s.delay/millisecond, s.body)
	} else {
		s.ticket = w.nsq.Publish(w.topic, s.body)
	}
	w.transmit(now, &w.session, w.nsq.TakeOutput())
}

func (w *producerWire) answer(now int64, s send, kind workload.EventKind, text string) {
	w.report(now, workload.Event{Kind: kind, ID: s.id, Try: s.try, Text: text})
}

func (w *producerWire) noticed(now int64, n *network.Notice) {
	if n.Conn != w.conn {
		return // one that was given up
	}
	switch n.Kind {
	case network.Connected:
		w.up, w.heard = true, now
		w.nsq = nsq.NewClient(nsq.ClientConfig{ClientID: w.name, Hostname: w.name, UserAgent: userAgent, HeartbeatMS: heartbeatMS})
		w.transmit(now, &w.session, w.nsq.TakeOutput())
	case network.Refused:
		w.lost(now, "connection refused")
	case network.Data:
		w.net.Consumed(now, n.Conn, network.Dialer, len(n.Data))
		w.heard = now
		w.nsq.Feed(n.Data)
		w.read(now)
	case network.Sent:
		w.progressed(now, &w.session)
	case network.Closed:
		w.lost(now, n.Text)
	}
}

const userAgent = "pestle-workload"

// read acts on what the server says.
func (w *producerWire) read(now int64) {
	for w.conn != 0 {
		notice, ok := w.nsq.Next()
		if !ok {
			break
		}
		switch notice.Kind {
		case nsq.NoticeIdentified:
			w.identified(now)
		case nsq.NoticePublished:
			w.resolve(now, notice.Ticket, workload.EvAck, "")
		case nsq.NoticeRefused:
			frame := string(notice.Code)
			if notice.Text != "" {
				frame += " " + notice.Text
			}
			if !w.ready {
				w.lost(now, "failed to IDENTIFY - "+frame)
				return
			}
			w.resolve(now, notice.Ticket, workload.NSQOutcome(frame), frame)
			if len(w.round) > 1 && workload.NSQLeaderless(frame) {
				w.lost(now, frame)
				return
			}
		case nsq.NoticeBroken:
			w.lost(now, notice.Text)
			return
		}
	}
	if w.conn != 0 {
		w.transmit(now, &w.session, w.nsq.TakeOutput())
	}
}

func (w *producerWire) identified(now int64) {
	w.ready = true
	w.report(now, workload.Event{Kind: workload.EvConnected, Target: w.round[w.broker].name})
	for i := range w.sends {
		w.publish(now, &w.sends[i])
	}
}

// resolve answers the send of a ticket. One that has been answered, because
// its deadline passed, is not there any more.
func (w *producerWire) resolve(now int64, ticket uint64, kind workload.EventKind, text string) {
	for i, s := range w.sends {
		if ticket != 0 && s.ticket == ticket {
			w.sends = append(w.sends[:i], w.sends[i+1:]...)
			w.answer(now, s, kind, text)
			return
		}
	}
}

// lost ends the connection, and the next broker has its turn. What was handed
// to it may have arrived; what was not fails.
func (w *producerWire) lost(now int64, reason string) {
	w.net.Close(now, w.conn, network.Dialer)
	was := w.ready
	w.session, w.nsq, w.ready = session{}, nil, false
	from := w.round[w.broker].name
	w.broker = (w.broker + 1) % len(w.round)
	sends := w.sends
	w.sends = nil
	if was {
		w.report(now, workload.Event{Kind: workload.EvDisconnected, Target: from, Text: reason})
		for _, s := range sends {
			w.answer(now, s, workload.EvUnknown, "not connected")
		}
		return
	}
	w.lastError = "connect to " + from + ": " + reason
	w.notBefore = now + reconnectDelay
	for _, s := range sends {
		w.answer(now, s, workload.EvFail, "not sent: "+w.lastError)
	}
}

func (w *producerWire) due() int64 {
	at := w.session.due()
	for i := range w.sends {
		at = min(at, w.sends[i].deadline)
	}
	return at
}

func (w *producerWire) expire(now int64) {
	var over []send
	kept := w.sends[:0]
	for _, s := range w.sends {
		if s.deadline <= now {
			over = append(over, s)
		} else {
			kept = append(kept, s)
		}
	}
	w.sends = kept
	switch {
	case w.session.due() <= now:
		w.lost(now, w.reason(now))
	case len(w.round) > 1 && w.ready && len(over) > 0:
		w.lost(now, "publish: i/o timeout")
	}
	for _, s := range over {
		if s.ticket != 0 {
			w.answer(now, s, workload.EvUnknown, "no answer in time")
		} else {
			w.answer(now, s, workload.EvFail, "not sent: no connection in time")
		}
	}
}

// stop has nothing to end: only the machine starts sends, and it waits for
// those under way.
func (w *producerWire) stop(now int64) { w.report(now, workload.Event{Kind: workload.EvStop}) }
