package sim

import (
	"strconv"
	"strings"
)

// Moment is one event of a story: something that happened to a message, or to
// a process while the message was under way.
type Moment struct {
	Event uint64 // its number in the trace
	T     int64  // virtual, ns
	Who   string // the process it happened in
	What  string // in words
	From  uint64 // number of the event that sent what arrives here; 0: nothing arrives
}

// Story follows one message through a run: client, network, journal and
// delivery, and the faults of the processes meanwhile. Feed it every line of
// Options.Log.
type Story struct {
	id       string
	position string            // once a delivery told it
	writing  map[string]bool   // processes that wrote the message and have not synced since
	sent     map[string]uint64 // by what a send is recognised by when it arrives
	Moments  []Moment
}

// NewStory returns the story of the message id, still empty.
func NewStory(id string) *Story {
	return &Story{id: id, writing: map[string]bool{}, sent: map[string]uint64{}}
}

// Line takes one line of the log and reports whether it belongs to the story.
func (s *Story) Line(line string) bool {
	m, ok := parseMoment(line)
	if !ok || !s.about(m) {
		return false
	}
	s.connect(&m)
	s.Moments = append(s.Moments, m)
	return true
}

// about says whether something is part of the story.
func (s *Story) about(m Moment) bool {
	named := hasWord(m.What, s.id)
	switch {
	case named && strings.HasPrefix(m.What, "event delivery "):
		s.position = strings.Fields(m.What)[2]
	case named && strings.HasPrefix(m.What, "effect write "):
		s.writing[m.Who] = true
	case s.writing[m.Who] && s.onDisk(m):
		return true
	}
	return named || s.position != "" && hasWord(m.What, s.position) || isTurn(m.What)
}

// onDisk says whether what happens is the way of the written message onto the
// disk, which ends with the sync.
func (s *Story) onDisk(m Moment) bool {
	if strings.HasPrefix(m.What, "event synced ") {
		delete(s.writing, m.Who)
		return true
	}
	return strings.HasPrefix(m.What, "effect sync ") || strings.HasPrefix(m.What, "disk sync ")
}

// isTurn says whether something changes what a process can do: its start and
// end, and faults.
func isTurn(what string) bool {
	verb, rest, _ := strings.Cut(what, " ")
	return verb == "start" || verb == "end" || strings.HasPrefix(rest, "effective") || strings.HasPrefix(rest, "ended")
}

// connect finds where an arriving message was sent.
func (s *Story) connect(m *Moment) {
	words := strings.Fields(m.What)
	switch {
	case strings.HasPrefix(m.What, "effect tell "):
		s.sent[strings.TrimPrefix(m.What, "effect tell ")] = m.Event
	case strings.HasPrefix(m.What, "event told "):
		m.From = s.sent[m.Who+" "+strings.TrimPrefix(m.What, "event told ")]
	case strings.HasPrefix(m.What, "effect send on connection ") && len(words) > 4:
		s.sent["connection "+words[4]] = m.Event
	case strings.HasPrefix(m.What, "effect send "):
		s.sent["publish"] = m.Event
	case strings.HasPrefix(m.What, "network connection ") && len(words) > 2:
		key := "connection " + words[2]
		if _, ok := s.sent[key]; !ok {
			key = "publish"
		}
		m.From = s.sent[key]
		delete(s.sent, key)
	}
}

// parseMoment reads "number seconds.nanoseconds who what…".
func parseMoment(line string) (Moment, bool) {
	parts := strings.SplitN(line, " ", 4)
	if len(parts) < 4 {
		return Moment{}, false
	}
	event, err := strconv.ParseUint(parts[0], 10, 64)
	if err != nil {
		return Moment{}, false
	}
	whole, fraction, _ := strings.Cut(parts[1], ".")
	seconds, err1 := strconv.ParseInt(whole, 10, 64)
	nanos, err2 := strconv.ParseInt(fraction, 10, 64)
	if err1 != nil || err2 != nil {
		return Moment{}, false
	}
	return Moment{Event: event, T: seconds*second + nanos, Who: parts[2], What: parts[3]}, true
}

// hasWord says whether text has word as a whole word: producer-1-4 is no part
// of producer-1-42.
func hasWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		end := at + i + len(word)
		if (at+i == 0 || !isWordByte(text[at+i-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		at += i + 1
	}
}

func isWordByte(c byte) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
