package sim

import (
	"pestle/broker/nsq"
	"pestle/sim/network"
	"pestle/workload"
)

// subscription is a consumer's connection to one broker, made again for ever.
type subscription struct {
	*consumerWire
	broker *broker

	session
	nsq        *nsq.Client
	subscribed bool
	retryAt    int64                    // when there is no connection; never: one is there
	delivered  map[uint64]nsq.MessageID // by token: on this connection, and not answered
	closeWait  bool                     // the server sends no more
}

func (s *subscription) dial(now int64) {
	s.retryAt = never
	s.session = session{conn: s.net.Dial(now, s.host, s.broker.host), dialled: now, stalled: never}
}

// answer confirms a delivery, or gives it back.
func (s *subscription) answer(now int64, e *workload.Effect) {
	id := s.delivered[e.Token]
	delete(s.delivered, e.Token)
	switch e.Kind {
	case workload.FxFinish:
		s.nsq.Finish(id)
	case workload.FxRequeue:
		s.nsq.Requeue(id, e.Delay/millisecond)
	}
	s.transmit(now, &s.session, s.nsq.TakeOutput())
}

func (s *subscription) noticed(now int64, n *network.Notice) {
	switch n.Kind {
	case network.Connected:
		s.up, s.heard = true, now
		s.nsq = nsq.NewClient(nsq.ClientConfig{ClientID: s.name, Hostname: s.name, UserAgent: userAgent,
			HeartbeatMS: heartbeatMS, MsgTimeoutMS: s.msgTimeoutMS})
		s.delivered = map[uint64]nsq.MessageID{}
		s.transmit(now, &s.session, s.nsq.TakeOutput())
	case network.Refused:
		s.lost(now, "connection refused")
	case network.Data:
		s.net.Consumed(now, n.Conn, network.Dialer, len(n.Data))
		s.heard = now
		s.nsq.Feed(n.Data)
		s.read(now)
	case network.Sent:
		s.progressed(now, &s.session)
	case network.Closed:
		s.lost(now, n.Text)
	}
}

// read acts on what the server says.
func (s *subscription) read(now int64) {
	for s.conn != 0 {
		notice, ok := s.nsq.Next()
		if !ok {
			break
		}
		switch notice.Kind {
		case nsq.NoticeIdentified:
			s.nsq.Subscribe(s.topic, s.channel)
		case nsq.NoticeSubscribed:
			s.subscribed = true
			s.nsq.Ready(s.inFlight)
			s.report(now, workload.Event{Kind: workload.EvConnected, Target: s.broker.name})
		case nsq.NoticeDelivered:
			s.token++
			s.delivered[s.token] = notice.ID
			s.report(now, workload.Event{Kind: workload.EvDelivery, Delivery: workload.Delivery{
				Token: s.token, Target: s.broker.name, Position: string(notice.ID[:]), Attempts: int(notice.Attempts),
				Body: notice.Body, Held: notice.Held, Overrun: notice.Overrun,
			}})
		case nsq.NoticeCloseWait:
			s.closeWait = true
		case nsq.NoticeRefused:
			s.lost(now, string(notice.Code)+" "+notice.Text)
		case nsq.NoticeBroken:
			s.lost(now, notice.Text)
		}
	}
	if s.conn != 0 {
		s.transmit(now, &s.session, s.nsq.TakeOutput())
	}
}

func (s *subscription) lost(now int64, reason string) {
	was := s.subscribed
	s.hangUp(now)
	if !s.stopping {
		s.retryAt = now + reconnectDelay
	}
	if was {
		s.report(now, workload.Event{Kind: workload.EvDisconnected, Target: s.broker.name, Text: reason})
	}
}

// hangUp ends the connection, and makes no other.
func (s *subscription) hangUp(now int64) {
	if s.conn != 0 {
		s.net.Close(now, s.conn, network.Dialer)
	}
	s.session, s.nsq, s.subscribed, s.delivered, s.closeWait = session{}, nil, false, nil, false
	s.retryAt = never
}

func (s *subscription) due() int64 { return min(s.session.due(), s.retryAt) }

func (s *subscription) expire(now int64) {
	switch {
	case s.session.due() <= now:
		s.lost(now, s.reason(now))
	case s.retryAt <= now:
		s.dial(now)
	}
}

// close asks for no more messages.
func (s *subscription) close(now int64) {
	if !s.subscribed {
		s.hangUp(now)
		return
	}
	s.nsq.StartClose()
	s.transmit(now, &s.session, s.nsq.TakeOutput())
}

// over reports that an orderly stop has nothing to wait for here.
func (s *subscription) over() bool {
	return !s.subscribed || s.closeWait && len(s.delivered) == 0
}
