package nsq

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// ClientConfig is what a client says about itself and asks for in IDENTIFY.
type ClientConfig struct {
	ClientID, Hostname, UserAgent string

	HeartbeatMS  int64 // 0: the server's default; -1: none, and no SUB
	MsgTimeoutMS int64 // 0: the server's default
}

// NoticeKind says which fields of a Notice are set.
type NoticeKind uint8

// What a client learns from its server.
const (
	NoticeIdentified NoticeKind = iota + 1 // Negotiated
	NoticeSubscribed                       // SUB was answered
	NoticePublished                        // Ticket
	NoticeRefused                          // Ticket (0: not a publish), Code, Text
	NoticeDelivered                        // ID, Timestamp, Attempts, Body, Held, Overrun
	NoticeCloseWait                        // CLS was answered
	NoticeFailed                           // Code, Text: a FIN, REQ or TOUCH was not done
	NoticeBroken                           // Text: the server broke the protocol; nothing follows
)

// Notice is one thing a client learnt. What it points to is its own.
type Notice struct {
	Kind   NoticeKind
	Ticket uint64
	Code   Code
	Text   string

	Negotiated Negotiated

	ID        MessageID
	Timestamp int64 // ns since the Unix epoch
	Attempts  uint16
	Body      []byte
	Held      int  // messages that are surely in flight to this client, this one with them if it counts, see Client
	Overrun   bool // RDY, as far as it may be in force, does not allow so many, or CLS was answered
}

// maxFrame bounds what a server may send at once, in bytes: the largest block
// the protocol's default limits know, with room for headers.
const maxFrame = 5<<20 + 64<<10

// Client is the client's side of one connection. Its methods queue bytes for
// TakeOutput; answers arrive as notices. It sends what it is told to, valid
// or not, and believes nothing: a server that breaks the protocol is reported
// and not listened to any more.
//
// An error frame refuses the oldest command that is still owed a response, as
// servers answer in order. Publishes behind a fatal error stay unanswered:
// they may or may not have been stored.
//
// It counts what is in flight to it. Only the server knows that exactly: FIN
// and REQ reach it later than they are sent, and a lease that runs out there
// takes a message out of flight of which the client hears nothing. So it
// counts messages that came since the last heartbeat and that it has not
// answered: no lease is shorter than the interval between two heartbeats. One
// that it has answered and that comes again does not count: the lease may have
// run out before the answer was there, which is then taken for one to the new
// delivery. The server can count no less.
type Client struct {
	in     inbox
	out    []byte
	owed   []expectation
	ticket uint64 // of the last publish
	ready  bool   // SUB was answered: messages may come
	closed bool   // CLS was answered: none may come any more

	allowed int64                  // the highest RDY sent; a lower one may not have arrived yet
	held    map[MessageID]struct{} // delivered since the last heartbeat and not answered, now or before
	given   map[MessageID]struct{} // answered on this connection
	counts  bool                   // leases last at least as long as the interval between heartbeats

	ended  bool // a fatal error came: nothing may follow
	broken bool
}

// expectation is a command that is owed a response.
type expectation struct {
	kind   NoticeKind // of the notice that a good response makes
	ticket uint64
}

// identify has the fields, and the order, in which go-nsq sends them.
type identify struct {
	ClientID            string `json:"client_id"`
	Deflate             bool   `json:"deflate"`
	DeflateLevel        int64  `json:"deflate_level"`
	FeatureNegotiation  bool   `json:"feature_negotiation"`
	HeartbeatInterval   int64  `json:"heartbeat_interval"`
	Hostname            string `json:"hostname"`
	LongID              string `json:"long_id"`
	MsgTimeout          int64  `json:"msg_timeout"`
	OutputBufferSize    int64  `json:"output_buffer_size"`
	OutputBufferTimeout int64  `json:"output_buffer_timeout"`
	SampleRate          int64  `json:"sample_rate"`
	ShortID             string `json:"short_id"`
	Snappy              bool   `json:"snappy"`
	TLS                 bool   `json:"tls_v1"`
	UserAgent           string `json:"user_agent"`
}

