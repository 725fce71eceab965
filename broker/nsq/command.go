package nsq

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// CommandKind says which fields of a Command are set.
type CommandKind uint8

// The commands a session hands out. Slot is set where it is named: the caller
// owes one response there.
const (
	CmdIdentify CommandKind = iota + 1 // Identity; the session has answered
	CmdSub                             // Slot, Topic, Channel; answer with Subscribed or Fail
	CmdPub                             // Slot, Verb, Topic, Bodies, DeferMS; Bodies are stored all or none
	CmdRdy                             // Count
	CmdFin                             // ID
	CmdReq                             // ID, DelayMS
	CmdTouch                           // ID
	CmdCls                             // Slot; answer with CloseWait once no message can follow
	CmdNop                             // nothing but a sign of life, as every command is one
)

// Command is one valid command of a client. What it points to is its own.
type Command struct {
	Kind    CommandKind
	Slot    Slot
	Verb    string // PUB, MPUB or DPUB: they fail with different codes
	Topic   string
	Channel string
	Bodies  [][]byte
	DeferMS int64 // DPUB: 0..MaxDeferMS
	ID      MessageID
	Count   int64 // RDY: 0..MaxReady
	DelayMS int64 // REQ: clamped to 0..MaxRequeueMS

	Identity *Identity
}

// PublishFailed returns the code for a failed CmdPub of this verb.
func PublishFailed(verb string) Code {
	switch verb {
	case "MPUB":
		return CodeMpubFailed
	case "DPUB":
		return CodeDpubFailed
	}
	return CodePubFailed
}

// refusal is a fatal error: its frame, or none without a code.
type refusal struct {
	code Code
	text string
}

func refuse(code Code, format string, args ...any) *refusal {
	return &refusal{code: code, text: fmt.Sprintf(format, args...)}
}

const (
	maxLine  = 16 << 10 // a command line with its LF, as in NSQ: the size of its read buffer
	maxWords = 4        // one more than the longest command has; the rest of the line is ignored
	maxEcho  = 64       // how much of an unknown command an error repeats
)

// parse reads the command at the start of in. It returns the bytes consumed,
// 0 when the command is not complete.
func (s *Session) parse(in []byte) (Command, int, *refusal) {
	end := bytes.IndexByte(in[:min(len(in), maxLine)], '\n')
	if end < 0 {
		if len(in) >= maxLine {
			return Command{}, 0, &refusal{}
		}
		return Command{}, 0, nil
	}
	words := bytes.SplitN(bytes.TrimSuffix(in[:end], []byte("\r")), []byte(" "), maxWords)
	line, rest := end+1, in[end+1:]
	var c Command
	var block int
	var refused *refusal
	switch verb := string(words[0]); verb {
	case "PUB", "DPUB":
		c, block, refused = s.parsePub(verb, words[1:], rest)
	case "MPUB":
		c, block, refused = s.parseMpub(words[1:], rest)
	case "IDENTIFY":
		c, block, refused = s.parseIdentify(rest)
	case "AUTH":
		block, refused = s.parseAuth(words[1:], rest)
	default:
		c, refused = s.parseLine(verb, words[1:])
		if refused != nil {
			return Command{}, 0, refused
		}
		return c, line, nil
	}
	if refused != nil || block == 0 {
		return Command{}, 0, refused
	}
	return c, line + block, nil
}

// parseLine reads a command that has no block.
func (s *Session) parseLine(verb string, params [][]byte) (Command, *refusal) {
	switch verb {
	case "FIN":
		return s.parseFin(params)
	case "RDY":
		return s.parseRdy(params)
	case "REQ":
		return s.parseReq(params)
	case "TOUCH":
		return s.parseTouch(params)
	case "NOP":
		return Command{Kind: CmdNop}, nil
	case "SUB":
		return s.parseSub(params)
	case "CLS":
		if s.state != StateSubscribed {
			return Command{}, wrongState(verb)
		}
		return Command{Kind: CmdCls}, nil
	}
	return Command{}, refuse(CodeInvalid, "invalid command %s", verb[:min(len(verb), maxEcho)])
}

func wrongState(verb string) *refusal {
	return refuse(CodeInvalid, "%s is not possible in this state", verb)
}

func tooFewParams(verb string) *refusal {
	return refuse(CodeInvalid, "%s lacks a parameter", verb)
}

