package nsq

import "fmt"

// State is where a connection stands; the numbers are those of NSQ's
// statistics.
type State int

// States of a connection.
const (
	StateInit       State = 0 // not subscribed; publishing works
	StateSubscribed State = 3
	StateClosing    State = 4 // after CLS: no more messages, FIN, REQ and TOUCH still work
)

// Slot is the place of one owed response among the others of its connection,
// counted from 1. Zero is no slot.
type Slot uint64

// readAhead is what may wait unparsed besides the largest block: a command
// line and a few reads.
const readAhead = 64 << 10

// Session is the server's side of one connection.
//
// The caller feeds bytes, acts on the commands of Next until it says false,
// answers their slots in any order and at any time, and sends TakeOutput.
// Responses leave in the order of their commands, however late an earlier one
// is answered; messages and heartbeats leave at once.
//
// Syntax, states and limits are the session's: what Next returns is valid. An
// error it finds takes a slot like any response, so that it cannot overtake
// the OK of an earlier command. After a fatal error nothing more is parsed,
// and what is owed behind it is dropped: commands that were already handed
// out may still be carried out, and their sender cannot tell.
type Session struct {
	limits   Limits
	identity *Identity

	in      inbox
	greeted bool // Magic was read
	state   State
	sub     Slot // the SUB whose response has not left yet; 0: none
	stopped bool // nothing more is parsed

	owed  []answer // responses not yet sent, by slot
	first Slot     // slot of owed[0]
	ended bool     // the last frame is in out
	out   []byte
}

// answer is one owed response.
type answer struct {
	given bool
	frame []byte // none: hang up without a word
	last  bool   // the connection ends with it
}

// NewSession returns the session of a connection that was just accepted.
// remote is the client's address; its host names the client until IDENTIFY
// does.
func NewSession(limits Limits, remote string) *Session {
	return &Session{limits: limits, identity: anonymous(limits, remote), first: 1}
}

// Feed adds bytes that arrived. It copies p and parses nothing.
func (s *Session) Feed(p []byte) {
	if !s.stopped {
		s.in.add(p)
	}
}

// Buffered returns the bytes that are no whole command yet, or wait behind a
// SUB.
func (s *Session) Buffered() int { return s.in.len() }

// Full reports that the caller should stop reading until Next has consumed
// something: with commands waiting behind a SUB, input is bounded only by it.
// It is never true for a command that is merely incomplete.
func (s *Session) Full() bool {
	return int64(s.in.len()) > max(s.limits.MaxBodySize, s.limits.MaxMessageSize)+readAhead
}

// Next returns the next command to act on. False means that none is complete,
// that a SUB waits for its answer, or that the connection is ending. Ask again
// after Feed and after Subscribed.
func (s *Session) Next() (Command, bool) {
	for !s.stopped && !s.blocked() {
		if !s.greeted {
			if !s.greet() {
				return Command{}, false
			}
			continue
		}
		c, n, refused := s.parse(s.in.bytes())
		if refused != nil {
			s.refuse(*refused)
			break
		}
		if n == 0 {
			return Command{}, false
		}
		s.enact(&c)
		s.in.take(n)
		return c, true
	}
	return Command{}, false
}

// blocked reports that a SUB waits for its answer.
func (s *Session) blocked() bool {
	return s.sub != 0 && !s.owed[s.sub-s.first].given
}

// greet consumes the magic. It is false when bytes are missing.
func (s *Session) greet() bool {
	in := s.in.bytes()
	if len(in) < len(Magic) {
		return false
	}
	if string(in[:len(Magic)]) != Magic {
		s.refuse(refusal{code: CodeBadProtocol})
		return true
	}
	s.in.take(len(Magic))
	s.greeted = true
	return true
}

// enact does the session's own part of a valid command and gives it a slot
// when the caller owes it a response.
func (s *Session) enact(c *Command) {
	switch c.Kind {
	case CmdIdentify:
		s.identity = c.Identity
		s.Reply(s.owe(), c.Identity.response(s.limits))
	case CmdSub:
		c.Slot = s.owe()
		s.sub = c.Slot
	case CmdPub:
		c.Slot = s.owe()
	case CmdCls:
		c.Slot = s.owe()
		s.state = StateClosing
	}
}

