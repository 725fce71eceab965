// Package driver runs the workload's machines as processes: it gives them the
// time and what happened, and carries out what they answer, on real files and
// connections.
//
// It owns a process's state file and history file while that process lives,
// and their reconciliation after a kill. It decides nothing: what is sent,
// written and confirmed, and in which order, is the machines' word.
//
//	err := driver.Produce(ctx, driver.Options{
//		Plan: plan, Name: "producer-1", Dir: "runs/x",
//		Addresses: []string{"127.0.0.1:4150"}, Control: os.Stdin,
//	})
//
// Files, under the run directory:
//
//	state/<name>.state       what must survive a SIGKILL, see package workload
//	history/<name>.ndjson    what the checker reads
//
// Each line is one write(2), without any buffer in the process, so a SIGKILL
// at any instant loses at most a torn last line.
//
// Control is a stream of lines. "drain": start no new messages, resolve the
// open ones, publish the sentinel, stay (a consumer just goes on). "quit": end
// in order, as SIGTERM does. The end of the stream: the harness is gone, end at
// once.
package driver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"pestle/history/stream"
	"pestle/scenarios"
	"pestle/workload"
	"pestle/workload/client"
)

// ErrHarnessGone says that the control stream has ended.
var ErrHarnessGone = errors.New("the harness is gone: standard input was closed")

// Options says which process of which run this is.
type Options struct {
	Plan      scenarios.Plan
	Name      string    // of the process, as in the plan
	Dir       string    // the run directory
	Addresses []string  // host:port of each of the target's brokers, broker-1 first; one element may hold several, with commas between them
	Control   io.Reader // commands of the harness, line by line
}

// machine is what producers and consumers have in common.
type machine interface {
	Step(now int64, e workload.Event, fx *workload.Effects)
	NextDeadline() (int64, bool)
}

// wire carries out the effects that reach the target.
type wire interface {
	carry(workload.Effect)
	stop() // returns when nothing new comes in; what came in is still answered
}

// Produce runs the producer Name until it was told to end. Every error is a
// harness error; a canceled ctx is an orderly end. It belongs at the end of a
// process: connections are left for the operating system to close.
func Produce(ctx context.Context, o Options) error {
	brokers, err := o.brokers()
	if err != nil {
		return err
	}
	config, err := o.Plan.ProducerConfig(o.Name)
	if err != nil {
		return err
	}
	number, err := workload.ProducerNumber(config.Name)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	// Producers do not all begin with the same broker.
	first := (number - 1) % len(brokers)
	brokers = append(slices.Clone(brokers[first:]), brokers[:first]...)
	book, resume, err := openProducer(o.Dir, config)
	if err != nil {
		return err
	}
	defer book.close()
	m, err := workload.NewProducer(config, resume)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	box := newMailbox()
	p := client.NewNSQProducer(client.NSQProducerConfig{Name: o.Name, Brokers: brokers, Topic: config.Topic}, box.put)
	return run(ctx, m, producerWire{p}, book, box, o.Control)
}

// Consume runs the consumer Name until it was told to end, like Produce.
func Consume(ctx context.Context, o Options) error {
	brokers, err := o.brokers()
	if err != nil {
		return err
	}
	planned, config, err := o.Plan.ConsumerConfig(o.Name)
	if err != nil {
		return err
	}
	book, resume, err := openConsumer(o.Dir, config)
	if err != nil {
		return err
	}
	defer book.close()
	m, err := workload.NewConsumer(config, resume)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	box := newMailbox()
	c, err := client.NewNSQConsumer(client.NSQConsumerConfig{
		Name: o.Name, Brokers: brokers, Topic: config.Topic, Channel: config.Channel,
		InFlight: planned.InFlight, MsgTimeout: time.Duration(o.Plan.Workload.MsgTimeout),
	}, box.put)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	return run(ctx, m, consumerWire{c}, book, box, o.Control)
}

// brokers names the addresses by their places.
func (o Options) brokers() ([]client.Broker, error) {
	var list []client.Broker
	for _, several := range o.Addresses {
		for address := range strings.SplitSeq(several, ",") {
			if _, _, err := net.SplitHostPort(address); err != nil {
				return nil, fmt.Errorf("%s: address of broker-%d: %w", o.Name, len(list)+1, err)
			}
			list = append(list, client.Broker{Name: fmt.Sprintf("broker-%d", len(list)+1), Address: address})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: want at least one address of the target", o.Name)
	}
	return list, nil
}

type producerWire struct{ *client.NSQProducer }

func (w producerWire) carry(e workload.Effect) {
	w.Send(e.ID, e.Try, time.Duration(e.Delay), e.Body, e.Deadline)
}

// stop has nothing to do: only the machine starts sends.
func (w producerWire) stop() {}

type consumerWire struct{ *client.NSQConsumer }

func (w consumerWire) carry(e workload.Effect) {
	switch e.Kind {
	case workload.FxFinish:
		w.Finish(e.Token)
	case workload.FxRequeue:
		w.Requeue(e.Token, time.Duration(e.Delay))
	case workload.FxForget:
		w.Forget(e.Token)
	}
}

func (w consumerWire) stop() { w.Stop() }

// run is the process's loop: one event at a time, each carried out to its end.
func run(ctx context.Context, m machine, w wire, b *book, box *mailbox, control io.Reader) error {
	commands, problems := readCommands(control)
	stop := func() {
		go func() {
			w.stop()
			box.put(workload.Event{Kind: workload.EvStop})
		}()
	}
	ended := ctx.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var fx workload.Effects
	pending := []workload.Event{{Kind: workload.EvStart}}
	for {
		for _, e := range pending {
			fx.Reset()
			m.Step(stream.Now(), e, &fx)
			done, err := b.carryOut(fx.List, w)
			if done || err != nil {
				return err
			}
		}
		pending = pending[:0]
		if deadline, ok := m.NextDeadline(); ok {
			timer.Reset(time.Duration(deadline - stream.Now()))
		}
		select {
		case <-box.filled:
			pending = box.take()
		case <-timer.C:
			pending = append(pending, workload.Event{Kind: workload.EvTimer})
		case command := <-commands:
			switch command {
			case "drain":
				pending = append(pending, workload.Event{Kind: workload.EvDrain})
			case "quit":
				stop()
			default:
				return fmt.Errorf("standard input: unknown command %.40q: want drain or quit", command)
			}
		case err := <-problems:
			return err
		case <-ended:
			ended = nil
			stop()
		}
	}
}

// readCommands passes on the lines of the harness, and what ended them.
func readCommands(control io.Reader) (<-chan string, <-chan error) {
	commands, problems := make(chan string), make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(control)
		for lines.Scan() {
			commands <- lines.Text()
		}
		if err := lines.Err(); err != nil {
			problems <- fmt.Errorf("read standard input: %w", err)
			return
		}
		problems <- ErrHarnessGone
	}()
	return commands, problems
}