func (s *Session) parseSub(params [][]byte) (Command, *refusal) {
	if s.state != StateInit {
		return Command{}, wrongState("SUB")
	}
	if s.identity.HeartbeatMS <= 0 {
		return Command{}, refuse(CodeInvalid, "SUB needs heartbeats, which IDENTIFY turned off")
	}
	if len(params) < 2 {
		return Command{}, tooFewParams("SUB")
	}
	topic, channel := string(params[0]), string(params[1])
	if !ValidName(topic) {
		return Command{}, refuse(CodeBadTopic, "SUB topic name %q is not valid", topic)
	}
	if !ValidName(channel) {
		return Command{}, refuse(CodeBadChannel, "SUB channel name %q is not valid", channel)
	}
	return Command{Kind: CmdSub, Topic: topic, Channel: channel}, nil
}

func (s *Session) parseRdy(params [][]byte) (Command, *refusal) {
	if s.state == StateClosing {
		// A client may send it before it learns that its CLS has arrived.
		return Command{Kind: CmdNop}, nil
	}
	if s.state != StateSubscribed {
		return Command{}, wrongState("RDY")
	}
	count, ok := int64(1), true
	if len(params) > 0 {
		count, ok = number(params[0])
	}
	if !ok {
		return Command{}, refuse(CodeInvalid, "RDY count %q is not a number", params[0])
	}
	if count > s.limits.MaxReady {
		return Command{}, refuse(CodeInvalid, "RDY count %d is not in 0..%d", count, s.limits.MaxReady)
	}
	return Command{Kind: CmdRdy, Count: count}, nil
}

func (s *Session) parseFin(params [][]byte) (Command, *refusal) {
	id, refused := s.message("FIN", params)
	return Command{Kind: CmdFin, ID: id}, refused
}

func (s *Session) parseTouch(params [][]byte) (Command, *refusal) {
	id, refused := s.message("TOUCH", params)
	return Command{Kind: CmdTouch, ID: id}, refused
}

func (s *Session) parseReq(params [][]byte) (Command, *refusal) {
	id, refused := s.message("REQ", params)
	if refused != nil {
		return Command{}, refused
	}
	if len(params) < 2 {
		return Command{}, tooFewParams("REQ")
	}
	delay, ok := number(params[1])
	if !ok {
		return Command{}, refuse(CodeInvalid, "REQ delay %q is not a number", params[1])
	}
	return Command{Kind: CmdReq, ID: id, DelayMS: min(delay, s.limits.MaxRequeueMS)}, nil
}

// message reads the id that FIN, REQ and TOUCH begin with.
func (s *Session) message(verb string, params [][]byte) (MessageID, *refusal) {
	if s.state == StateInit {
		return MessageID{}, wrongState(verb)
	}
	if len(params) < 1 {
		return MessageID{}, tooFewParams(verb)
	}
	if len(params[0]) != idSize {
		return MessageID{}, refuse(CodeInvalid, "%s message id %q has not %d bytes", verb, params[0], idSize)
	}
	return MessageID(params[0]), nil
}

// parsePub reads a PUB or DPUB and returns the size of its block.
func (s *Session) parsePub(verb string, params [][]byte, rest []byte) (Command, int, *refusal) {
	c := Command{Kind: CmdPub, Verb: verb}
	if len(params) < 1 || verb == "DPUB" && len(params) < 2 {
		return c, 0, tooFewParams(verb)
	}
	c.Topic = string(params[0])
	if !ValidName(c.Topic) {
		return c, 0, refuse(CodeBadTopic, "%s topic name %q is not valid", verb, c.Topic)
	}
	if verb == "DPUB" {
		var ok bool
		if c.DeferMS, ok = number(params[1]); !ok {
			return c, 0, refuse(CodeInvalid, "DPUB delay %q is not a number", params[1])
		}
		if c.DeferMS > s.limits.MaxDeferMS {
			return c, 0, refuse(CodeInvalid, "DPUB delay %d is not in 0..%d", c.DeferMS, s.limits.MaxDeferMS)
		}
	}
	body, n, refused := block(verb+" message", rest, CodeBadMessage, s.limits.MaxMessageSize)
	if n > 0 {
		c.Bodies = [][]byte{bytes.Clone(body)}
	}
	return c, n, refused
}

