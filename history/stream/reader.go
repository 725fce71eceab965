package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pestle/history"
)

// chunk is how much of a file is read at once. It holds many whole lines.
const chunk = 16 * history.MaxLine

// Tail reads a file that is still being written, whole line by whole line. It
// remembers where the last whole line ended and reads again from there, so a
// torn line that its writer later cuts off leaves no trace.
type Tail struct {
	path   string
	file   *os.File // nil until the file exists
	offset int64    // end of the last whole line
	line   int      // its number
	order  history.Sequence
	buf    []byte
}

// NewTail returns a Tail of the file at path, which need not exist yet.
func NewTail(path string) *Tail { return &Tail{path: path} }

// Read returns the events of whole lines that were added since the last Read:
// none when there are none, and not all when there are many, so call it until
// it returns none. A line that is damaged or out of order is an error that
// names file and line, and so is every Read after it.
func (t *Tail) Read() ([]history.Event, error) {
	if t.file == nil {
		file, err := os.Open(t.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("open history: %w", err)
		}
		t.file, t.buf = file, make([]byte, chunk)
	}
	n, err := t.file.ReadAt(t.buf, t.offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var events []history.Event
	for rest := t.buf[:n]; ; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			if len(rest) >= history.MaxLine {
				return nil, fmt.Errorf("%s:%d: the line is longer than %d bytes", t.path, t.line+1, history.MaxLine)
			}
			return events, nil
		}
		e, err := history.ParseLine(rest[:end+1])
		if err == nil {
			err = t.order.Check(e)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", t.path, t.line+1, err)
		}
		events = append(events, e)
		rest = rest[end+1:]
		t.offset += int64(end) + 1
		t.line++
	}
}

// Close closes the file.
func (t *Tail) Close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// ReadFile returns the events of one file. A torn last line is left out; any
// other damage is an error that names file and line.
func ReadFile(path string) (events []history.Event, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	t := NewTail(path)
	defer func() { err = errors.Join(err, t.Close()) }()
	for {
		more, err := t.Read()
		if err != nil {
			return nil, err
		}
		if len(more) == 0 {
			return events, nil
		}
		events = append(events, more...)
	}
}

// ErrNone means that a directory has no history: it is no run's, or one that
// ended before its first line.
var ErrNone = errors.New("there is no history/*.ndjson")

// ReadDir returns the events of every history/*.ndjson of a run directory, in
// the order of history.Event.Before. It is ErrNone when there is no such file.
func ReadDir(run string) ([]history.Event, error) {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(run), "history", "*.ndjson"))
	if err != nil {
		return nil, fmt.Errorf("read histories of %s: %w", run, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("read histories of %s: %w: name a run directory", run, ErrNone)
	}
	m := history.NewMerger(paths...)
	total := 0
	for _, path := range paths {
		events, err := ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if err := m.Push(path, e); err != nil {
				return nil, err
			}
		}
		m.Close(path)
		total += len(events)
	}
	merged := make([]history.Event, 0, total)
	for e, ok := m.Pop(); ok; e, ok = m.Pop() {
		merged = append(merged, e)
	}
	return merged, nil
}

// escapeGlob takes the meaning away from pattern characters in a path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
