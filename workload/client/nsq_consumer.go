package client

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nsqio/go-nsq"

	"pestle/workload"
)

// stopTimeout is how long an orderly end of the subscriptions may take.
const stopTimeout = 2 * time.Second

// NSQConsumerConfig says what a consumer subscribes to.
type NSQConsumerConfig struct {
	Name       string   // client id
	Addresses  []string // host:port of each nsqd's TCP protocol
	Topic      string
	Channel    string
	InFlight   int           // RDY, over all addresses, ≥ 1
	MsgTimeout time.Duration // lease asked for
}

// NSQConsumer subscribes to a channel on every address and reconnects for
// ever.
type NSQConsumer struct {
	config   NSQConsumerConfig
	report   func(workload.Event)
	consumer *nsq.Consumer
	quit     chan struct{}
	stopping sync.Once

	mu        sync.Mutex
	token     uint64
	delivered map[uint64]*nsq.Message   // not yet confirmed, given back or forgotten
	forgotten map[string][]*nsq.Message // by address: on the connection there is now
	links     map[string]link           // by address
}

// link is where go-nsq is with an address.
type link uint8

const (
	linkDown link = iota
	linkConnecting
	linkUp
)

// NewNSQConsumer returns a consumer that reports deliveries, one after the
// other, and its connections to report, which is called from several
// goroutines and must not wait for the consumer. Every delivery must be
// answered with Finish, Requeue or Forget. Call Stop in the end.
func NewNSQConsumer(config NSQConsumerConfig, report func(workload.Event)) (*NSQConsumer, error) {
	settings := nsqConfig(config.Name)
	settings.MaxInFlight = config.InFlight
	settings.MsgTimeout = config.MsgTimeout
	settings.MaxAttempts = 0        // never throws a message away by itself
	settings.MaxBackoffDuration = 0 // a requeue does not slow it down
	settings.LookupdPollInterval = reconnectDelay
	settings.LookupdPollJitter = 0
	consumer, err := nsq.NewConsumer(config.Topic, config.Channel, settings)
	if err != nil {
		return nil, fmt.Errorf("set up consumer %s: %w", config.Name, err)
	}
	c := &NSQConsumer{
		config:    config,
		report:    report,
		consumer:  consumer,
		quit:      make(chan struct{}),
		delivered: make(map[uint64]*nsq.Message),
		forgotten: make(map[string][]*nsq.Message),
		links:     make(map[string]link),
	}
	// Debug, because the end of a successful connect is only told there.
	consumer.SetLogger(logFunc(c.watch), nsq.LogLevelDebug)
	consumer.AddHandler(nsq.HandlerFunc(c.handle))
	for _, address := range config.Addresses {
		go c.connect(address)
	}
	return c, nil
}

// Finish confirms a delivery. It does nothing when the connection it came over
// is gone.
func (c *NSQConsumer) Finish(token uint64) {
	if m := c.take(token); m != nil {
		m.Finish()
	}
}

// Requeue gives a delivery back, to come again after delay.
func (c *NSQConsumer) Requeue(token uint64, delay time.Duration) {
	if m := c.take(token); m != nil {
		m.RequeueWithoutBackoff(delay)
	}
}

// Forget leaves a delivery without an answer, so that its lease has to bring
// it back. go-nsq ends no connection with such a delivery on it: once the
// connection is lost, or to be ended, the delivery is given back.
func (c *NSQConsumer) Forget(token uint64) {
	m := c.take(token)
	if m == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten[m.NSQDAddress] = append(c.forgotten[m.NSQDAddress], m)
	if c.links[m.NSQDAddress] != linkUp {
		c.giveBackForgotten(m.NSQDAddress)
	}
}

// giveBackForgotten is called with mu held, and by go-nsq's own goroutines,
// which it must not make wait for one another.
func (c *NSQConsumer) giveBackForgotten(address string) {
	list := c.forgotten[address]
	delete(c.forgotten, address)
	go func() {
		for _, m := range list {
			m.RequeueWithoutBackoff(0)
		}
	}()
}

// Stop ends the subscriptions in order: no further messages, and those already
// delivered may still be answered, for two seconds at most. It returns when
// the connections are closed. With a connection down it returns at once:
// go-nsq cannot end one that is just being made.
func (c *NSQConsumer) Stop() {
	c.stopping.Do(func() {
		close(c.quit)
		if c.allUp() {
			c.mu.Lock()
			for _, address := range c.config.Addresses {
				c.giveBackForgotten(address)
			}
			c.mu.Unlock()
			c.consumer.Stop()
			select {
			case <-c.consumer.StopChan:
			case <-time.After(stopTimeout):
			}
		}
	})
}

func (c *NSQConsumer) allUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, address := range c.config.Addresses {
		if c.links[address] != linkUp {
			return false
		}
	}
	return true
}

// connect makes the first connection to an address. From then on go-nsq
// reconnects by itself.
func (c *NSQConsumer) connect(address string) {
	for {
		err := c.consumer.ConnectToNSQD(address)
		if err == nil || errors.Is(err, nsq.ErrAlreadyConnected) {
			return
		}
		select {
		case <-time.After(reconnectDelay):
		case <-c.quit:
			return
		}
	}
}

func (c *NSQConsumer) handle(m *nsq.Message) error {
	m.DisableAutoResponse()
	c.mu.Lock()
	c.token++
	token := c.token
	c.delivered[token] = m
	c.mu.Unlock()
	c.report(workload.Event{Kind: workload.EvDelivery, Delivery: workload.Delivery{
		Token: token, Position: string(m.ID[:]), Attempts: int(m.Attempts), Body: m.Body,
	}})
	return nil
}

func (c *NSQConsumer) take(token uint64) *nsq.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.delivered[token]
	delete(c.delivered, token)
	return m
}

// watch learns the state of the connections from go-nsq's log lines:
//
//	INF    1 [topic/channel] (address) connecting to nsqd
//	DBG    1 [topic/channel] (address) sending RDY 10         connected and subscribed
//	ERR    1 [topic/channel] (address) IO error - EOF         lost
//
// "connecting" comes only after everything of the address's last connection
// was handled; "sending RDY" also for others than the one just made, which the
// state of the link tells apart. A loss is told at once: messages that were
// received before it can still be delivered after it.
func (c *NSQConsumer) watch(line string) {
	_, line, _ = strings.Cut(line, "] (")
	address, message, found := strings.Cut(line, ") ")
	if !found {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case strings.HasPrefix(message, "connecting to nsqd"):
		c.links[address] = linkConnecting
	case strings.HasPrefix(message, "sending RDY"):
		if c.links[address] == linkConnecting {
			c.links[address] = linkUp
			c.report(workload.Event{Kind: workload.EvConnected, Target: address})
		}
	case strings.HasPrefix(message, ioError):
		if c.links[address] == linkUp {
			c.report(workload.Event{Kind: workload.EvDisconnected, Target: address, Text: strings.TrimPrefix(message, ioError)})
		}
		c.links[address] = linkDown
		c.giveBackForgotten(address)
	}
}
