package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// MaxLine is the longest line in bytes, its newline included. Readers refuse a
// longer one before they hold it in memory.
const MaxLine = 16 << 10

// maxText is how much of Event.Text a line keeps: it is for people, and the
// only field whose length other programs decide.
const maxText = 1 << 10

// AppendLine appends e's line, with its newline, to dst. The keys stand in the
// order of Event's fields and those with a zero value are left out, except
// seq, t, src and ev, which are always there. Bytes that are not UTF-8 become
// U+FFFD, and Text is cut after 1 KiB.
func AppendLine(dst []byte, e Event) []byte {
	dst = strconv.AppendUint(append(dst, `{"seq":`...), e.Seq, 10)
	dst = strconv.AppendInt(append(dst, `,"t":`...), e.T, 10)
	dst = appendString(append(dst, `,"src":`...), e.Src)
	dst = appendString(append(dst, `,"ev":`...), string(e.Ev))
	dst = appendText(dst, `,"id":`, e.ID)
	dst = appendNumber(dst, `,"try":`, e.Try)
	dst = appendText(dst, `,"topic":`, e.Topic)
	dst = appendText(dst, `,"channel":`, e.Channel)
	dst = appendText(dst, `,"consumer":`, e.Consumer)
	dst = appendText(dst, `,"pos":`, e.Pos)
	dst = appendNumber(dst, `,"attempts":`, e.Attempts)
	dst = appendNumber(dst, `,"size":`, e.Size)
	dst = appendText(dst, `,"sum":`, e.Sum)
	dst = appendNumber(dst, `,"defer":`, e.Defer)
	dst = appendNumber(dst, `,"held":`, e.Held)
	dst = appendText(dst, `,"what":`, e.What)
	dst = appendText(dst, `,"target":`, e.Target)
	dst = appendText(dst, `,"edge":`, e.Edge)
	dst = appendNumber(dst, `,"ref":`, e.Ref)
	dst = appendText(dst, `,"text":`, cut(e.Text))
	return append(dst, "}\n"...)
}

func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

func appendText(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return appendString(append(dst, key...), s)
}

func appendNumber[N int | int64](dst []byte, key string, n N) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, key...), int64(n), 10)
}

