package workload

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// MaxStateLine is the longest state line in bytes, its newline included.
const MaxStateLine = 256

const (
	stateSeparator = ", "
	wordAttempt    = "attempt"
	wordAck        = "ack"
)

// ProducerLine is one line of a producer's state file: an attempt or an ack.
type ProducerLine struct {
	ID  ID
	Ack bool
}

// AppendTo appends the line with its newline.
func (l ProducerLine) AppendTo(dst []byte) []byte {
	word := wordAttempt
	if l.Ack {
		word = wordAck
	}
	return appendStateLine(dst, l.ID, word)
}

// ConsumerLine is one line of a consumer's state file: it was handed ID at
// Position, which is 1–128 characters of [0-9A-Za-z/._:-].
type ConsumerLine struct {
	ID       ID
	Position string
}

// AppendTo appends the line with its newline.
func (l ConsumerLine) AppendTo(dst []byte) []byte { return appendStateLine(dst, l.ID, l.Position) }

func appendStateLine(dst []byte, id ID, rest string) []byte {
	dst = append(dst, id.String()...)
	dst = append(dst, stateSeparator...)
	dst = append(dst, rest...)
	return append(dst, '\n')
}

// ParseProducerLines reads a producer's state file. A torn last line is left
// out; other damage is an error that names the line.
func ParseProducerLines(file []byte) ([]ProducerLine, error) {
	var lines []ProducerLine
	err := eachStateLine(file, func(id ID, rest string) error {
		if rest != wordAttempt && rest != wordAck {
			return fmt.Errorf("want %s or %s after %s%s, not %.40q", wordAttempt, wordAck, id, stateSeparator, rest)
		}
		lines = append(lines, ProducerLine{ID: id, Ack: rest == wordAck})
		return nil
	})
	return lines, err
}

// ParseConsumerLines reads a consumer's state file, like ParseProducerLines.
func ParseConsumerLines(file []byte) ([]ConsumerLine, error) {
	var lines []ConsumerLine
	err := eachStateLine(file, func(id ID, rest string) error {
		if !validPosition(rest) {
			return fmt.Errorf("want a position after %s%s, not %.40q", id, stateSeparator, rest)
		}
		lines = append(lines, ConsumerLine{ID: id, Position: rest})
		return nil
	})
	return lines, err
}

// WholeLines returns how many bytes of a state file whole lines take up; what
// follows is a torn line.
func WholeLines(file []byte) int { return bytes.LastIndexByte(file, '\n') + 1 }

func eachStateLine(file []byte, take func(id ID, rest string) error) error {
	rest := file[:WholeLines(file)]
	for number := 1; len(rest) > 0; number++ {
		end := bytes.IndexByte(rest, '\n')
		if end >= MaxStateLine {
			return fmt.Errorf("line %d: %d bytes, at most %d are allowed", number, end+1, MaxStateLine)
		}
		text, second, found := strings.Cut(string(rest[:end]), stateSeparator)
		if !found {
			return fmt.Errorf("line %d: want <id>%s…, not %.80q", number, stateSeparator, text)
		}
		id, err := ParseID(text)
		if err == nil {
			err = take(id, second)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		rest = rest[end+1:]
	}
	return nil
}

func validPosition(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && strings.IndexByte("/._:-", c) < 0 {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 128
}

// ProducerState is what a producer's state file says in sum.
type ProducerState struct {
	Highest uint64 // the highest counter attempted; 0: none
	Acked   Ranges // counters acked
	Open    []ID   // attempted and not acked, in order
}

// ReplayProducer sums up the state lines of producer n, which sends the counters
// of only, or all of them when that is nil. Lines that such a
// producer cannot have written are an error that names the line.
func ReplayProducer(n int, only Ranges, lines []ProducerLine) (ProducerState, error) {
	var s ProducerState
	for i, l := range lines {
		if err := s.add(n, only, l); err != nil {
			return ProducerState{}, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return s, nil
}

func (s *ProducerState) add(n int, only Ranges, l ProducerLine) error {
	c := l.ID.Counter
	next, some := only.following(s.Highest)
	if !some {
		next = s.Highest + 1 // a sentinel
	}
	at, open := slices.BinarySearchFunc(s.Open, l.ID, ID.Compare)
	switch {
	case l.ID.Producer != n:
		return fmt.Errorf("%s is not of producer-%d, whose file this is", l.ID, n)
	case c > s.Highest && c <= next && !l.Ack:
		s.Highest = c
		s.Open = append(s.Open, l.ID)
	case open && l.Ack:
		s.Open = slices.Delete(s.Open, at, at+1)
		s.Acked.Add(c)
	case open: // a further try
	case c > s.Highest && l.Ack:
		return fmt.Errorf("ack of %s, which was never attempted", l.ID)
	case c > s.Highest:
		return fmt.Errorf("attempt of %s, but the counter before it was %d", l.ID, s.Highest)
	case l.Ack:
		return fmt.Errorf("second ack of %s", l.ID)
	default:
		return fmt.Errorf("attempt of %s, which was acked before", l.ID)
	}
	return nil
}

// Range is the counters From to To, both included.
type Range struct{ From, To uint64 }

// Ranges is a set of counters as ascending ranges that do not touch.
type Ranges []Range

// Add puts c into the set.
func (r *Ranges) Add(c uint64) {
	i, found := r.find(c)
	if found {
		return
	}
	joinsLeft := i > 0 && (*r)[i-1].To == c-1
	joinsRight := i < len(*r) && (*r)[i].From == c+1
	switch {
	case joinsLeft && joinsRight:
		(*r)[i-1].To = (*r)[i].To
		*r = slices.Delete(*r, i, i+1)
	case joinsLeft:
		(*r)[i-1].To = c
	case joinsRight:
		(*r)[i].From = c
	default:
		*r = slices.Insert(*r, i, Range{From: c, To: c})
	}
}

// Has reports whether c is in the set.
func (r Ranges) Has(c uint64) bool {
	_, found := r.find(c)
	return found
}

// find returns where c is, or the index of the first range above it.
func (r Ranges) find(c uint64) (int, bool) {
	return slices.BinarySearchFunc(r, c, func(x Range, c uint64) int {
		switch {
		case x.To < c:
			return -1
		case x.From > c:
			return 1
		}
		return 0
	})
}
