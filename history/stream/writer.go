package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"pestle/history"
)

// Writer appends one process's lines to its file. Its methods may be called
// from several goroutines.
type Writer struct {
	mu   sync.Mutex
	file *os.File
	src  string
	seq  uint64
	t    int64
	line []byte
	err  error // the first failed write; nothing is written after it
}

// OpenWriter opens or creates the file at path for the lines of src. A torn
// last line is cut off, and counting continues after the last whole one. It
// is an error when the last whole line is damaged or of another source.
func OpenWriter(path, src string) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	w := &Writer{file: file, src: src}
	if err := w.resume(); err != nil {
		return nil, errors.Join(fmt.Errorf("open history %s: %w", path, err), file.Close())
	}
	return w, nil
}

// resume cuts a torn last line off and takes seq and t from the one before.
func (w *Writer) resume() error {
	info, err := w.file.Stat()
	if err != nil {
		return err
	}
	// Two lines fit: the torn one and the last whole one.
	from := max(0, info.Size()-2*history.MaxLine)
	tail := make([]byte, info.Size()-from)
	if _, err := w.file.ReadAt(tail, from); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	whole := tail[:bytes.LastIndexByte(tail, '\n')+1]
	if len(whole) == 0 && from > 0 {
		return fmt.Errorf("no line ends within the last %d bytes: it is no history file", len(tail))
	}
	if len(whole) < len(tail) {
		if err := w.file.Truncate(from + int64(len(whole))); err != nil {
			return fmt.Errorf("cut the torn last line off: %w", err)
		}
	}
	if len(whole) == 0 {
		return nil
	}
	last := whole[bytes.LastIndexByte(whole[:len(whole)-1], '\n')+1:]
	e, err := history.ParseLine(last)
	if err != nil {
		return fmt.Errorf("last line: %w", err)
	}
	if e.Src != w.src {
		return fmt.Errorf("last line is of %q, not of %q: give every process its own file", e.Src, w.src)
	}
	w.seq, w.t = e.Seq, e.T
	return nil
}

// Append writes e as the next line, in one write(2), and returns it as
// written: with Seq and Src filled in, T set to Now() when it was 0, and T
// raised to the previous line's when it was earlier, because time never goes
// back in a stream. After a failed write every further Append fails alike.
func (w *Writer) Append(e history.Event) (history.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return history.Event{}, w.err
	}
	if e.T == 0 {
		e.T = Now()
	}
	e.T = max(e.T, w.t)
	e.Src, e.Seq = w.src, w.seq+1
	w.line = history.AppendLine(w.line[:0], e)
	if len(w.line) > history.MaxLine {
		return history.Event{}, fmt.Errorf("write history %s: a line of %d bytes is longer than %d", w.file.Name(), len(w.line), history.MaxLine)
	}
	if _, err := w.file.Write(w.line); err != nil {
		w.err = fmt.Errorf("write history: %w", err)
		return history.Event{}, w.err
	}
	w.seq, w.t = e.Seq, e.T
	return e, nil
}

// Close closes the file.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.file.Close()
}
