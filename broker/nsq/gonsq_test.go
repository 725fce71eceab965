package nsq

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gonsq "github.com/nsqio/go-nsq"
)

// These tests run the real go-nsq against a listener that follows a script,
// and the Client of this package through the same script: both must write the
// same bytes and learn the same from the same answers.

// patience bounds every wait for go-nsq, so that a failure is not a hang.
const patience = 10 * time.Second

// script is the server's end of a connection of go-nsq, and the Client beside
// it.
type script struct {
	*testing.T
	conn   net.Conn
	client *Client
}

func config() *gonsq.Config {
	cfg := gonsq.NewConfig()
	cfg.ClientID, cfg.Hostname, cfg.UserAgent = "c1", "h1", "ua/1"
	cfg.MaxInFlight = 5
	cfg.MsgTimeout = 5 * time.Second
	cfg.MaxAttempts = 0 // no giving up: every message reaches the handler
	return cfg
}

// called starts the script of the connection that call makes go-nsq open.
// call must not return before go-nsq has been identified.
func called(t *testing.T, listener net.Listener, call func() error) *script {
	t.Helper()
	returned := make(chan error, 1)
	go func() { returned <- call() }()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatalf("go-nsq did not call: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	client := NewClient(ClientConfig{ClientID: "c1", Hostname: "h1", UserAgent: "ua/1", HeartbeatMS: 30000, MsgTimeoutMS: 5000})
	s := &script{t, conn, client}

	session := NewSession(DefaultLimits(), "")
	session.Feed(client.out)
	if c, ok := session.Next(); !ok || c.Kind != CmdIdentify {
		t.Fatalf("a Session takes %q for %s", client.out, describe(c))
	}
	s.same("IDENTIFY")
	s.learns(s.say(string(session.TakeOutput())), `identified by "", RDY up to 2500`)
	if err := within(t, "return", returned); err != nil {
		t.Fatalf("go-nsq: %v", err)
	}
	return s
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	if err := listener.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return listener
}

// same reads from go-nsq as many bytes as the Client has written, and
// compares.
func (s *script) same(what string) {
	s.Helper()
	want := s.client.TakeOutput()
	got := make([]byte, len(want))
	n, err := io.ReadFull(s.conn, got)
	if !bytes.Equal(got[:n], want) {
		s.Fatalf("%s: go-nsq wrote %q (%v), Client %q", what, got[:n], err, want)
	}
}

// say sends the server's bytes to both and returns what the Client learns.
func (s *script) say(in string) []string {
	s.Helper()
	if _, err := io.WriteString(s.conn, in); err != nil {
		s.Fatal(err)
	}
	return notices(s.client, []byte(in))
}

func (s *script) learns(got []string, want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Fatalf("(-want +got):\n%s", diff)
	}
}

// within waits for go-nsq to send on c.
func within[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("go-nsq: no %s within %v", what, patience)
	}
	return v
}

func TestClientIsLikeGoNSQsProducer(t *testing.T) {
	listener := listen(t)
	p, err := gonsq.NewProducer(listener.Addr().String(), config())
	if err != nil {
		t.Fatal(err)
	}
	p.SetLogger(log.New(io.Discard, "", 0), gonsq.LogLevelError)
	defer p.Stop()
	done := make(chan *gonsq.ProducerTransaction, 10)
	a, b := []byte("a"), []byte("some more\nof it")

	s := called(t, listener, func() error { return p.PublishAsync("orders", a, done, 1) })
	s.client.Publish("orders", a)
	s.same("PUB")
	for _, step := range []struct {
		verb   string
		gonsq  error
		client uint64
	}{
		{"PUB", p.PublishAsync("orders", b, done, 2), s.client.Publish("orders", b)},
		{"DPUB", p.DeferredPublishAsync("orders", 1500*time.Millisecond, a, done, 3), s.client.DeferredPublish("orders", 1500, a)},
		{"MPUB", p.MultiPublishAsync("orders", [][]byte{a, b}, done, 4), s.client.MultiPublish("orders", [][]byte{a, b})},
	} {
		if step.gonsq != nil {
			t.Fatalf("go-nsq: %s: %v", step.verb, step.gonsq)
		}
	}
	s.same("PUB, DPUB and MPUB in a row")

	learned := s.say(response(OK) + response("_heartbeat_") + response(OK) + response(OK) + failure("E_MPUB_FAILED disk full"))
	s.same("the answer to a heartbeat")
	s.learns(learned, "published 1", "published 2", "published 3", "refused 4: E_MPUB_FAILED: disk full")
	var gonsqLearned []string
	for range learned {
		transaction := within(t, "answer", done)
		line := fmt.Sprintf("published %d", transaction.Args[0])
		if transaction.Error != nil {
			var refusal gonsq.ErrProtocol
			if !errors.As(transaction.Error, &refusal) {
				t.Fatalf("go-nsq: publish %d: %v", transaction.Args[0], transaction.Error)
			}
			code, text, _ := strings.Cut(refusal.Reason, " ")
			line = fmt.Sprintf("refused %d: %s: %s", transaction.Args[0], code, text)
		}
		gonsqLearned = append(gonsqLearned, line)
	}
	s.learns(gonsqLearned, learned...)
}

func TestClientIsLikeGoNSQsConsumer(t *testing.T) {
	listener := listen(t)
	consumer, err := gonsq.NewConsumer("orders", "workers", config())
	if err != nil {
		t.Fatal(err)
	}
	consumer.SetLogger(log.New(io.Discard, "", 0), gonsq.LogLevelError)
	handled := make(chan *gonsq.Message, 10)
	consumer.AddHandler(gonsq.HandlerFunc(func(m *gonsq.Message) error {
		m.DisableAutoResponse()
		handled <- m
		return nil
	}))

	s := called(t, listener, func() error { return consumer.ConnectToNSQD(listener.Addr().String()) })
	s.client.Subscribe("orders", "workers")
	s.client.Ready(5)
	s.same("SUB and RDY, which does not wait for the OK")
	s.learns(s.say(response(OK)), "subscribed")

	first, second := ID(0x100000000001), ID(0x100000000002)
	learned := s.say(string(AppendMessage(nil, 1700000000000000000, 1, first, []byte("a"))))
	m1 := within(t, "message", handled)
	learned = append(learned, s.say(response("_heartbeat_")+string(AppendMessage(nil, -1, 65535, second, []byte("b\nc"))))...)
	m2 := within(t, "message", handled)
	s.same("the answer to a heartbeat")
	var gonsqLearned []string
	for _, m := range []*gonsq.Message{m1, m2} {
		gonsqLearned = append(gonsqLearned, fmt.Sprintf("delivered %s at %d, attempt %d: %s", m.ID[:], m.Timestamp, m.Attempts, m.Body))
	}
	s.learns(gonsqLearned, learned...)

	m1.Touch()
	s.client.Touch(first)
	s.same("TOUCH")
	m1.Finish()
	s.client.Finish(first)
	s.same("FIN")
	s.learns(s.say(failure("E_FIN_FAILED FIN 0000100000000001 failed ID not in flight")),
		"failed: E_FIN_FAILED: FIN 0000100000000001 failed ID not in flight")
	m2.RequeueWithoutBackoff(2500 * time.Millisecond)
	s.client.Requeue(second, 2500)
	s.same("REQ")

	consumer.Stop()
	s.client.StartClose()
	s.same("CLS")
	s.learns(s.say(response(CloseWait)), "close wait")
	if n, err := s.conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("go-nsq sent %d more bytes (%v); it hangs up after CLOSE_WAIT", n, err)
	}
	s.conn.Close()
	within(t, "stop", consumer.StopChan)
}
