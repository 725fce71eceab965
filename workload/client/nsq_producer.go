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
	Name    string   // client id
	Brokers []Broker // at least one; the first is tried first
	Topic   string
}

// NSQProducer publishes over one connection at a time. It connects when there
// is something to send, and makes a fresh go-nsq Producer for each connection,
// so that no answer can ever be taken for that of another connection's publish.
//
// Where there are several brokers it goes to the next one, round and round,
// when a connection cannot be made or breaks, when a publish is not answered in
// time, and when a broker says that it has no majority behind it.
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
	conn     *connection // that it was handed to: from here on it may arrive
	answered bool
}

// connection is one go-nsq Producer that is used for one connection.
type connection struct {
	broker   Broker
	only     bool // there is no other broker to go to
	producer *nsq.Producer
	lost     chan string // why it is to be given up, once
}

// giveUp asks for another connection. The first reason counts.
func (c *connection) giveUp(reason string) {
	select {
	case c.lost <- reason:
	default:
	}
}

// failed says that the broker did not do as it should; another one may.
func (c *connection) failed(reason string) {
	if !c.only {
		c.giveUp(reason)
	}
}

// connecting is one attempt to make a connection.
type connecting struct {
	to   Broker
	late <-chan time.Time // when it has taken too long; nil: never
}

type connectResult struct {
	attempt *connecting
	conn    *connection
	err     error
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

// line is what run knows of its connection.
type line struct {
	turn    int         // of the brokers: the one that is connected to, or will be
	attempt *connecting // nil: none is under way
	conn    *connection // nil: there is none
	waiting []*send     // for the attempt

	notBefore time.Time // when the last attempt failed: of the next
	lastError error
}

// run owns the connection. Sends wait for one that is being made; while the
// last attempt has just failed they fail too.
func (p *NSQProducer) run() {
	defer p.ended.Done()
	var l line
	for {
		var lost <-chan string
		var late <-chan time.Time
		if l.conn != nil {
			lost = l.conn.lost
		}
		if l.attempt != nil {
			late = l.attempt.late
		}
		select {
		case s := <-p.sends:
			p.take(&l, s)
		case result := <-p.connected:
			p.settle(&l, result)
		case <-late:
			p.settle(&l, connectResult{attempt: l.attempt, err: fmt.Errorf("connect to %s: no answer in time", l.attempt.to.Address)})
		case reason := <-lost:
			p.drop(&l, reason)
		case <-p.quit:
			p.end(&l)
			return
		}
	}
}

// take sends s, or has it wait.
func (p *NSQProducer) take(l *line, s *send) {
	if l.conn != nil {
		select {
		case reason := <-l.conn.lost:
			p.drop(l, reason)
		default:
			p.publish(l.conn, s)
			return
		}
	}
	switch {
	case l.attempt != nil:
		l.waiting = append(l.waiting, s)
	case time.Now().Before(l.notBefore):
		s.answer(workload.EvFail, "not sent: "+l.lastError.Error())
	default:
		l.waiting = append(l.waiting, s)
		l.attempt = &connecting{to: p.config.Brokers[l.turn%len(p.config.Brokers)]}
		if len(p.config.Brokers) > 1 {
			l.attempt.late = time.After(dialTimeout)
		}
		p.ended.Add(1)
		go p.connect(l.attempt)
	}
}

// settle takes what has become of an attempt.
func (p *NSQProducer) settle(l *line, result connectResult) {
	if result.attempt != l.attempt { // it was given up for being late
		if result.err == nil {
			p.stop(result.conn)
		}
		return
	}
	waiting := l.waiting
	l.attempt, l.waiting = nil, nil
	if result.err != nil {
		l.turn++
		l.lastError, l.notBefore = result.err, time.Now().Add(reconnectDelay)
		for _, s := range waiting {
			s.answer(workload.EvFail, "not sent: "+l.lastError.Error())
		}
		return
	}
	l.conn = result.conn
	p.report(workload.Event{Kind: workload.EvConnected, Target: l.conn.broker.Name})
	for _, s := range waiting {
		p.publish(l.conn, s)
	}
}

// drop gives the connection up; the next broker has its turn.
func (p *NSQProducer) drop(l *line, reason string) {
	p.report(workload.Event{Kind: workload.EvDisconnected, Target: l.conn.broker.Name, Text: reason})
	p.stop(l.conn)
	l.conn = nil
	l.turn++
}

// end answers what is open, at the end.
func (p *NSQProducer) end(l *line) {
	for len(p.sends) > 0 {
		l.waiting = append(l.waiting, <-p.sends)
	}
	for _, s := range l.waiting {
		s.answer(workload.EvFail, "not sent: the producer is closed")
	}
	if l.conn != nil {
		p.stop(l.conn)
	}
}

// connect makes a connection and tells run.
func (p *NSQProducer) connect(attempt *connecting) {
	defer p.ended.Done()
	conn, err := p.dial(attempt.to)
	select {
	case p.connected <- connectResult{attempt, conn, err}:
	case <-p.quit:
		if err == nil {
			conn.producer.Stop()
		}
	}
}

func (p *NSQProducer) dial(to Broker) (*connection, error) {
	producer, err := nsq.NewProducer(to.Address, nsqConfig(p.config.Name))
	if err != nil {
		return nil, fmt.Errorf("set up a connection to %s: %w", to.Address, err)
	}
	conn := &connection{broker: to, only: len(p.config.Brokers) == 1, producer: producer, lost: make(chan string, 1)}
	producer.SetLogger(logFunc(func(line string) {
		if _, reason, found := strings.Cut(line, ioError); found {
			conn.giveUp(reason)
		}
	}), nsq.LogLevelError)
	if err := producer.Ping(); err != nil {
		producer.Stop()
		return nil, fmt.Errorf("connect to %s: %w", to.Address, err)
	}
	return conn, nil
}

// publish hands s to the connection. An error at this point means that go-nsq
// has not taken it.
func (p *NSQProducer) publish(conn *connection, s *send) {
	if !s.hand(conn) {
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
		if leaderless(t.Error) {
			s.handedTo().failed(text)
		}
		s.answer(kind, text)
	}
}

// hand marks the send as handed over, unless it was answered.
func (s *send) hand(to *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.answered {
		s.conn = to
	}
	return !s.answered
}

// handedTo is called after hand.
func (s *send) handedTo() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// expire answers for the deadline. Whether the send was handed over and that
// it is answered is one decision: a send that expires unsent is never sent.
func (s *send) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.failed("publish: no answer in time")
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
