package nsq

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// wire is a client and a session back to back. Bytes wait in between until
// they are moved, some at a time. What was said on one side is kept, to be
// compared with what was heard on the other.
type wire struct {
	client   *Client
	session  *Session
	up, down []byte // towards the session, towards the client

	calls, commands     []string // in the words of describe
	answers, heard      []string // in command order, in the words of describeNotice; "" is still due
	messages, delivered []string
	failures, failed    []string // of FIN
	heartbeats, nops    int

	due        []due // commands that wait for an answer
	published  uint64
	subscribed bool // SUB was called
	closing    bool // CLS was called
	ready      bool // RDY has arrived
}

// due is an answer to come.
type due struct {
	slot   Slot
	kind   CommandKind
	answer int // its place in answers
	text   string
}

func newWire() *wire {
	return &wire{
		client:  NewClient(ClientConfig{ClientID: "c", Hostname: "h", UserAgent: "u", HeartbeatMS: 1000}),
		session: NewSession(Limits{MaxMessageSize: 64, MaxBodySize: 1024, MaxReady: 10, MaxDeferMS: 9, MaxRequeueMS: 9, MsgTimeoutMS: 60000, MaxHeartbeatMS: 60000, OutputBufferTimeoutMS: 250, MaxOutputBufferSize: 1 << 16, MaxOutputBufferTimeoutMS: 250, Version: "v"}, ""),
		calls:   []string{`identify c h "u" heartbeat 1000 timeout 60000 buffer 16384/250`},
		answers: []string{`identified by "v", RDY up to 10`},
	}
}

// call does one thing that the client may do in its state.
func (w *wire) call(t *rapid.T) {
	body := func() []byte { return rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(t, "body") }
	say := func(format string, args ...any) { w.calls = append(w.calls, fmt.Sprintf(format, args...)) }
	n := rapid.Int64Range(0, 9).Draw(t, "n")
	message := ID(rapid.Uint64().Draw(t, "id"))
	verbs := []string{"PUB", "DPUB", "MPUB"}
	if !w.subscribed {
		verbs = append(verbs, "SUB")
	} else {
		verbs = append(verbs, "FIN", "REQ", "TOUCH")
		if !w.closing {
			verbs = append(verbs, "RDY", "CLS")
		}
	}
	switch verb := rapid.SampledFrom(verbs).Draw(t, "verb"); verb {
	case "PUB":
		b := body()
		w.client.Publish("t", b)
		say("pub t %q after 0 ms", [][]byte{b})
	case "DPUB":
		b := body()
		w.client.DeferredPublish("t", n, b)
		say("dpub t %q after %d ms", [][]byte{b}, n)
	case "MPUB":
		var batch [][]byte
		for range n + 1 {
			batch = append(batch, body())
		}
		w.client.MultiPublish("t", batch)
		say("mpub t %q after 0 ms", batch)
	case "SUB":
		w.client.Subscribe("t", "c")
		w.subscribed = true
		say("sub t c")
	case "CLS":
		w.client.StartClose()
		w.closing = true
		say("cls")
	case "RDY":
		w.client.Ready(n)
		say("rdy %d", n)
	case "FIN":
		w.client.Finish(message)
		say("fin %s", message)
	case "REQ":
		w.client.Requeue(message, n)
		say("req %s after %d ms", message, n)
	case "TOUCH":
		w.client.Touch(message)
		say("touch %s", message)
	}
}

// moveUp lets n bytes reach the session and acts on the commands in them.
func (w *wire) moveUp(n int) {
	w.up = append(w.up, w.client.TakeOutput()...)
	n = min(n, len(w.up))
	w.session.Feed(w.up[:n])
	w.up = w.up[n:]
	for c, ok := w.session.Next(); ok; c, ok = w.session.Next() {
		if c.Kind == CmdNop {
			w.nops++
			continue
		}
		w.commands = append(w.commands, describe(c))
		d := due{slot: c.Slot, kind: c.Kind, answer: len(w.answers)}
		switch c.Kind {
		case CmdRdy:
			w.ready = true
			continue
		case CmdSub:
			d.text = "subscribed"
		case CmdCls:
			d.text = "close wait"
		case CmdPub:
			w.published++
			d.text = fmt.Sprintf("published %d", w.published)
		default:
			continue
		}
		w.answers = append(w.answers, "")
		w.due = append(w.due, d)
	}
}

