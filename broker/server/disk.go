package server

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"pestle/broker/core"
	"pestle/broker/plant"
)

// Journal files are named journal-<sequence, 16 hex digits>.log. One that is
// being made has newSuffix until it is whole, so that recovery never meets
// half a file.
const (
	filePrefix = "journal-"
	fileSuffix = ".log"
	newSuffix  = ".new"
)

func fileName(file uint64) string {
	return fmt.Sprintf("%s%016x%s", filePrefix, file, fileSuffix)
}

// parseFileName is the inverse of fileName; false for any other name.
func parseFileName(name string) (uint64, bool) {
	digits := strings.TrimSuffix(strings.TrimPrefix(name, filePrefix), fileSuffix)
	file, err := strconv.ParseUint(digits, 16, 64)
	return file, err == nil && name == fileName(file)
}

// isUnfinished reports whether name is a journal file that a crash left half
// made.
func isUnfinished(name string) bool {
	whole, found := strings.CutSuffix(name, newSuffix)
	_, ours := parseFileName(whole)
	return found && ours
}

// zeroBlock is how much of a new file is written at once, in bytes.
const zeroBlock = 1 << 20

// disk carries out the core's disk effects: changes one after another in the
// order they were issued, reads beside them.
type disk struct {
	fs    FS
	mail  *queue[message]
	plant plant.ID
	times diskTimes

	changes *queue[core.Effect]
	reads   *queue[core.Effect]

	// Of the goroutine in change.
	last     uint64 // journal file made last …
	lastSize int64  // … and its bytes
	spare    *spare // nil: no next one is in the making
	pause    time.Duration

	mu    sync.Mutex
	files map[uint64]File // every journal file, open
}

func newDisk(fs FS, mail *queue[message], bug plant.ID) *disk {
	return &disk{
		fs: fs, mail: mail, plant: bug, times: newDiskTimes(), files: map[uint64]File{},
		changes: newQueue[core.Effect](), reads: newQueue[core.Effect](), pause: sparePause,
	}
}

func (d *disk) file(n uint64) File {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files[n]
}

func (d *disk) setFile(n uint64, f File) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[n] = f
}

func (d *disk) forget(n uint64) File {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[n]
	delete(d.files, n)
	return f
}

func (d *disk) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var failed error
	for _, f := range d.files {
		failed = errors.Join(failed, f.Close())
	}
	return failed
}

// change runs the ordered effects until stop is closed. The first failure
// that the core has no event for ends it: what follows on such a disk could
// only make things worse. That a write is done is told with what follows it, so
// that the loop is woken once for both.
func (d *disk) change(stop <-chan struct{}) {
	defer d.dropSpare()
	var batch []core.Effect
	var done []message
	for {
		select {
		case <-d.changes.wake:
		case <-stop:
			return
		}
		batch = d.changes.take(batch)
		for i := range batch {
			m := d.carryOut(&batch[i])
			done = append(done, m)
			if m.event.Kind != 0 || m.fault != nil || i == len(batch)-1 {
				d.mail.put(done...)
				clear(done)
				done = done[:0]
			}
			if m.fault != nil || m.event.Kind == core.EvSynced && m.event.Failed && !d.plant.Is(plant.FsyncErrorIgnored) {
				return
			}
		}
	}
}

func (d *disk) carryOut(e *core.Effect) message {
	switch e.Kind {
	case core.FxCreate:
		return answer(core.EvCreated, e, nil, d.create(e.File, e.N))
	case core.FxRecycle:
		return message{event: core.Event{Kind: core.EvCreated, Token: e.Token}, fault: d.recycle(e.From, e.File, e.Data)}
	case core.FxSync:
		return answer(core.EvSynced, e, nil, d.sync(e.File))
	case core.FxWrite:
		return message{written: len(e.Data), fault: d.write(e.File, e.Offset, e.Data)}
	default:
		return message{fault: d.remove(e.File)}
	}
}

// answer is the event that tells how an effect went.
func answer(kind core.EventKind, e *core.Effect, data []byte, err error) message {
	ev := core.Event{Kind: kind, Token: e.Token, Data: data}
	if err != nil {
		ev.Failed, ev.Text = true, err.Error()
	}
	return message{event: ev}
}

// create makes a whole zero-filled file: real zeros, so that a later sync of
// a record in it has no block to allocate and no size to change.
func (d *disk) create(n uint64, size int64) error {
	name := fileName(n)
	f, zeros := d.takeSpare(n, size)
	if f == nil {
		var err error
		if f, err = d.fs.Create(name + newSuffix); err != nil {
			return fmt.Errorf("create journal file: %w", err)
		}
		zeros = 0
	}
	err := fillZero(f, zeros, size-zeros)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = d.fs.Rename(name+newSuffix, name)
	}
	if err == nil {
		err = d.fs.Sync()
	}
	if err != nil {
		// Give the space back; what is left in the way is overwritten next time.
		return errors.Join(fmt.Errorf("create journal file %s of %d bytes: %w", name, size, err),
			f.Close(), d.fs.Remove(name+newSuffix))
	}
	d.setFile(n, f)
	d.last, d.lastSize = n, size
	return nil
}

