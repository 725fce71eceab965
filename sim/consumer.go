package sim

import (
	"fmt"

	"pestle/sim/network"
	"pestle/workload"
)

// consumerWire subscribes to its channel at every broker, as package
// workload/client does with go-nsq: whichever leads the partition delivers.
type consumerWire struct {
	*client
	topic, channel string
	inFlight       int64
	msgTimeoutMS   int64

	links    []*subscription // by broker
	token    uint64          // of the last delivery, over all of them
	stopping bool
	stopAt   int64 // latest end of an orderly stop
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

func (w *consumerWire) begin(now int64) {
	for _, b := range w.brokers {
		s := &subscription{consumerWire: w, broker: b}
		w.links = append(w.links, s)
		s.dial(now)
	}
}

// carry is called with the answer to a delivery, whose connection may be gone.
func (w *consumerWire) carry(now int64, e *workload.Effect) {
	for _, s := range w.links {
		if _, ok := s.delivered[e.Token]; ok {
			s.answer(now, e)
			w.endWhenAnswered(now)
			return
		}
	}
}

func (w *consumerWire) noticed(now int64, n *network.Notice) {
	for _, s := range w.links {
		if s.conn == n.Conn { // else it is one that was given up
			s.noticed(now, n)
			w.endWhenAnswered(now)
			return
		}
	}
}

func (w *consumerWire) due() int64 {
	at := w.stopAt
	for _, s := range w.links {
		at = min(at, s.due())
	}
	return at
}

func (w *consumerWire) expire(now int64) {
	if now >= w.stopAt {
		w.finish(now)
		return
	}
	for _, s := range w.links {
		s.expire(now)
	}
	w.endWhenAnswered(now)
}

// stop asks for no more messages and ends when those delivered are answered;
// without any connection, at once.
func (w *consumerWire) stop(now int64) {
	if w.stopping {
		return
	}
	w.stopping, w.stopAt = true, now+stopTimeout
	for _, s := range w.links {
		s.close(now)
	}
	w.endWhenAnswered(now)
}

func (w *consumerWire) endWhenAnswered(now int64) {
	if !w.stopping || w.stopAt == never {
		return
	}
	for _, s := range w.links {
		if !s.over() {
			return
		}
	}
	w.finish(now)
}

// finish closes the connections and ends the machine.
func (w *consumerWire) finish(now int64) {
	for _, s := range w.links {
		s.hangUp(now)
	}
	w.stopAt = never
	w.report(now, workload.Event{Kind: workload.EvStop})
}