// NewClient opens a connection: the magic and IDENTIFY are in the output.
func NewClient(cfg ClientConfig) *Client {
	body, err := json.Marshal(identify{
		ClientID:           cfg.ClientID,
		ShortID:            cfg.ClientID,
		Hostname:           cfg.Hostname,
		LongID:             cfg.Hostname,
		UserAgent:          cfg.UserAgent,
		FeatureNegotiation: true,
		HeartbeatInterval:  cfg.HeartbeatMS,
		MsgTimeout:         cfg.MsgTimeoutMS,

		// go-nsq's defaults; this client has no setting for them.
		DeflateLevel:        deflateLevel,
		OutputBufferSize:    16 << 10,
		OutputBufferTimeout: 250,
	})
	if err != nil {
		panic(fmt.Sprintf("nsq: encode IDENTIFY: %v", err)) // a struct of numbers, strings and bools
	}
	c := &Client{
		out:    []byte(Magic),
		held:   make(map[MessageID]struct{}),
		given:  make(map[MessageID]struct{}),
		counts: cfg.HeartbeatMS > 0 && cfg.MsgTimeoutMS >= cfg.HeartbeatMS,
	}
	c.line("IDENTIFY")
	c.block(body)
	c.expect(NoticeIdentified, 0)
	return c
}

// Subscribe asks for the messages of a channel. It is owed NoticeSubscribed.
func (c *Client) Subscribe(topic, channel string) {
	c.line("SUB", topic, channel)
	c.expect(NoticeSubscribed, 0)
}

// Ready says how many messages may be in flight to this client.
func (c *Client) Ready(count int64) {
	c.allowed = max(c.allowed, count)
	c.line("RDY", decimal(count))
}

// Publish sends one message. The ticket comes back in NoticePublished or
// NoticeRefused.
func (c *Client) Publish(topic string, body []byte) (ticket uint64) {
	c.line("PUB", topic)
	c.block(body)
	return c.expectPublished()
}

// DeferredPublish sends a message that is delivered delayMS from now at the
// earliest.
func (c *Client) DeferredPublish(topic string, delayMS int64, body []byte) (ticket uint64) {
	c.line("DPUB", topic, decimal(delayMS))
	c.block(body)
	return c.expectPublished()
}

// MultiPublish sends messages of which all are stored or none.
func (c *Client) MultiPublish(topic string, bodies [][]byte) (ticket uint64) {
	c.line("MPUB", topic)
	size := 4
	for _, body := range bodies {
		size += 4 + len(body)
	}
	c.int32(size)
	c.int32(len(bodies))
	for _, body := range bodies {
		c.block(body)
	}
	return c.expectPublished()
}

// Finish says that a delivered message is done.
func (c *Client) Finish(id MessageID) {
	c.answered(id)
	c.line("FIN", id.String())
}

// Requeue gives a delivered message back, to come again after delayMS.
func (c *Client) Requeue(id MessageID, delayMS int64) {
	c.answered(id)
	c.line("REQ", id.String(), decimal(delayMS))
}

func (c *Client) answered(id MessageID) {
	delete(c.held, id)
	if c.counts {
		c.given[id] = struct{}{}
	}
}

// Touch asks for more time with a delivered message.
func (c *Client) Touch(id MessageID) { c.line("TOUCH", id.String()) }

// StartClose asks for no more messages. It is owed NoticeCloseWait.
func (c *Client) StartClose() {
	c.line("CLS")
	c.expect(NoticeCloseWait, 0)
}

// TakeOutput returns the bytes to send now, nil when there are none. They are
// the caller's.
func (c *Client) TakeOutput() []byte {
	out := c.out
	c.out = nil
	return out
}

// Feed adds bytes that arrived. It copies p and parses nothing.
func (c *Client) Feed(p []byte) {
	if !c.broken {
		c.in.add(p)
	}
}

// Next returns the next notice; false means that more bytes are needed. It
// answers heartbeats by itself.
func (c *Client) Next() (Notice, bool) {
	for !c.broken {
		t, data, n, reason := cutFrame(c.in.bytes())
		if reason != "" {
			return c.breakOff(reason), true
		}
		if n == 0 {
			return Notice{}, false
		}
		c.in.take(n)
		notice := c.read(t, data)
		if notice.Kind != 0 {
			return notice, true
		}
	}
	return Notice{}, false
}

// cutFrame returns the frame at the start of in and the bytes it takes, 0
// when it is not complete. A reason says why it is none.
func cutFrame(in []byte) (t FrameType, data []byte, n int, reason string) {
	if len(in) < 4 {
		return 0, nil, 0, ""
	}
	size := int64(int32(binary.BigEndian.Uint32(in)))
	if size < minFrameSize || size > maxFrame {
		return 0, nil, 0, fmt.Sprintf("frame size %d is not in %d..%d", size, minFrameSize, maxFrame)
	}
	if int64(len(in)-4) < size {
		return 0, nil, 0, ""
	}
	return FrameType(binary.BigEndian.Uint32(in[4:])), in[frameHeader : 4+size], int(4 + size), ""
}