// fillZero writes so many zeros.
func fillZero(f File, from, size int64) error {
	block := make([]byte, min(size, zeroBlock))
	for at := int64(0); at < size; at += int64(len(block)) {
		if _, err := f.WriteAt(block[:min(size-at, int64(len(block)))], from+at); err != nil {
			return err
		}
	}
	return nil
}

// recycle makes a file that nothing needs the file to come. It has its old name
// or its new one, and never the new one without the new beginning.
func (d *disk) recycle(from, to uint64, head []byte) error {
	d.dropSpare()
	f, making, name := d.forget(from), fileName(to)+newSuffix, fileName(to)
	if f == nil {
		return fmt.Errorf("recycle journal file %s: it does not exist", fileName(from))
	}
	size, err := f.Size()
	for _, step := range []func() error{
		func() error { return d.fs.Rename(fileName(from), making) },
		d.fs.Sync,
		func() error { _, err := f.WriteAt(head, 0); return err },
		f.Sync,
		func() error { return d.fs.Rename(making, name) },
		d.fs.Sync,
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("recycle journal file %s as %s: %w", fileName(from), name, err), f.Close())
	}
	d.setFile(to, f)
	d.last, d.lastSize = to, size
	return nil
}

func (d *disk) write(n uint64, at int64, data []byte) error {
	f := d.file(n)
	if f == nil {
		return fmt.Errorf("write journal file %s: it does not exist", fileName(n))
	}
	d.foresee(n, at)
	defer took(d.times.write, time.Now())
	if _, err := f.WriteAt(data, at); err != nil {
		return fmt.Errorf("write %d bytes at %d of journal file %s: %w", len(data), at, fileName(n), err)
	}
	return nil
}

func (d *disk) sync(n uint64) error {
	f := d.file(n)
	if f == nil {
		return fmt.Errorf("sync journal file %s: it does not exist", fileName(n))
	}
	defer took(d.times.sync, time.Now())
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync journal file %s: %w", fileName(n), err)
	}
	return nil
}

func (d *disk) remove(n uint64) error {
	var failed error
	if f := d.forget(n); f != nil {
		failed = f.Close()
	}
	if err := errors.Join(failed, d.fs.Remove(fileName(n)), d.fs.Sync()); err != nil {
		return fmt.Errorf("remove journal file %s: %w", fileName(n), err)
	}
	return nil
}

// read runs the reads until stop is closed.
func (d *disk) read(stop <-chan struct{}) {
	var batch []core.Effect
	for {
		select {
		case <-d.reads.wake:
		case <-stop:
			return
		}
		batch = d.reads.take(batch)
		for i := range batch {
			data, err := d.readAt(batch[i].File, batch[i].Offset, batch[i].N)
			d.mail.put(answer(core.EvRead, &batch[i], data, err))
		}
	}
}

func (d *disk) readAt(n uint64, at, size int64) ([]byte, error) {
	f := d.file(n)
	if f == nil {
		return nil, fmt.Errorf("read journal file %s: it does not exist", fileName(n))
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, at); err != nil {
		return nil, fmt.Errorf("read %d bytes at %d of journal file %s: %w", size, at, fileName(n), err)
	}
	return data, nil
}

// maxFile bounds a journal file that is read whole at the start, in bytes.
const maxFile = 1 << 30

// load opens every journal file there is and feeds it to r, oldest first.
// Files that are not the journal's are left alone.
func (d *disk) load(r *core.Recovery) error {
	// A name that was not durable when its process was killed must not go, with
	// everything that is written to the file from now on.
	if err := d.fs.Sync(); err != nil {
		return fmt.Errorf("sync data directory: %w", err)
	}
	names, err := d.fs.List()
	if err != nil {
		return fmt.Errorf("list data directory: %w", err)
	}
	for _, name := range names { // sorted, and so are the fixed-width numbers in them
		if isUnfinished(name) {
			if err := d.fs.Remove(name); err != nil {
				return fmt.Errorf("remove unfinished journal file: %w", err)
			}
		}
		n, ours := parseFileName(name)
		if !ours {
			continue
		}
		data, err := d.loadFile(n)
		if err != nil {
			return err
		}
		if err := r.Feed(n, data); err != nil {
			return err
		}
	}
	return nil
}

func (d *disk) loadFile(n uint64) ([]byte, error) {
	f, err := d.fs.Open(fileName(n))
	if err != nil {
		return nil, fmt.Errorf("open journal file: %w", err)
	}
	d.setFile(n, f)
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of journal file %s: %w", fileName(n), err)
	}
	if size > maxFile {
		return nil, fmt.Errorf("journal file %s is %d bytes long, and none is written longer than %d; move it away if it is not this broker's", fileName(n), size, maxFile)
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && (size > 0 || !errors.Is(err, io.EOF)) {
		return nil, fmt.Errorf("read journal file %s: %w", fileName(n), err)
	}
	return data, nil
}