// moveDown lets n bytes reach the client.
func (w *wire) moveDown(n int) {
	w.down = append(w.down, w.session.TakeOutput()...)
	n = min(n, len(w.down))
	w.client.Feed(w.down[:n])
	w.down = w.down[n:]
	for notice, ok := w.client.Next(); ok; notice, ok = w.client.Next() {
		heard := &w.heard
		switch notice.Kind {
		case NoticeDelivered:
			heard = &w.delivered
		case NoticeFailed:
			heard = &w.failed
		}
		*heard = append(*heard, describeNotice(notice))
	}
}

// answer answers the i-th of the commands that wait.
func (w *wire) answer(i int) {
	d := w.due[i]
	w.due = slices.Delete(w.due, i, i+1)
	w.answers[d.answer] = d.text
	switch d.kind {
	case CmdSub:
		w.session.Subscribed(d.slot)
	case CmdCls:
		w.session.Reply(d.slot, CloseWait)
	default:
		w.session.Reply(d.slot, OK)
	}
	w.moveUp(0)
}

// push lets the server say what answers no command.
func (w *wire) push(t *rapid.T) {
	switch rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		w.session.Heartbeat()
		w.heartbeats++
	case 1:
		w.session.Fail(0, CodeFinFailed, "no")
		w.failures = append(w.failures, "failed: E_FIN_FAILED: no")
	case 2:
		if !w.ready {
			return
		}
		n := len(w.messages) + 1
		w.session.Message(int64(n), uint16(n), ID(uint64(n)), []byte("body"))
		w.messages = append(w.messages, fmt.Sprintf("delivered %s at %d, attempt %d: body", ID(uint64(n)), n, n))
	}
}

// check compares what was said with what has been heard of it so far, or of
// all of it.
func (w *wire) check(t *rapid.T, all bool) {
	for _, pair := range []struct {
		what        string
		said, heard []string
	}{
		{"commands", w.calls, w.commands},
		{"answers", w.answers, w.heard},
		{"messages", w.messages, w.delivered},
		{"failures", w.failures, w.failed},
	} {
		said := pair.said
		if !all && len(pair.heard) < len(said) {
			said = said[:len(pair.heard)]
		}
		if !slices.Equal(said, pair.heard) {
			t.Fatalf("%s: said %q, heard %q", pair.what, said, pair.heard)
		}
	}
	if all && (w.nops != w.heartbeats || w.session.Pending() != 0 || w.session.Buffered() != 0 || w.session.Done()) {
		t.Fatalf("%d NOPs to %d heartbeats, %d answers owed, %d bytes held, done %v",
			w.nops, w.heartbeats, w.session.Pending(), w.session.Buffered(), w.session.Done())
	}
}

// However the bytes are cut, and in whatever order the server answers, each
// side hears what the other said, in its order.
func TestClientAndSessionUnderstandEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWire()
		bytes := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, 2000))
		t.Repeat(map[string]func(*rapid.T){
			"call":     w.call,
			"moveUp":   func(t *rapid.T) { w.moveUp(bytes.Draw(t, "bytes")) },
			"moveDown": func(t *rapid.T) { w.moveDown(bytes.Draw(t, "bytes")) },
			"push":     w.push,
			"answer": func(t *rapid.T) {
				if len(w.due) > 0 {
					w.answer(rapid.IntRange(0, len(w.due)-1).Draw(t, "which"))
				}
			},
			"": func(t *rapid.T) { w.check(t, false) },
		})
		const everything = 1 << 30
		w.moveUp(everything)
		for len(w.due) > 0 {
			w.answer(len(w.due) - 1)
		}
		w.moveDown(everything)
		w.moveUp(everything) // the NOPs to the last heartbeats
		w.check(t, true)
	})
}
