package client

import (
	"errors"
	"time"

	"github.com/nsqio/go-nsq"

	"pestle/workload"
)

const (
	dialTimeout = time.Second
	// The server sends a heartbeat each interval. Two missed ones and a half
	// mean that it hangs: the connection is given up and made anew.
	heartbeat   = time.Second
	readTimeout = 2500 * time.Millisecond
	// reconnectDelay is the least time between two attempts to connect.
	reconnectDelay = 50 * time.Millisecond
)

// Broker is one node of the system under test.
type Broker struct {
	Name    string // what events call it
	Address string // host:port of NSQ's TCP protocol
}

func nsqConfig(name string) *nsq.Config {
	c := nsq.NewConfig()
	c.ClientID = name
	c.UserAgent = "pestle-workload"
	c.DialTimeout = dialTimeout
	c.ReadTimeout = readTimeout
	c.WriteTimeout = dialTimeout
	c.HeartbeatInterval = heartbeat
	return c
}

// classify says what a publish that go-nsq ended with err has come to.
// ErrNotConnected also ends publishes that were never written, but nothing
// tells them from the others.
func classify(err error) workload.EventKind {
	var frame nsq.ErrProtocol
	switch {
	case err == nil:
		return workload.EvAck
	case errors.As(err, &frame):
		return workload.NSQOutcome(frame.Reason)
	}
	return workload.EvUnknown
}

// leaderless says that a publish which go-nsq ended with err was refused for
// want of a majority.
func leaderless(err error) bool {
	var frame nsq.ErrProtocol
	return errors.As(err, &frame) && workload.NSQLeaderless(frame.Reason)
}

// logFunc receives go-nsq's log lines, the only place where it tells of its
// connections.
type logFunc func(line string)

func (f logFunc) Output(_ int, line string) error {
	f(line)
	return nil
}

// ioError starts the message of every line that go-nsq logs when it gives a
// connection up, before it acts on that.
const ioError = "IO error - "
