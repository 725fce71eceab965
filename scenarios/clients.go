//det:ring0

package scenarios

import (
	"fmt"

	machines "pestle/workload"
)

// ProducerConfig returns what the machine of a producer has to know; an error
// says that the plan has no such producer.
func (p Plan) ProducerConfig(name string) (machines.ProducerConfig, error) {
	for _, producer := range p.Workload.Producers {
		if producer.Name != name {
			continue
		}
		tries := p.Workload.Tries
		if p.Workload.AtMostOnce {
			tries = 1
		}
		var only machines.Ranges
		if producer.Only != nil {
			only = make(machines.Ranges, 0, len(producer.Only))
		}
		for _, r := range producer.Only {
			only = append(only, machines.Range{From: r[0], To: r[1]})
		}
		return machines.ProducerConfig{
			Name: name, Topic: p.Workload.Topic, Tries: tries,
			Backoff: p.Workload.Backoff, Timeout: p.Workload.Timeout,
			Interval: producer.Interval, Pending: producer.Pending,
			MinSize: producer.MinSize, MaxSize: producer.MaxSize, Seed: producer.Seed, Only: only,
			DeferPermille: producer.DeferPermille, DeferMin: producer.DeferMin, DeferMax: producer.DeferMax,
		}, nil
	}
	return machines.ProducerConfig{}, fmt.Errorf("plan: there is no producer %q", name)
}

// ConsumerConfig returns a consumer of the plan and what its machine has to
// know; an error says that there is none.
func (p Plan) ConsumerConfig(name string) (Consumer, machines.ConsumerConfig, error) {
	for _, consumer := range p.Workload.Consumers {
		if consumer.Name == name {
			return consumer, machines.ConsumerConfig{
				Name: name, Topic: p.Workload.Topic, Channel: consumer.Channel,
				RequeuePermille: consumer.RequeuePermille, RequeueDelay: consumer.RequeueDelay, Seed: consumer.Seed,
				ForgetPermille: consumer.ForgetPermille, InFlight: consumer.InFlight, MsgTimeout: p.Workload.MsgTimeout,
			}, nil
		}
	}
	return Consumer{}, machines.ConsumerConfig{}, fmt.Errorf("plan: there is no consumer %q", name)
}
