package nsq

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const negotiated = `{"max_rdy_count":2500,"version":"v"}`

// notices feeds a client and writes down what it learns.
func notices(c *Client, in []byte) []string {
	c.Feed(in)
	var lines []string
	for n, ok := c.Next(); ok; n, ok = c.Next() {
		lines = append(lines, describeNotice(n))
	}
	return lines
}

func describeNotice(n Notice) string {
	switch n.Kind {
	case NoticeIdentified:
		return fmt.Sprintf("identified by %q, RDY up to %d", n.Negotiated.Version, n.Negotiated.MaxReady)
	case NoticeSubscribed:
		return "subscribed"
	case NoticePublished:
		return fmt.Sprintf("published %d", n.Ticket)
	case NoticeRefused:
		return fmt.Sprintf("refused %d: %s: %s", n.Ticket, n.Code, n.Text)
	case NoticeDelivered:
		return fmt.Sprintf("delivered %s at %d, attempt %d: %s", n.ID, n.Timestamp, n.Attempts, n.Body)
	case NoticeCloseWait:
		return "close wait"
	case NoticeFailed:
		return fmt.Sprintf("failed: %s: %s", n.Code, n.Text)
	case NoticeBroken:
		return "broken: " + n.Text
	}
	return fmt.Sprintf("notice of kind %d", n.Kind)
}

func response(body string) string { return string(AppendFrame(nil, FrameResponse, []byte(body))) }
func failure(body string) string  { return string(AppendFrame(nil, FrameError, []byte(body))) }
func message(body string) string {
	return string(AppendMessage(nil, 7, 1, ID(0x100000000007), []byte(body)))
}

