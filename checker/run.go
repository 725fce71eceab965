package checker

import (
	"fmt"
	"strings"
)

// run is what every property may look at: the plan, the clock and what is
// known of producers, streams, messages and faults. checker.go keeps it; a
// property only reads it.
type run struct {
	cfg    *Config
	origin int64 // time of the first event
	now    int64 // time of the last event

	producers      []*producer
	producerByName map[string]*producer
	topics         []*topic
	topicByName    map[string]*topic
	streams        []*stream // in the order of Config.Streams
	consumers      []*consumer
	consumerByName map[string]*consumer

	brokers brokerNumbers
	down    lastTimes // when a broker ended

	waiting waitingList
	faults  faultLog
	quiet   quietWindow
}

// topic is one topic and the streams that read it.
type topic struct {
	name    string
	index   int
	streams []*stream
}

// stream is one channel of one topic.
type stream struct {
	topic      *topic
	channel    string
	index      int32 // in run.streams
	slot       int   // in topic.streams, and so in message.arrivals
	consumers  int   // processes that share it
	partitions []string
	partByName map[string]int

	causes    causes       // why its positions may be delivered again
	lost      brokerCauses // and others: lost connections of its consumers
	drained   bool         // its drain is proven: every sentinel consumed, then seen empty
	drainedAt int64
}

func (s *stream) String() string { return s.topic.name + "/" + s.channel }

// consumer is one consumer process.
type consumer struct {
	index   int       // in run.consumers
	streams []*stream // usually one
	killed  bool      // and has not consumed since
	ready   int64     // its RDY; 0: not known

	connections []*connection // by broker
	lost        lastTimes     // when a broker may have lost it: a connection broke, or it ended or began anew
}

// leased reports that the lease of a delivery that the broker made since t
// cannot have run out by now.
func (r *run) leased(broker int, t int64) bool {
	return (r.cfg.MsgTimeout == 0 || r.now < t+r.cfg.MsgTimeout) && r.faults.clocks.noneSince(broker, t)
}

func newRun(cfg *Config) *run {
	r := &run{
		cfg:            cfg,
		brokers:        make(brokerNumbers),
		producerByName: make(map[string]*producer),
		topicByName:    make(map[string]*topic),
		consumerByName: make(map[string]*consumer),
		faults:         newFaultLog(cfg.FaultKinds),
	}
	for i, name := range cfg.Producers {
		p := &producer{name: name, index: i, open: make(map[uint64]*message), folded: make(map[uint64]*block)}
		r.producers = append(r.producers, p)
		r.producerByName[name] = p
	}
	for i, declared := range cfg.Streams {
		t := r.topicNamed(declared.Topic)
		s := &stream{
			topic: t, channel: declared.Channel, index: int32(i), slot: len(t.streams),
			consumers: len(declared.Consumers), partByName: make(map[string]int),
		}
		t.streams = append(t.streams, s)
		r.streams = append(r.streams, s)
		for _, name := range declared.Consumers {
			c := r.consumerByName[name]
			if c == nil {
				c = &consumer{index: len(r.consumers), ready: int64(cfg.Ready[name])}
				r.consumers = append(r.consumers, c)
				r.consumerByName[name] = c
			}
			c.streams = append(c.streams, s)
		}
	}
	return r
}

// topicNamed returns the topic, which it creates on first use: a producer may
// send to one that no stream reads.
func (r *run) topicNamed(name string) *topic {
	t := r.topicByName[name]
	if t == nil {
		t = &topic{name: name, index: len(r.topics)}
		r.topics = append(r.topics, t)
		r.topicByName[name] = t
	}
	return t
}

// streamNamed returns a declared stream, or nil.
func (r *run) streamNamed(topic, channel string) *stream {
	if t := r.topicByName[topic]; t != nil {
		for _, s := range t.streams {
			if s.channel == channel {
				return s
			}
		}
	}
	return nil
}

// partition returns the index of the position's partition in s.partitions. A
// target that promises no order has none that its positions could tell: its
// topics are one.
func (r *run) partition(s *stream, pos string) int {
	name := ""
	if r.cfg.Order == OrderPartition {
		name = partitionOf(pos)
	}
	i, known := s.partByName[name]
	if !known {
		i = len(s.partitions)
		name = strings.Clone(name)
		s.partitions = append(s.partitions, name)
		s.partByName[name] = i
	}
	return i
}

// partitionOf returns the partition part of a position: what stands before
// the slash of a log's <partition>/<offset>, or the first 20 of the 64 bits
// that Pestle writes as 16 hex digits. A position of another form has no
// partition to tell: its topic is one.
func partitionOf(pos string) string {
	if partition, _, isLog := strings.Cut(pos, "/"); isLog {
		return partition
	}
	if len(pos) == 16 {
		return pos[:5]
	}
	return ""
}

// at says when t was, for people: seconds since the first event.
func (r *run) at(t int64) string {
	if t < r.origin {
		return "before the first event"
	}
	return "+" + seconds(t-r.origin)
}

// seconds writes a duration ≥ 0 with microseconds.
func seconds(d int64) string {
	return fmt.Sprintf("%d.%06ds", d/1e9, d%1e9/1e3)
}

// count says how many of a thing there are.
func count[N int | int64 | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
