package nsq

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// The words of transcripts: what clients send, and how tests write down what
// came of it.

// sized is a sized block as clients send it.
func sized(body string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body
}

// size is the size field alone, for blocks that lie or never come.
func size(n int32) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }

// batch is the block of an MPUB.
func batch(bodies ...string) string {
	block := size(int32(len(bodies)))
	for _, body := range bodies {
		block += sized(body)
	}
	return sized(block)
}

// smallLimits are limits that a test can reach.
func smallLimits() Limits {
	limits := DefaultLimits()
	limits.MaxMessageSize = 8
	limits.MaxBodySize = 64
	limits.MaxReady = 10
	limits.MaxDeferMS = 5000
	limits.MaxRequeueMS = 6000
	limits.Version = "pestle-test"
	return limits
}

// transcript runs a session whose caller answers each command at once.
type transcript struct {
	*Session
	fail  Code // with which the next command that is owed a response fails; FIN, REQ and TOUCH too
	hung  bool
	lines []string
}

func newTranscript(limits Limits) *transcript {
	return &transcript{Session: NewSession(limits, "10.0.0.7:51234")}
}

// feed hands the session bytes and acts on what comes out.
func (tr *transcript) feed(p string) {
	tr.Feed([]byte(p))
	for c, ok := tr.Next(); ok; c, ok = tr.Next() {
		tr.lines = append(tr.lines, describe(c))
		tr.answer(c)
		tr.flush()
	}
	tr.flush()
}

func (tr *transcript) answer(c Command) {
	if tr.fail != "" && c.Kind != CmdIdentify && c.Kind != CmdNop && c.Kind != CmdRdy {
		tr.Fail(c.Slot, tr.fail, "because the test says so")
		return
	}
	switch c.Kind {
	case CmdSub:
		tr.Subscribed(c.Slot)
	case CmdPub:
		tr.Reply(c.Slot, OK)
	case CmdCls:
		tr.Reply(c.Slot, CloseWait)
	}
}

// flush writes down the frames that are ready to leave.
func (tr *transcript) flush() {
	tr.lines = append(tr.lines, frames(tr.TakeOutput())...)
	if tr.Done() && !tr.hung {
		tr.lines = append(tr.lines, "hang up")
		tr.hung = true
	}
}

// describe writes a command with its fields.
func describe(c Command) string {
	switch c.Kind {
	case CmdIdentify:
		return fmt.Sprintf("identify %s %s %q heartbeat %d timeout %d buffer %d/%d", c.Identity.ClientID, c.Identity.Hostname,
			c.Identity.UserAgent, c.Identity.HeartbeatMS, c.Identity.MsgTimeoutMS, c.Identity.OutputBufferSize, c.Identity.OutputBufferTimeoutMS)
	case CmdSub:
		return fmt.Sprintf("sub %s %s", c.Topic, c.Channel)
	case CmdPub:
		return fmt.Sprintf("%s %s %q after %d ms", strings.ToLower(c.Verb), c.Topic, c.Bodies, c.DeferMS)
	case CmdRdy:
		return fmt.Sprintf("rdy %d", c.Count)
	case CmdFin:
		return fmt.Sprintf("fin %s", c.ID)
	case CmdReq:
		return fmt.Sprintf("req %s after %d ms", c.ID, c.DelayMS)
	case CmdTouch:
		return fmt.Sprintf("touch %s", c.ID)
	case CmdCls:
		return "cls"
	case CmdNop:
		return "nop"
	}
	return fmt.Sprintf("command of kind %d", c.Kind)
}

// frames reads a server's output without the package's own parser.
func frames(out []byte) []string {
	var lines []string
	for len(out) > 0 {
		size := binary.BigEndian.Uint32(out)
		kind, data := binary.BigEndian.Uint32(out[4:]), out[8:4+size]
		out = out[4+size:]
		switch kind {
		case 0:
			lines = append(lines, "> "+string(data))
		case 1:
			lines = append(lines, "! "+string(data))
		case 2:
			lines = append(lines, fmt.Sprintf("* %s at %d, attempt %d: %s", data[10:26],
				binary.BigEndian.Uint64(data), binary.BigEndian.Uint16(data[8:]), data[26:]))
		default:
			lines = append(lines, fmt.Sprintf("frame of type %d", kind))
		}
	}
	return lines
}
