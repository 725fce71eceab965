package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Entry is what became of one fault: one line of the actuation journal
// faults.ndjson.
//
//	key        value
//	ref        number of the fault in the plan, from 1
//	kind       a kind of the catalog
//	target     the process
//	asked      when the world was told to begin it
//	effective  when it took effect
//	ended      when it was healed and the target ready again
//	lateness   ns from the moment it was due to the moment it took effect
//	note       for people; absent when there is nothing to say
//
// The times are nanoseconds since the start of chaos, as in the plan; -1
// (Never) stands for a moment that did not come.
type Entry struct {
	Ref       int    `json:"ref"`
	Kind      Kind   `json:"kind"`
	Target    string `json:"target"`
	Asked     int64  `json:"asked"`
	Effective int64  `json:"effective"`
	Ended     int64  `json:"ended"`
	Lateness  int64  `json:"lateness"`
	Note      string `json:"note,omitempty"`
}

// MaxEntry is the longest journal line in bytes.
const MaxEntry = 4096

// AppendEntry appends e as one line with its newline. A note too long for a
// line is cut.
func AppendEntry(dst []byte, e Entry) []byte {
	const room = MaxEntry / 8 // of each text: JSON spends six bytes on a byte at worst
	e.Target, e.Note = shorten(e.Target, room/2), shorten(e.Note, room/2)
	line, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("faults: encode entry of fault %d: %v", e.Ref, err)) // only integers and strings: cannot fail
	}
	return append(append(dst, line...), '\n')
}

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n]
}

// ParseEntry reads one line, with or without its newline. The error says what
// is wrong; the caller adds file and line number.
func ParseEntry(line []byte) (Entry, error) {
	if len(line) > MaxEntry {
		return Entry{}, fmt.Errorf("journal line of %d bytes; the longest is %d", len(line), MaxEntry)
	}
	e := Entry{Asked: Never, Effective: Never, Ended: Never}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return Entry{}, fmt.Errorf("journal line: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Entry{}, fmt.Errorf("journal line: more than one object")
	}
	if _, ok := Find(e.Kind); !ok || e.Ref < 1 || e.Asked < Never || e.Effective < Never || e.Ended < Never || e.Lateness < 0 {
		return Entry{}, fmt.Errorf("journal line of fault %d (%s): a value is out of its range", e.Ref, e.Kind)
	}
	return e, nil
}
