package disk

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"pestle/faults"
)

// File is one open file of a Dir.
type File struct {
	dir  *Dir
	id   uint64
	name string // when it was opened
	file *os.File
}

// Close closes the file. It syncs nothing, and no fault holds it back.
func (f *File) Close() error { return f.file.Close() }

// Size returns the length in bytes.
func (f *File) Size() (int64, error) {
	f.dir.begin()
	defer f.dir.mu.Unlock()
	info, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// fails is a failure of the disk while something is done on f.
func (f *File) fails(op string, err syscall.Errno) error {
	return &fs.PathError{Op: op, Path: f.dir.name(f.name), Err: err}
}

// ReadAt reads like os.File.ReadAt.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	began := f.dir.begin()
	defer f.dir.end(began, readTime)
	if f.dir.strikes(faults.DiskReadError) {
		return 0, f.fails("read", syscall.EIO)
	}
	return f.file.ReadAt(p, off)
}

// WriteAt writes like os.File.WriteAt. Growing a file fails on a full disk.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	began := f.dir.begin()
	defer f.dir.end(began, writeTime)
	if off < 0 {
		return 0, f.fails("write", syscall.EINVAL)
	}
	info, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	switch n := int64(len(p)); {
	case off+n > info.Size() && f.dir.strikes(faults.DiskFull):
		return 0, f.fails("write", syscall.ENOSPC)
	case n > 0 && f.dir.strikes(faults.DiskWriteShort):
		kept := f.dir.faults[faults.DiskWriteShort].draw.Below(n)
		done, err := f.put(p[:kept], off)
		return done, errors.Join(err, f.fails("write", syscall.EIO))
	}
	return f.put(p, off)
}

// put writes, and notes what it did.
func (f *File) put(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	first := off / sectorSize * sectorSize
	before := make([]byte, roundUp(off+int64(len(p)))-first)
	if _, err := readFull(f.file, before, first); err != nil {
		return 0, err
	}
	n, failed := f.file.WriteAt(p, off)
	if n == 0 {
		return 0, failed
	}
	w := &written{File: f.id, Off: off, N: int64(n), Before: before, After: slices.Clone(before)[:roundUp(off+int64(n))-first]}
	w.Before = w.Before[:len(w.After)]
	copy(w.After[off-first:], p[:n])
	if len(bytes.Trim(w.Before, "\x00")) == 0 {
		w.Before = nil
	}
	if err := f.dir.note(record{Write: w}); err != nil {
		return 0, err
	}
	return n, failed
}

// Sync makes earlier writes durable. A failed one is told once, as Linux does:
// what it was to make durable is not, and a later one that succeeds proves
// nothing about it.
func (f *File) Sync() error {
	d := f.dir
	began := d.begin()
	dirty := d.m.dirty(f.id)
	done := &synced{File: f.id, Upto: d.m.Seq, Drop: dirty && d.strikes(faults.FsyncError)}
	if dirty && !done.Drop && d.options.Lying {
		d.mu.Unlock()
		return nil
	}
	d.mu.Unlock()
	var err error
	if !done.Drop {
		err = datasync(f.file)
	}
	if dirty && d.options.Slow {
		time.Sleep(turnTime - time.Since(began))
	}
	d.linger(began, syncTime)
	d.lock()
	defer d.mu.Unlock()
	if err != nil || !dirty {
		return err
	}
	if done.Drop {
		return errors.Join(f.fails("sync", syscall.EIO), d.note(record{Synced: done}))
	}
	wrong, err := d.miss(f, done.Upto)
	if err == nil {
		err = d.note(record{Synced: done})
	}
	if err == nil {
		err = d.harm(wrong)
	}
	return err
}

// roundUp is the end of the sector that ends at or behind an offset.
func roundUp(off int64) int64 { return (off + sectorSize - 1) / sectorSize * sectorSize }

// readFull reads p at an offset; behind the end of the file there are zeros.
func readFull(f io.ReaderAt, p []byte, off int64) (int, error) {
	n, err := f.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		clear(p[n:])
		return len(p), nil
	}
	return n, err
}

// begin waits until the disk does something, and locks the directory. It
// returns when the operation began.
func (d *Dir) begin() time.Time {
	began := time.Now()
	d.lock()
	for counted := false; ; counted = true {
		stuck := d.faults[faults.DiskStuck]
		if stuck == nil {
			return began
		}
		if !counted {
			stuck.bites++
		}
		changed := d.changed
		d.mu.Unlock()
		<-changed
		d.lock()
	}
}

// lock locks the directory; it does not return when the power is lost.
func (d *Dir) lock() {
	d.mu.Lock()
	if d.frozen {
		d.mu.Unlock()
		select {}
	}
}

// end unlocks the directory at the end of an operation and lets it take as
// long as it has to.
func (d *Dir) end(began time.Time, least time.Duration) {
	d.mu.Unlock()
	d.linger(began, least)
}

// linger lets an operation take longer on a slow disk, until it is slow no
// more. least is what it takes on a disk that is not.
func (d *Dir) linger(began time.Time, least time.Duration) {
	took := max(time.Since(began), least)
	for counted := false; ; counted = true {
		d.lock()
		slow, changed := d.faults[faults.DiskSlow], d.changed
		if slow == nil {
			d.mu.Unlock()
			return
		}
		if !counted {
			slow.bites++
		}
		left := min(took, longestOperation/time.Duration(slow.Factor))*time.Duration(slow.Factor) - time.Since(began)
		d.mu.Unlock()
		if left <= 0 {
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-changed:
		}
		timer.Stop()
	}
}

// longestOperation bounds an operation on a slow disk.
const longestOperation = 1000 * time.Second
