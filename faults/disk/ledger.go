package disk

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// rewriteAfter is how many bytes the ledger grows before it begins anew with
// one snapshot.
const rewriteAfter = 8 << 20

// ledger is the file that keeps a medium across a kill. It is never synced:
// what the kernel has is enough for that.
type ledger struct {
	path    string
	file    *os.File
	buffer  bytes.Buffer
	encoder *gob.Encoder
	size    int64 // bytes
	enough  int64 // it is rewritten at this size
}

// readLedger returns the medium in a ledger; false when there is no ledger. A
// record that a kill cut is left out.
func readLedger(path string) (*medium, bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newMedium(), false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the ledger of the fault file system: %w", err)
	}
	defer f.Close()
	m, d := newMedium(), gob.NewDecoder(f)
	for n := 0; ; n++ {
		var r record
		if d.Decode(&r) != nil {
			return m, n > 0, nil // the end, or cut
		}
		m.apply(&r)
	}
}

// rewrite begins the ledger anew.
func (l *ledger) rewrite(m *medium) error {
	f, err := os.Create(l.path + ".new")
	if err != nil {
		return fmt.Errorf("begin the ledger of the fault file system: %w", err)
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.size = f, 0
	l.encoder = gob.NewEncoder(&l.buffer)
	if err := l.append(&record{Snapshot: m}); err != nil {
		return err
	}
	l.enough = 2*l.size + rewriteAfter
	if err := os.Rename(l.path+".new", l.path); err != nil {
		return fmt.Errorf("begin the ledger of the fault file system: %w", err)
	}
	return nil
}

func (l *ledger) append(r *record) error {
	l.buffer.Reset()
	if err := l.encoder.Encode(r); err != nil {
		return fmt.Errorf("encode a record of the ledger of the fault file system: %w", err)
	}
	n, err := l.file.Write(l.buffer.Bytes())
	l.size += int64(n)
	if err != nil {
		return fmt.Errorf("write the ledger of the fault file system: %w", err)
	}
	return nil
}