// owe takes the next slot.
func (s *Session) owe() Slot {
	s.owed = append(s.owed, answer{})
	return s.first + Slot(len(s.owed)) - 1
}

// refuse answers the command being parsed, and the connection, with an error.
func (s *Session) refuse(r refusal) {
	s.stop()
	if r.code == "" {
		s.settle(s.owe(), answer{last: true})
		return
	}
	s.Fail(s.owe(), r.code, r.text)
}

// stop ends parsing and forgets what was not parsed.
func (s *Session) stop() {
	s.stopped = true
	s.in = inbox{}
}

// Reply answers slot with a response frame, such as OK or CloseWait.
func (s *Session) Reply(slot Slot, body string) {
	s.settle(slot, answer{frame: AppendFrame(nil, FrameResponse, []byte(body))})
}

// Subscribed answers the SUB of slot with OK: messages may follow, and parsing
// goes on.
func (s *Session) Subscribed(slot Slot) {
	if slot != s.sub {
		panic(fmt.Sprintf("nsq: slot %d is not the SUB that waits, which is %d", slot, s.sub))
	}
	s.state = StateSubscribed
	s.Reply(slot, OK)
}

// Fail answers slot with an error frame: code, then text for people. A fatal
// code ends parsing now and the connection with the frame.
//
// Slot 0 sends the frame at once, for a failed FIN, REQ or TOUCH. Fatal errors
// need a slot: clients take them for the answer to the oldest command that
// waits for one, and would believe it refused.
func (s *Session) Fail(slot Slot, code Code, text string) {
	body := string(code)
	if text != "" {
		body += " " + text
	}
	a := answer{frame: AppendFrame(nil, FrameError, []byte(body)), last: code.Fatal()}
	if a.last {
		s.stop()
	}
	if slot == 0 && !a.last {
		s.send(a)
		return
	}
	s.settle(slot, a)
}

// settle notes the answer of slot and sends every answer whose turn has come.
func (s *Session) settle(slot Slot, a answer) {
	if s.ended {
		return
	}
	if slot < s.first || slot-s.first >= Slot(len(s.owed)) || s.owed[slot-s.first].given {
		panic(fmt.Sprintf("nsq: slot %d is owed no response", slot))
	}
	a.given = true
	s.owed[slot-s.first] = a
	for len(s.owed) > 0 && s.owed[0].given {
		next := s.owed[0]
		if s.first == s.sub {
			s.sub = 0
		}
		s.owed[0] = answer{} // lets go of the frame
		s.owed = s.owed[1:]
		s.first++
		s.send(next)
	}
}

// send puts an answer into the output.
func (s *Session) send(a answer) {
	if s.ended {
		return
	}
	s.out = append(s.out, a.frame...)
	if a.last {
		s.ended = true
		s.owed = nil
	}
}

// Message sends a message: at once, but not before the OK to the SUB, which
// may itself wait for the OK to an earlier command.
func (s *Session) Message(timestamp int64, attempts uint16, id MessageID, body []byte) {
	if s.ended {
		return
	}
	if s.state == StateInit {
		panic(fmt.Sprintf("nsq: message %s before Subscribed", id))
	}
	out := &s.out
	if s.sub != 0 {
		out = &s.owed[s.sub-s.first].frame
	}
	*out = AppendMessage(*out, timestamp, attempts, id, body)
}

// Heartbeat asks the client for a sign of life.
func (s *Session) Heartbeat() {
	if !s.ended {
		s.out = AppendFrame(s.out, FrameResponse, []byte(heartbeat))
	}
}

// TakeOutput returns the bytes to send now, nil when there are none. They are
// the caller's.
func (s *Session) TakeOutput() []byte {
	out := s.out
	s.out = nil
	return out
}

// Pending returns how many responses are owed, slots that are answered and
// wait for an earlier one included.
func (s *Session) Pending() int { return len(s.owed) }

// Done reports that the connection ended with an error and everything owed
// before it is in the output: hang up after sending TakeOutput.
func (s *Session) Done() bool { return s.ended }

// State returns where the connection stands.
func (s *Session) State() State { return s.state }

// Identity returns who the client is and what was agreed with it: defaults
// before IDENTIFY. The caller must not change it.
func (s *Session) Identity() *Identity { return s.identity }
