package client

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nsqio/go-nsq"

	"pestle/workload"
)

// subscription is a consumer's connection to one broker, and those that follow
// it. It is a go-nsq Consumer of its own, since one for all brokers would share
// the RDY out among them.
type subscription struct {
	broker   Broker
	report   func(workload.Event)
	consumer *nsq.Consumer
	quit     chan struct{}

	mu        sync.Mutex
	link      link
	forgotten []*nsq.Message // on the connection there is now
}

// handed is a message and the subscription that it came over.
type handed struct {
	message *nsq.Message
	from    *subscription
}

// link is where go-nsq is with the broker.
type link uint8

const (
	linkDown link = iota
	linkConnecting
	linkUp
)

func (c *NSQConsumer) subscription(config NSQConsumerConfig, b Broker) (*subscription, error) {
	settings := nsqConfig(config.Name)
	settings.MaxInFlight = config.InFlight
	settings.MsgTimeout = config.MsgTimeout
	settings.MaxAttempts = 0        // never throws a message away by itself
	settings.MaxBackoffDuration = 0 // a requeue does not slow it down
	settings.LookupdPollInterval = reconnectDelay
	settings.LookupdPollJitter = 0
	consumer, err := nsq.NewConsumer(config.Topic, config.Channel, settings)
	if err != nil {
		return nil, err
	}
	s := &subscription{broker: b, report: c.report, consumer: consumer, quit: make(chan struct{})}
	// Debug, because the end of a successful connect is only told there.
	consumer.SetLogger(logFunc(s.watch), nsq.LogLevelDebug)
	consumer.AddHandler(nsq.HandlerFunc(func(m *nsq.Message) error {
		m.DisableAutoResponse()
		c.deliver(handed{m, s})
		return nil
	}))
	return s, nil
}

// connect makes the first connection. From then on go-nsq reconnects by
// itself.
func (s *subscription) connect() {
	for {
		err := s.consumer.ConnectToNSQD(s.broker.Address)
		if err == nil || errors.Is(err, nsq.ErrAlreadyConnected) {
			return
		}
		select {
		case <-time.After(reconnectDelay):
		case <-s.quit:
			return
		}
	}
}

func (s *subscription) forget(m *nsq.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = append(s.forgotten, m)
	if s.link != linkUp {
		s.giveBackForgotten()
	}
}

// giveBackForgotten is called with mu held, and by go-nsq's own goroutines,
// which it must not make wait for one another.
func (s *subscription) giveBackForgotten() {
	list := s.forgotten
	s.forgotten = nil
	go func() {
		for _, m := range list {
			m.RequeueWithoutBackoff(0)
		}
	}()
}

// stop returns when the connection is closed; with none, at once: go-nsq
// cannot end one that is just being made.
func (s *subscription) stop() {
	close(s.quit)
	s.mu.Lock()
	up := s.link == linkUp
	if up {
		s.giveBackForgotten()
	}
	s.mu.Unlock()
	if !up {
		return
	}
	s.consumer.Stop()
	select {
	case <-s.consumer.StopChan:
	case <-time.After(stopTimeout):
	}
}

// watch learns the state of the connection from go-nsq's log lines:
//
//	INF    1 [topic/channel] (address) connecting to nsqd
//	DBG    1 [topic/channel] (address) sending RDY 10         connected and subscribed
//	ERR    1 [topic/channel] (address) IO error - EOF         lost
//
// "connecting" comes only after everything of the last connection was handled;
// "sending RDY" may come again, which the state of the link tells apart. A loss
// is told at once: messages that were received before it can still be delivered
// after it.
func (s *subscription) watch(line string) {
	_, line, _ = strings.Cut(line, "] (")
	_, message, found := strings.Cut(line, ") ")
	if !found {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case strings.HasPrefix(message, "connecting to nsqd"):
		s.link = linkConnecting
	case strings.HasPrefix(message, "sending RDY"):
		if s.link == linkConnecting {
			s.link = linkUp
			s.report(workload.Event{Kind: workload.EvConnected, Target: s.broker.Name})
		}
	case strings.HasPrefix(message, ioError):
		if s.link == linkUp {
			s.report(workload.Event{Kind: workload.EvDisconnected, Target: s.broker.Name, Text: strings.TrimPrefix(message, ioError)})
		}
		s.link = linkDown
		s.giveBackForgotten()
	}
}
