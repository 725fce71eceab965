package client

import (
	"fmt"
	"sync"
	"time"

	"pestle/workload"
)

// stopTimeout is how long an orderly end of the subscriptions may take.
const stopTimeout = 2 * time.Second

// NSQConsumerConfig says what a consumer subscribes to.
type NSQConsumerConfig struct {
	Name       string   // client id
	Brokers    []Broker // each is subscribed to
	Topic      string
	Channel    string
	InFlight   int           // RDY, of each connection, ≥ 1: of a cluster only the node that leads the partition delivers
	MsgTimeout time.Duration // lease asked for
}

// NSQConsumer subscribes to a channel at every broker and reconnects for ever.
type NSQConsumer struct {
	subscriptions []*subscription
	report        func(workload.Event)
	stopping      sync.Once

	mu        sync.Mutex
	token     uint64
	delivered map[uint64]handed // not yet confirmed, given back or forgotten
}

// NewNSQConsumer returns a consumer that reports deliveries, those of one
// broker one after the other, and its connections to report, which is called
// from several goroutines and must not wait for the consumer. Every delivery
// must be answered with Finish, Requeue or Forget. Call Stop in the end.
func NewNSQConsumer(config NSQConsumerConfig, report func(workload.Event)) (*NSQConsumer, error) {
	c := &NSQConsumer{report: report, delivered: make(map[uint64]handed)}
	for _, b := range config.Brokers {
		s, err := c.subscription(config, b)
		if err != nil {
			return nil, fmt.Errorf("set up consumer %s: %w", config.Name, err)
		}
		c.subscriptions = append(c.subscriptions, s)
	}
	for _, s := range c.subscriptions {
		go s.connect()
	}
	return c, nil
}

// Finish confirms a delivery, over the connection it came over. It does
// nothing when that is gone.
func (c *NSQConsumer) Finish(token uint64) {
	if h := c.take(token); h.message != nil {
		h.message.Finish()
	}
}

// Requeue gives a delivery back, to come again after delay.
func (c *NSQConsumer) Requeue(token uint64, delay time.Duration) {
	if h := c.take(token); h.message != nil {
		h.message.RequeueWithoutBackoff(delay)
	}
}

// Forget leaves a delivery without an answer, so that its lease has to bring
// it back. go-nsq ends no connection with such a delivery on it: once the
// connection is lost, or to be ended, the delivery is given back.
func (c *NSQConsumer) Forget(token uint64) {
	if h := c.take(token); h.message != nil {
		h.from.forget(h.message)
	}
}

// Stop ends the subscriptions in order: no further messages, and those already
// delivered may still be answered, for two seconds at most. It returns when
// the connections are closed. One that is down just then ends by itself.
func (c *NSQConsumer) Stop() {
	c.stopping.Do(func() {
		var ended sync.WaitGroup
		for _, s := range c.subscriptions {
			ended.Go(s.stop)
		}
		ended.Wait()
	})
}

// deliver reports a message that came over a subscription.
func (c *NSQConsumer) deliver(h handed) {
	c.mu.Lock()
	c.token++
	token := c.token
	c.delivered[token] = h
	c.mu.Unlock()
	c.report(workload.Event{Kind: workload.EvDelivery, Delivery: workload.Delivery{
		Token: token, Target: h.from.broker.Name, Position: string(h.message.ID[:]), Attempts: int(h.message.Attempts), Body: h.message.Body,
	}})
}

func (c *NSQConsumer) take(token uint64) handed {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.delivered[token]
	delete(c.delivered, token)
	return h
}