func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s { // an invalid byte ranges as U+FFFD
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// ParseLine reads one line, with or without its newline. It takes keys in any
// order and JSON's white space, but nothing else that AppendLine would not
// write: an unknown or repeated key, a value of another type, an unknown ev,
// a negative number and a missing seq, t, src or ev are errors that name the
// key.
func ParseLine(line []byte) (Event, error) {
	if len(line) > MaxLine {
		return Event{}, fmt.Errorf("line of %d bytes: at most %d are allowed", len(line), MaxLine)
	}
	p := parser{rest: line}
	if err := p.object(); err != nil {
		return Event{}, err
	}
	return p.event, p.complete()
}

// parser reads one flat object of strings and integers. encoding/json would
// take keys in any case and twice, and costs more than the judgement itself.
type parser struct {
	rest  []byte
	event Event
	seen  uint32 // bits of the keys that were there
}

// keys are the line's keys in the order of Event's fields.
const keys = "seq t src ev id try topic channel consumer pos attempts size sum defer held what target edge ref text"

// Bits of the keys that every line has, and of the one optional key that is
// neither a text nor a count.
const (
	bitSeq = 1 << iota
	bitT
	bitSrc
	bitEv
	bitDefer
	bitFirstOptional
)

func (p *parser) object() error {
	if !p.take('{') {
		return fmt.Errorf("not a JSON object: %s", excerpt(p.rest))
	}
	for first := true; !p.take('}'); first = false {
		if !first && !p.take(',') {
			return fmt.Errorf("want , or } before %s", excerpt(p.rest))
		}
		key, err := p.text()
		if err != nil {
			return fmt.Errorf("key: %w", err)
		}
		if !p.take(':') {
			return fmt.Errorf("key %q: want : before %s", key, excerpt(p.rest))
		}
		if err := p.value(key); err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
	}
	if p.space(); len(p.rest) > 0 {
		return fmt.Errorf("something follows the object: %s", excerpt(p.rest))
	}
	return nil
}

func (p *parser) complete() error {
	switch e := &p.event; {
	case p.seen&bitSeq == 0:
		return fmt.Errorf(`key "seq" is missing`)
	case p.seen&bitT == 0:
		return fmt.Errorf(`key "t" is missing`)
	case p.seen&bitSrc == 0:
		return fmt.Errorf(`key "src" is missing`)
	case p.seen&bitEv == 0:
		return fmt.Errorf(`key "ev" is missing`)
	case e.Seq == 0:
		return fmt.Errorf(`key "seq": 0, but lines are counted from 1`)
	case e.Src == "":
		return fmt.Errorf(`key "src": empty, but every line has a writer`)
	}
	switch p.event.Ev {
	case Attempt, Ack, Fail, Unknown, Consume, Finish, Requeue, Phase, Fault, Note:
		return nil
	}
	return fmt.Errorf(`key "ev": unknown event %q`, p.event.Ev)
}

func (p *parser) value(key string) (err error) {
	bit, text, count := p.field(key)
	switch {
	case bit == 0:
		return fmt.Errorf("unknown; a line has %s", keys)
	case p.seen&bit != 0:
		return fmt.Errorf("given twice")
	}
	p.seen |= bit
	var n uint64
	switch {
	case text != nil:
		*text, err = p.text()
	case count != nil:
		n, err = p.number(math.MaxInt32)
		*count = int(n)
	case bit == bitSeq:
		p.event.Seq, err = p.number(math.MaxUint64)
	case bit == bitDefer:
		n, err = p.number(math.MaxInt64)
		p.event.Defer = int64(n)
	default:
		n, err = p.number(math.MaxInt64)
		p.event.T = int64(n)
	}
	return err
}

// field returns the key's bit and where its value goes, if that is a string
// or a count. Bit 0 means that there is no such key.
func (p *parser) field(key string) (bit uint32, text *string, count *int) {
	e := &p.event
	switch key {
	case "seq":
		return bitSeq, nil, nil
	case "t":
		return bitT, nil, nil
	case "src":
		return bitSrc, &e.Src, nil
	case "ev":
		return bitEv, (*string)(&e.Ev), nil
	case "id":
		return bitFirstOptional, &e.ID, nil
	case "try":
		return bitFirstOptional << 1, nil, &e.Try
	case "topic":
		return bitFirstOptional << 2, &e.Topic, nil
	case "channel":
		return bitFirstOptional << 3, &e.Channel, nil
	case "consumer":
		return bitFirstOptional << 4, &e.Consumer, nil
	case "pos":
		return bitFirstOptional << 5, &e.Pos, nil
	case "attempts":
		return bitFirstOptional << 6, nil, &e.Attempts
	case "size":
		return bitFirstOptional << 7, nil, &e.Size
	case "sum":
		return bitFirstOptional << 8, &e.Sum, nil
	case "defer":
		return bitDefer, nil, nil
	case "held":
		return bitFirstOptional << 14, nil, &e.Held
	case "what":
		return bitFirstOptional << 9, &e.What, nil
	case "target":
		return bitFirstOptional << 10, &e.Target, nil
	case "edge":
		return bitFirstOptional << 11, &e.Edge, nil
	case "ref":
		return bitFirstOptional << 12, nil, &e.Ref
	case "text":
		return bitFirstOptional << 13, &e.Text, nil
	}
	return 0, nil, nil
}

func (p *parser) number(most uint64) (uint64, error) {
	p.space()
	end := 0
	for end < len(p.rest) && p.rest[end] >= '0' && p.rest[end] <= '9' {
		end++
	}
	if end == 0 || end > 1 && p.rest[0] == '0' {
		return 0, fmt.Errorf("want a whole number ≥ 0, not %s", excerpt(p.rest))
	}
	n, err := strconv.ParseUint(string(p.rest[:end]), 10, 64)
	if err != nil || n > most {
		return 0, fmt.Errorf("%s is more than %d", p.rest[:end], most)
	}
	if end < len(p.rest) && bytes.IndexByte([]byte(" \t\r\n,}"), p.rest[end]) < 0 {
		return 0, fmt.Errorf("want a whole number ≥ 0, not %s", excerpt(p.rest))
	}
	p.rest = p.rest[end:]
	return n, nil
}

func (p *parser) text() (string, error) {
	p.space()
	if len(p.rest) == 0 || p.rest[0] != '"' {
		return "", fmt.Errorf("want a string, not %s", excerpt(p.rest))
	}
	plain := true
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			token := p.rest[:i+1]
			p.rest = p.rest[i+1:]
			if plain {
				return string(token[1:i]), nil
			}
			if !utf8.Valid(token) {
				return "", fmt.Errorf("string %s is not UTF-8", excerpt(token))
			}
			var s string
			if err := json.Unmarshal(token, &s); err != nil {
				return "", fmt.Errorf("string %s: %w", excerpt(token), err)
			}
			return s, nil
		case c == '\\':
			plain = false
			i++ // the escaped character is no end of the string
		case c < 0x20 || c >= utf8.RuneSelf:
			plain = false
		}
	}
	return "", fmt.Errorf("the string %s has no end", excerpt(p.rest))
}

func (p *parser) take(c byte) bool {
	p.space()
	if len(p.rest) == 0 || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *parser) space() {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n")
}

// excerpt shows where a line went wrong without repeating all of it.
func excerpt(b []byte) string {
	if len(b) == 0 {
		return "the end of the line"
	}
	if len(b) > 24 {
		return strconv.Quote(string(b[:24])) + "…"
	}
	return strconv.Quote(string(b))
}