// read turns one frame into a notice; a heartbeat into none.
func (c *Client) read(t FrameType, data []byte) Notice {
	if c.ended {
		return c.breakOff("a frame came after a fatal error")
	}
	switch t {
	case FrameResponse:
		return c.readResponse(string(data))
	case FrameError:
		return c.readError(string(data))
	case FrameMessage:
		return c.readMessage(data)
	}
	return c.breakOff(fmt.Sprintf("frame type %d is unknown", t))
}

func (c *Client) readResponse(body string) Notice {
	if body == heartbeat {
		clear(c.held)
		c.line("NOP")
		return Notice{}
	}
	if len(c.owed) == 0 {
		return c.breakOff(fmt.Sprintf("response %.64q answers no command", body))
	}
	owed := c.owed[0]
	c.owed = c.owed[1:]
	if owed.kind == NoticeIdentified {
		return c.readNegotiated(body)
	}
	want := OK
	if owed.kind == NoticeCloseWait {
		want = CloseWait
	}
	if body != want {
		return c.breakOff(fmt.Sprintf("response %.64q came where %s is due", body, want))
	}
	switch owed.kind {
	case NoticeSubscribed:
		c.ready = true
	case NoticeCloseWait:
		c.closed = true
	}
	return Notice{Kind: owed.kind, Ticket: owed.ticket}
}

func (c *Client) readNegotiated(body string) Notice {
	notice := Notice{Kind: NoticeIdentified}
	if err := json.Unmarshal([]byte(body), &notice.Negotiated); err != nil {
		return c.breakOff(fmt.Sprintf("response %.64q to IDENTIFY is not the JSON expected: %s", body, explain(err)))
	}
	if notice.Negotiated.MaxReady <= 0 {
		return c.breakOff(fmt.Sprintf("the answer to IDENTIFY allows a RDY count of %d", notice.Negotiated.MaxReady))
	}
	if n := notice.Negotiated; n.TLS || n.Deflate || n.Snappy {
		return c.breakOff("the answer to IDENTIFY turns on TLS or compression, which were not asked for")
	}
	return notice
}

func (c *Client) readError(body string) Notice {
	code, text, _ := strings.Cut(body, " ")
	notice := Notice{Kind: NoticeFailed, Code: Code(code), Text: text}
	if !notice.Code.Fatal() {
		return notice
	}
	notice.Kind = NoticeRefused
	c.ended = true
	if len(c.owed) > 0 {
		notice.Ticket = c.owed[0].ticket
	}
	return notice
}

func (c *Client) readMessage(data []byte) Notice {
	if !c.ready {
		return c.breakOff("a message came before a subscription")
	}
	if len(data) <= messageHeader {
		return c.breakOff(fmt.Sprintf("message of %d bytes has no body behind its header of %d", len(data), messageHeader))
	}
	notice := Notice{
		Kind:      NoticeDelivered,
		Timestamp: int64(binary.BigEndian.Uint64(data)),
		Attempts:  binary.BigEndian.Uint16(data[8:]),
		ID:        MessageID(data[10:messageHeader]),
		Body:      bytes.Clone(data[messageHeader:]),
	}
	if notice.Attempts == 0 {
		return c.breakOff(fmt.Sprintf("message %q has 0 attempts; the first delivery is 1", notice.ID))
	}
	if c.counts {
		if _, again := c.given[notice.ID]; !again {
			c.held[notice.ID] = struct{}{}
		}
		notice.Held = len(c.held)
		notice.Overrun = c.closed || int64(notice.Held) > c.allowed
	}
	return notice
}

// breakOff stops listening.
func (c *Client) breakOff(reason string) Notice {
	c.broken = true
	c.in = inbox{}
	return Notice{Kind: NoticeBroken, Text: reason}
}

func (c *Client) expect(kind NoticeKind, ticket uint64) {
	c.owed = append(c.owed, expectation{kind, ticket})
}

func (c *Client) expectPublished() uint64 {
	c.ticket++
	c.expect(NoticePublished, c.ticket)
	return c.ticket
}

func (c *Client) line(words ...string) {
	for i, word := range words {
		if i > 0 {
			c.out = append(c.out, ' ')
		}
		c.out = append(c.out, word...)
	}
	c.out = append(c.out, '\n')
}

func (c *Client) block(body []byte) {
	c.int32(len(body))
	c.out = append(c.out, body...)
}

func (c *Client) int32(n int) { c.out = binary.BigEndian.AppendUint32(c.out, uint32(n)) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
