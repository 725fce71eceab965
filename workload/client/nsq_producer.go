package client

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nsqio/go-nsq"

	"pestle/history/stream"
	"pestle/workload"
)

// sendQueue is how many sends may wait while go-nsq is busy before Send waits
// too.
const sendQueue = 1024

// NSQProducerConfig says where a producer publishes.
type NSQProducerConfig struct {
	Name    string // client id
	Address string // host:port of nsqd's TCP protocol
	Topic   string
}

// NSQProducer publishes to one nsqd. It connects when there is something to
// send, and makes a fresh go-nsq Producer for each connection, so that no
// answer can ever be taken for that of another connection's publish.
type NSQProducer struct {
	config NSQProducerConfig
	report func(workload.Event)

	sends     chan *send
	connected chan connectResult
	answers   chan *nsq.ProducerTransaction
	quit      chan struct{}
	closing   sync.Once
	ended     sync.WaitGroup // the loop and everything it started
}

// send is one try. It is answered once.
type send struct {
	id     workload.ID
	try    int
	delay  time.Duration
	body   []byte
	timer  *time.Timer
	report func(workload.Event)

	mu       sync.Mutex
	handed   bool // to go-nsq: from here on it may arrive
	answered bool
}

// connection is one go-nsq Producer that is used for one connection.
type connection struct {
	producer *nsq.Producer
	lost     chan string // the reason, once
}

type connectResult struct {
	conn *connection
	err  error
}

// NewNSQProducer returns a producer that reports what becomes of its sends,
// and its connections, to report. Report is called from several goroutines and
// must not wait for the producer. Call Close in the end.
func NewNSQProducer(config NSQProducerConfig, report func(workload.Event)) *NSQProducer {
	p := &NSQProducer{
		config:    config,
		report:    report,
		sends:     make(chan *send, sendQueue),
		connected: make(chan connectResult),
		answers:   make(chan *nsq.ProducerTransaction),
		quit:      make(chan struct{}),
	}
	go p.takeAnswers()
	p.ended.Add(1)
	go p.run()
	return p
}

// Send publishes body, try number try of id, to be delivered after delay (0: at
// once; whole milliseconds) at the earliest, and reports exactly one EvAck,
// EvFail or EvUnknown for it, the latest when deadline, in nanoseconds of
// stream.Now, has passed. An answer that comes later is not reported.
func (p *NSQProducer) Send(id workload.ID, try int, delay time.Duration, body []byte, deadline int64) {
	s := &send{id: id, try: try, delay: delay, body: body, report: p.report}
	s.mu.Lock() // the timer may fire at once
	s.timer = time.AfterFunc(time.Duration(deadline-stream.Now()), s.expire)
	s.mu.Unlock()
	select {
	case <-p.quit:
		s.answer(workload.EvFail, "not sent: the producer is closed")
		return
	default:
	}
	select {
	case p.sends <- s: // one that Close overtakes here is answered by its timer
	case <-p.quit:
		s.answer(workload.EvFail, "not sent: the producer is closed")
	}
}

// Close ends the connection and waits until everything that was started has
// ended. Sends that are still open are answered.
func (p *NSQProducer) Close() {
	p.closing.Do(func() {
		close(p.quit)
		p.ended.Wait()
		close(p.answers)
	})
}