// parseMpub reads an MPUB and returns the size of its block.
func (s *Session) parseMpub(params [][]byte, rest []byte) (Command, int, *refusal) {
	c := Command{Kind: CmdPub, Verb: "MPUB"}
	if len(params) < 1 {
		return c, 0, tooFewParams("MPUB")
	}
	c.Topic = string(params[0])
	if !ValidName(c.Topic) {
		// NSQ says the code twice here, and clients were written against NSQ.
		return c, 0, refuse(CodeBadTopic, "%s MPUB topic name %q is not valid", CodeBadTopic, c.Topic)
	}
	batch, n, refused := block("MPUB body", rest, CodeBadBody, s.limits.MaxBodySize)
	if n == 0 {
		return c, 0, refused
	}
	c.Bodies, refused = s.unpack(batch)
	return c, n, refused
}

// unpack splits the block of an MPUB. Unlike NSQ's, the sizes within must add
// up to the size of the block: whatever else was meant, the commands behind
// it would be read out of step.
func (s *Session) unpack(batch []byte) ([][]byte, *refusal) {
	if len(batch) < 4 {
		return nil, refuse(CodeBadBody, "MPUB body of %d bytes has no message count", len(batch))
	}
	count, rest := int64(int32(binary.BigEndian.Uint32(batch))), batch[4:]
	if most := int64(len(rest)) / 5; count <= 0 || count > most {
		return nil, refuse(CodeBadBody, "MPUB message count %d is not in 1..%d, which is what the body has room for", count, most)
	}
	bodies := make([][]byte, 0, count)
	for i := int64(0); i < count; i++ {
		if len(rest) < 4 {
			return nil, refuse(CodeBadBody, "MPUB body ends before message %d of %d", i+1, count)
		}
		size := int64(int32(binary.BigEndian.Uint32(rest)))
		rest = rest[4:]
		if size <= 0 || size > s.limits.MaxMessageSize {
			return nil, badSize(CodeBadMessage, fmt.Sprintf("MPUB message %d", i+1), size, s.limits.MaxMessageSize)
		}
		if size > int64(len(rest)) {
			return nil, refuse(CodeBadBody, "MPUB body ends within message %d of %d", i+1, count)
		}
		bodies = append(bodies, bytes.Clone(rest[:size]))
		rest = rest[size:]
	}
	if len(rest) > 0 {
		return nil, refuse(CodeBadBody, "MPUB body has %d bytes behind its last message", len(rest))
	}
	return bodies, nil
}

// parseAuth refuses AUTH in the order in which NSQ looks at it: this server
// never asks for it.
func (s *Session) parseAuth(params [][]byte, rest []byte) (int, *refusal) {
	if s.state != StateInit {
		return 0, wrongState("AUTH")
	}
	if len(params) > 0 {
		return 0, refuse(CodeInvalid, "AUTH takes no parameter")
	}
	_, n, refused := block("AUTH body", rest, CodeBadBody, s.limits.MaxBodySize)
	if n > 0 {
		return 0, refuse(CodeAuthDisabled, "AUTH is not asked for by this server")
	}
	return 0, refused
}

// block returns the sized block at the start of in and the bytes it takes
// with its size, 0 when it is not complete. A size that is not in 1..most is
// refused before the block arrives.
func block(what string, in []byte, code Code, most int64) ([]byte, int, *refusal) {
	if len(in) < 4 {
		return nil, 0, nil
	}
	size := int64(int32(binary.BigEndian.Uint32(in)))
	if size <= 0 || size > most {
		return nil, 0, badSize(code, what, size, most)
	}
	if int64(len(in)-4) < size {
		return nil, 0, nil
	}
	return in[4 : 4+size], int(4 + size), nil
}

func badSize(code Code, what string, size, most int64) *refusal {
	return refuse(code, "%s size %d is not in 1..%d", what, size, most)
}

// number reads unsigned decimal digits, the only numbers of the protocol.
// What is too large for an int64 is the largest one: it is out of any range.
func number(word []byte) (int64, bool) {
	if len(word) == 0 {
		return 0, false
	}
	n := int64(0)
	for _, digit := range word {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		if n > (math.MaxInt64-9)/10 {
			n = math.MaxInt64
			continue
		}
		n = n*10 + int64(digit-'0')
	}
	return n, true
}
