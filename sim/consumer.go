package sim

import (
	"fmt"

	"pestle/broker/nsq"
	"pestle/sim/network"
	"pestle/workload"
)

// consumerWire subscribes to its channel and connects again for ever, as
// package workload/client does with go-nsq.
type consumerWire struct {
	*client
	topic, channel string
	inFlight       int64
	msgTimeoutMS   int64

	session
	nsq        *nsq.Client
	subscribed bool
	retryAt    int64 // when there is no connection; never: one is there
	token      uint64
	delivered  map[uint64]nsq.MessageID // on this connection, and not answered
	stopping   bool
	closeWait  bool  // the server sends no more
	stopAt     int64 // latest end of an orderly stop
}

func newConsumer(w *world, p *process, name string) (*client, error) {
	planned, config, err := w.plan.ConsumerConfig(name)
	if err != nil {
		return nil, err
	}
	return &client{
		process: p,
		make: func(c *client) (machine, error) {
			lines, err := workload.ParseConsumerLines(c.state)
			if err != nil {
				return nil, fmt.Errorf("state of %s: %w", name, err)
			}
			lacking, err := workload.MissingFromConsumer(config, lines, c.past())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			c.replay(c.queue.Now(), lacking)
			return workload.NewConsumer(config, workload.Resume{Incarnation: c.lives})
		},
		connect: func(c *client) wire {
			return &consumerWire{
				client: c, topic: config.Topic, channel: config.Channel,
				inFlight: int64(planned.InFlight), msgTimeoutMS: w.plan.Workload.MsgTimeout / millisecond,
				stopAt: never,
			}
		},
	}, nil
}

func (w *consumerWire) begin(now int64) { w.dial(now) }

func (w *consumerWire) dial(now int64) {
	w.retryAt = never
	w.session = session{conn: w.net.Dial(now, w.host, w.brokers[0].host), dialled: now, stalled: never}
}

func (w *consumerWire) carry(now int64, e *workload.Effect) {
	id, ok := w.delivered[e.Token]
	if !ok {
		return // its connection is gone
	}
	delete(w.delivered, e.Token)
	switch e.Kind {
	case workload.FxFinish:
		w.nsq.Finish(id)
	case workload.FxRequeue:
		w.nsq.Requeue(id, e.Delay/millisecond)
	}
	w.transmit(now, &w.session, w.nsq.TakeOutput())
	w.endWhenAnswered(now)
}

func (w *consumerWire) noticed(now int64, n *network.Notice) {
	if n.Conn != w.conn {
		return // one that was given up
	}
	switch n.Kind {
	case network.Connected:
		w.up, w.heard = true, now
		w.nsq = nsq.NewClient(nsq.ClientConfig{ClientID: w.name, Hostname: w.name, UserAgent: userAgent,
			HeartbeatMS: heartbeatMS, MsgTimeoutMS: w.msgTimeoutMS})
		w.delivered = map[uint64]nsq.MessageID{}
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

// read acts on what the server says.
func (w *consumerWire) read(now int64) {
	for w.conn != 0 {
		notice, ok := w.nsq.Next()
		if !ok {
			break
		}
		switch notice.Kind {
		case nsq.NoticeIdentified:
			w.nsq.Subscribe(w.topic, w.channel)
		case nsq.NoticeSubscribed:
			w.subscribed = true
			w.nsq.Ready(w.inFlight)
			w.report(now, workload.Event{Kind: workload.EvConnected, Target: w.brokers[0].address()})
		case nsq.NoticeDelivered:
			w.token++
			w.delivered[w.token] = notice.ID
			w.report(now, workload.Event{Kind: workload.EvDelivery, Delivery: workload.Delivery{
				Token: w.token, Position: string(notice.ID[:]), Attempts: int(notice.Attempts), Body: notice.Body,
				Held: notice.Held, Overrun: notice.Overrun,
			}})
		case nsq.NoticeCloseWait:
			w.closeWait = true
		case nsq.NoticeRefused:
			w.lost(now, string(notice.Code)+" "+notice.Text)
		case nsq.NoticeBroken:
			w.lost(now, notice.Text)
		}
	}
	if w.conn != 0 {
		w.transmit(now, &w.session, w.nsq.TakeOutput())
		w.endWhenAnswered(now)
	}
}

func (w *consumerWire) lost(now int64, reason string) {
	w.net.Close(now, w.conn, network.Dialer)
	was := w.subscribed
	w.session, w.nsq, w.subscribed, w.delivered = session{}, nil, false, nil
	w.retryAt = now + reconnectDelay
	if was {
		w.report(now, workload.Event{Kind: workload.EvDisconnected, Target: w.brokers[0].address(), Text: reason})
	}
	if w.stopping {
		w.finish(now)
	}
}

func (w *consumerWire) due() int64 { return min(w.session.due(), w.retryAt, w.stopAt) }

func (w *consumerWire) expire(now int64) {
	switch {
	case now >= w.stopAt:
		w.finish(now)
	case w.session.due() <= now:
		w.lost(now, w.reason(now))
	case w.retryAt <= now:
		w.dial(now)
	}
}

// stop asks for no more messages and ends when those delivered are answered;
// without a connection, at once.
func (w *consumerWire) stop(now int64) {
	if w.stopping {
		return
	}
	w.stopping, w.stopAt = true, now+stopTimeout
	if !w.subscribed {
		w.finish(now)
		return
	}
	w.nsq.StartClose()
	w.transmit(now, &w.session, w.nsq.TakeOutput())
}

func (w *consumerWire) endWhenAnswered(now int64) {
	if w.closeWait && len(w.delivered) == 0 {
		w.finish(now)
	}
}

// finish closes the connection and ends the machine.
func (w *consumerWire) finish(now int64) {
	if w.conn != 0 {
		w.net.Close(now, w.conn, network.Dialer)
	}
	w.session, w.nsq, w.subscribed, w.delivered = session{}, nil, false, nil
	w.closeWait, w.retryAt, w.stopAt = false, never, never
	w.report(now, workload.Event{Kind: workload.EvStop})
}