// run owns the connection. Sends wait for one that is being made; while the
// last attempt has just failed they fail too.
func (p *NSQProducer) run() {
	defer p.ended.Done()
	var (
		conn       *connection
		lost       chan string
		connecting bool
		waiting    []*send
		notBefore  time.Time
		lastError  error
	)
	drop := func(reason string) {
		p.report(workload.Event{Kind: workload.EvDisconnected, Target: p.config.Address, Text: reason})
		p.stop(conn)
		conn, lost = nil, nil
	}
	for {
		select {
		case s := <-p.sends:
			if conn != nil {
				select {
				case reason := <-lost:
					drop(reason)
				default:
					p.publish(conn, s)
					continue
				}
			}
			switch {
			case connecting:
				waiting = append(waiting, s)
			case time.Now().Before(notBefore):
				s.answer(workload.EvFail, "not sent: "+lastError.Error())
			default:
				connecting, waiting = true, append(waiting, s)
				p.ended.Add(1)
				go p.connect()
			}
		case result := <-p.connected:
			connecting = false
			if result.err != nil {
				lastError, notBefore = result.err, time.Now().Add(reconnectDelay)
				for _, s := range waiting {
					s.answer(workload.EvFail, "not sent: "+lastError.Error())
				}
			} else {
				conn, lost = result.conn, result.conn.lost
				p.report(workload.Event{Kind: workload.EvConnected, Target: p.config.Address})
				for _, s := range waiting {
					p.publish(conn, s)
				}
			}
			waiting = nil
		case reason := <-lost:
			drop(reason)
		case <-p.quit:
			for len(p.sends) > 0 {
				waiting = append(waiting, <-p.sends)
			}
			for _, s := range waiting {
				s.answer(workload.EvFail, "not sent: the producer is closed")
			}
			if conn != nil {
				p.stop(conn)
			}
			return
		}
	}
}

// connect makes a connection and tells run.
func (p *NSQProducer) connect() {
	defer p.ended.Done()
	conn, err := p.dial()
	select {
	case p.connected <- connectResult{conn, err}:
	case <-p.quit:
		if err == nil {
			conn.producer.Stop()
		}
	}
}

func (p *NSQProducer) dial() (*connection, error) {
	producer, err := nsq.NewProducer(p.config.Address, nsqConfig(p.config.Name))
	if err != nil {
		return nil, fmt.Errorf("set up a connection to %s: %w", p.config.Address, err)
	}
	conn := &connection{producer: producer, lost: make(chan string, 1)}
	producer.SetLogger(logFunc(func(line string) {
		if _, reason, found := strings.Cut(line, ioError); found {
			select {
			case conn.lost <- reason:
			default: // the first reason counts
			}
		}
	}), nsq.LogLevelError)
	if err := producer.Ping(); err != nil {
		producer.Stop()
		return nil, fmt.Errorf("connect to %s: %w", p.config.Address, err)
	}
	return conn, nil
}

// publish hands s to the connection. An error at this point means that go-nsq
// has not taken it.
func (p *NSQProducer) publish(conn *connection, s *send) {
	if !s.hand() {
		return
	}
	var err error
	if s.delay > 0 {
		err = conn.producer.DeferredPublishAsync(p.config.Topic, s.delay, s.body, p.answers, s)
	} else {
		err = conn.producer.PublishAsync(p.config.Topic, s.body, p.answers, s)
	}
	if err != nil {
		s.answer(workload.EvFail, "not sent: "+err.Error())
	}
}

// stop ends a connection for good; what is open on it comes back as an answer.
func (p *NSQProducer) stop(conn *connection) {
	p.ended.Add(1)
	go func() {
		defer p.ended.Done()
		conn.producer.Stop()
	}()
}

func (p *NSQProducer) takeAnswers() {
	for t := range p.answers {
		s := t.Args[0].(*send) // publish gives nothing else
		kind, text := classify(t.Error), ""
		if t.Error != nil {
			text = t.Error.Error()
		}
		s.answer(kind, text)
	}
}

// hand marks the send as handed over, unless it was answered.
func (s *send) hand() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handed = !s.answered
	return s.handed
}

// expire answers for the deadline. Whether the send was handed over and that
// it is answered is one decision: a send that expires unsent is never sent.
func (s *send) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handed {
		s.answerLocked(workload.EvUnknown, "no answer in time")
	} else {
		s.answerLocked(workload.EvFail, "not sent: no connection in time")
	}
}

// answer reports what became of the send, once.
func (s *send) answer(kind workload.EventKind, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answerLocked(kind, text)
}

func (s *send) answerLocked(kind workload.EventKind, text string) {
	if s.answered {
		return
	}
	s.answered = true
	s.timer.Stop()
	s.report(workload.Event{Kind: kind, ID: s.id, Try: s.try, Text: text})
}