func TestClientWrites(t *testing.T) {
	message7 := ID(0x100000000007)
	for _, row := range []struct {
		name string
		call func(c *Client)
		want string
	}{
		{"Subscribe", func(c *Client) { c.Subscribe("orders", "workers") }, "SUB orders workers\n"},
		{"Ready", func(c *Client) { c.Ready(25) }, "RDY 25\n"},
		{"Publish", func(c *Client) { c.Publish("t", []byte("a")) }, "PUB t\n\x00\x00\x00\x01a"},
		{"Publish of nothing", func(c *Client) { c.Publish("t", nil) }, "PUB t\n\x00\x00\x00\x00"},
		{"DeferredPublish", func(c *Client) { c.DeferredPublish("t", 1500, []byte("a")) }, "DPUB t 1500\n\x00\x00\x00\x01a"},
		{"MultiPublish", func(c *Client) { c.MultiPublish("t", [][]byte{[]byte("a"), []byte("bc")}) },
			"MPUB t\n\x00\x00\x00\x0f\x00\x00\x00\x02\x00\x00\x00\x01a\x00\x00\x00\x02bc"},
		{"Finish", func(c *Client) { c.Finish(message7) }, "FIN 0000100000000007\n"},
		{"Requeue", func(c *Client) { c.Requeue(message7, 90) }, "REQ 0000100000000007 90\n"},
		{"Touch", func(c *Client) { c.Touch(message7) }, "TOUCH 0000100000000007\n"},
		{"StartClose", func(c *Client) { c.StartClose() }, "CLS\n"},
		{"nothing", func(c *Client) {}, ""},
	} {
		c := NewClient(ClientConfig{})
		c.TakeOutput()
		row.call(c)
		if got := string(c.TakeOutput()); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// Each row is what the server sends, behind its answer to IDENTIFY, to a
// client that has published three times, and what that client learns.
func TestClientReads(t *testing.T) {
	for _, row := range []struct {
		name string
		in   string
		want []string
	}{
		{"answers in order", response(OK) + response(OK), []string{"published 1", "published 2"}},
		{"a refusal answers the oldest publish", response(OK) + failure("E_PUB_FAILED disk full"),
			[]string{"published 1", "refused 2: E_PUB_FAILED: disk full"}},
		{"a code alone", failure("E_BAD_PROTOCOL"), []string{"refused 1: E_BAD_PROTOCOL: "}},
		{"a failed FIN answers no publish", failure("E_FIN_FAILED no") + response(OK), []string{"failed: E_FIN_FAILED: no", "published 1"}},
		{"whatever follows a fatal error", failure("E_INVALID x") + response(OK) + response(OK),
			[]string{"refused 1: E_INVALID: x", "broken: a frame came after a fatal error"}},
		{"another answer than OK", response("SURE"), []string{`broken: response "SURE" came where OK is due`}},
		{"an answer too many", response(OK) + response(OK) + response(OK) + response(OK),
			[]string{"published 1", "published 2", "published 3", `broken: response "OK" answers no command`}},
		{"a refusal of no command", response(OK) + response(OK) + response(OK) + failure("E_INVALID bad RDY"),
			[]string{"published 1", "published 2", "published 3", "refused 0: E_INVALID: bad RDY"}},
		{"a message before SUB", message("a"), []string{"broken: a message came before a subscription"}},
		{"a frame of no size", size(3) + "abc", []string{"broken: frame size 3 is not in 4..5308416"}},
		{"a frame of negative size", size(-1), []string{"broken: frame size -1 is not in 4..5308416"}},
		{"a frame too large, before it comes", size(5308417), []string{"broken: frame size 5308417 is not in 4..5308416"}},
		{"a frame of another type", size(4) + size(3), []string{"broken: frame type 3 is unknown"}},
		{"half a frame", response(OK)[:9], nil},
		{"nothing is read once broken", size(-1) + response(OK), []string{"broken: frame size -1 is not in 4..5308416"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := NewClient(ClientConfig{})
			for range 3 {
				c.Publish("t", []byte("a"))
			}
			want := append([]string{`identified by "v", RDY up to 2500`}, row.want...)
			if diff := cmp.Diff(want, notices(c, []byte(response(negotiated)+row.in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The same for a client that has sent SUB and CLS.
func TestConsumingClientReads(t *testing.T) {
	for _, row := range []struct {
		name string
		in   string
		want []string
	}{
		{"messages", response(OK) + message("a") + message("b") + response(CloseWait) + failure("E_TOUCH_FAILED no"),
			[]string{"subscribed", "delivered 0000100000000007 at 7, attempt 1: a", "delivered 0000100000000007 at 7, attempt 1: b", "close wait", "failed: E_TOUCH_FAILED: no"}},
		{"a refused SUB", failure("E_BAD_TOPIC no"), []string{"refused 0: E_BAD_TOPIC: no"}},
		{"CLS answered with OK", response(OK) + response(OK), []string{"subscribed", `broken: response "OK" came where CLOSE_WAIT is due`}},
		{"an empty message", response(OK) + message(""), []string{"subscribed", "broken: message of 26 bytes has no body behind its header of 26"}},
		{"a message cut short", response(OK) + string(AppendFrame(nil, FrameMessage, []byte("x"))), []string{"subscribed", "broken: message of 1 bytes has no body behind its header of 26"}},
		{"a message without attempts", response(OK) + string(AppendMessage(nil, 7, 0, ID(7), []byte("a"))),
			[]string{"subscribed", `broken: message "0000000000000007" has 0 attempts; the first delivery is 1`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := NewClient(ClientConfig{})
			c.Subscribe("t", "c")
			c.StartClose()
			want := append([]string{`identified by "v", RDY up to 2500`}, row.want...)
			if diff := cmp.Diff(want, notices(c, []byte(response(negotiated)+row.in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestClientReadsTheAnswerToIdentify(t *testing.T) {
	for _, row := range []struct{ body, want string }{
		{negotiated, `identified by "v", RDY up to 2500`},
		{OK, `broken: response "OK" to IDENTIFY is not the JSON expected: invalid character 'O' looking for beginning of value`},
		{`{"max_rdy_count":"many"}`, `broken: response "{\"max_rdy_count\":\"many\"}" to IDENTIFY is not the JSON expected: max_rdy_count cannot be string`},
		{`null`, "broken: the answer to IDENTIFY allows a RDY count of 0"},
		{`{"max_rdy_count":1,"tls_v1":true}`, "broken: the answer to IDENTIFY turns on TLS or compression, which were not asked for"},
		{`{"max_rdy_count":1,"snappy":true}`, "broken: the answer to IDENTIFY turns on TLS or compression, which were not asked for"},
		{`{"max_rdy_count":1,"deflate":true}`, "broken: the answer to IDENTIFY turns on TLS or compression, which were not asked for"},
	} {
		got := strings.Join(notices(NewClient(ClientConfig{}), []byte(response(row.body))), "\n")
		if got != row.want {
			t.Errorf("%s: %s, want %s", row.body, got, row.want)
		}
	}
}

// What a client proves of the messages in flight to it. Its RDY is 2; the
// script is what it sends and is sent.
func TestClientCountsWhatIsInFlight(t *testing.T) {
	frame := func(id uint64) string { return string(AppendMessage(nil, 7, 1, ID(id), []byte("a"))) }
	const lease, beat = 1000, 1000 // ms
	for _, row := range []struct {
		name        string
		lease, beat int64
		play        func(c *Client, receive func(string))
		want        string // of each delivery: held, with ! when RDY is overrun
	}{
		{"within RDY", lease, beat, func(c *Client, receive func(string)) { receive(frame(1) + frame(2)) }, "1 2"},
		{"one more", lease, beat, func(c *Client, receive func(string)) { receive(frame(1) + frame(2) + frame(3)) }, "1 2 3!"},
		{"FIN makes room", lease, beat, func(c *Client, receive func(string)) {
			receive(frame(1) + frame(2))
			c.Finish(ID(1))
			receive(frame(3))
		}, "1 2 2"},
		{"REQ makes room", lease, beat, func(c *Client, receive func(string)) {
			receive(frame(1) + frame(2))
			c.Requeue(ID(2), 0)
			receive(frame(3))
		}, "1 2 2"},
		{"an answer may be taken for one to the next delivery", lease, beat, func(c *Client, receive func(string)) {
			receive(frame(1) + frame(2))
			c.Finish(ID(1))
			c.Requeue(ID(2), 0)
			receive(frame(1) + frame(2) + frame(3) + frame(4) + frame(5))
		}, "1 2 0 0 1 2 3!"},
		{"TOUCH does not", lease, beat, func(c *Client, receive func(string)) {
			receive(frame(1) + frame(2))
			c.Touch(ID(1))
			receive(frame(3))
		}, "1 2 3!"},
		{"a message that comes twice counts once", lease, beat, func(c *Client, receive func(string)) { receive(frame(1) + frame(1) + frame(2)) }, "1 1 2"},
		{"a lease may have run out with a heartbeat between", lease, beat, func(c *Client, receive func(string)) {
			receive(frame(1) + frame(2) + response("_heartbeat_") + frame(3))
		}, "1 2 1"},
		{"a lower RDY may be on its way", lease, beat, func(c *Client, receive func(string)) {
			c.Ready(1)
			receive(frame(1) + frame(2))
		}, "1 2"},
		{"a higher one counts at once", lease, beat, func(c *Client, receive func(string)) {
			c.Ready(3)
			receive(frame(1) + frame(2) + frame(3))
		}, "1 2 3"},
		{"CLS may be on its way", lease, beat, func(c *Client, receive func(string)) {
			c.StartClose()
			receive(frame(1))
		}, "1"},
		{"nothing may come once CLS was answered", lease, beat, func(c *Client, receive func(string)) {
			c.StartClose()
			receive(response(CloseWait) + frame(1))
		}, "1!"},
		{"a lease shorter than the interval proves nothing", lease - 1, beat, func(c *Client, receive func(string)) { receive(frame(1) + frame(2) + frame(3)) }, "0 0 0"},
		{"nor does one that is not known", 0, beat, func(c *Client, receive func(string)) { receive(frame(1)) }, "0"},
		{"nor do heartbeats that are not", lease, 0, func(c *Client, receive func(string)) { receive(frame(1)) }, "0"},
	} {
		c := NewClient(ClientConfig{MsgTimeoutMS: row.lease, HeartbeatMS: row.beat})
		c.Subscribe("t", "c")
		c.Ready(2)
		var got []string
		receive := func(in string) {
			c.Feed([]byte(in))
			for n, ok := c.Next(); ok; n, ok = c.Next() {
				if n.Kind != NoticeDelivered {
					continue
				}
				text := strconv.Itoa(n.Held)
				if n.Overrun {
					text += "!"
				}
				got = append(got, text)
			}
		}
		receive(response(negotiated) + response(OK))
		row.play(c, receive)
		if text := strings.Join(got, " "); text != row.want {
			t.Errorf("%s: %s, want %s", row.name, text, row.want)
		}
	}
}

func TestDeliveredBodiesOutliveTheInput(t *testing.T) {
	c := NewClient(ClientConfig{})
	c.Subscribe("t", "c")
	in := []byte(response(negotiated) + response(OK) + message("abc"))
	c.Feed(in)
	var last Notice
	for n, ok := c.Next(); ok; n, ok = c.Next() {
		last = n
	}
	c.Feed(make([]byte, len(in))) // comes to lie where the body lay
	if string(last.Body) != "abc" {
		t.Errorf("the body became %q", last.Body)
	}
}

func TestABrokenClientHoldsNothing(t *testing.T) {
	c := NewClient(ClientConfig{})
	c.Feed([]byte(size(-1) + "more"))
	if n, ok := c.Next(); !ok || n.Kind != NoticeBroken {
		t.Fatalf("%s, want a break", describeNotice(n))
	}
	c.Feed([]byte("and more"))
	if c.in.len() != 0 {
		t.Errorf("holds %d bytes that nobody will read", c.in.len())
	}
}

func TestClientAnswersHeartbeats(t *testing.T) {
	c := NewClient(ClientConfig{})
	c.TakeOutput()
	if got := notices(c, []byte(response("_heartbeat_")+response(negotiated)+response("_heartbeat_"))); len(got) != 1 {
		t.Errorf("%q, want the answer to IDENTIFY alone", got)
	}
	if got := string(c.TakeOutput()); got != "NOP\nNOP\n" {
		t.Errorf("%q, want two NOPs", got)
	}
}
