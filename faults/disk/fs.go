package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"pestle/faults"
	"pestle/faults/control"
)

// hiddenName is the directory of the ledger and of every file's second name.
const hiddenName = ".chaos"

// Options are what a Dir is from its beginning.
type Options struct {
	// Lying makes a disk on which a sync is done at once and makes nothing
	// durable: whatever acknowledges by it must be caught.
	Lying bool

	// Slow makes a disk of which each sync takes turnTime at least, as on one
	// that turns: a power loss finds more that is not synced.
	Slow bool
}

// turnTime is how long a sync takes on a disk that turns.
const turnTime = 20 * time.Millisecond

// Dir is a data directory. Names are plain file names in it. Its methods may be
// called by several goroutines at once; after PowerLoss none of those that use
// the disk returns.
type Dir struct {
	path    string
	options Options

	mu      sync.Mutex
	m       *medium
	ledger  ledger
	frozen  bool
	faults  map[faults.Kind]*fault
	changed chan struct{} // closed and replaced when a fault is lifted
}

// Open returns the Dir of a directory that exists. What an earlier process did
// not make durable is still not durable, and what it left damaged still is. No
// other process may use the directory.
func Open(path string, o Options) (*Dir, error) {
	d := &Dir{path: path, options: o, faults: map[faults.Kind]*fault{}, changed: make(chan struct{})}
	if err := os.MkdirAll(d.hidden(""), 0o755); err != nil {
		return nil, fmt.Errorf("make a directory for the fault file system: %w; the data directory must exist and be writable", err)
	}
	over, err := control.ToMend(path)
	if err != nil {
		return nil, err
	}
	var before bool
	if d.m, before, err = readLedger(d.hidden("ledger")); err != nil {
		return nil, err
	}
	if d.m.Losing {
		if err := d.rollBack(); err != nil {
			return nil, err
		}
	}
	d.ledger.path = d.hidden("ledger")
	if err := d.ledger.rewrite(d.m); err != nil {
		return nil, err
	}
	if err := d.reconcile(before); err != nil {
		return nil, err
	}
	if err := d.mend(over); err != nil {
		return nil, err
	}
	return d, nil
}

// mend undoes the damage of faults that ended while no process had the
// directory.
func (d *Dir) mend(over []int) error {
	for _, ref := range over {
		if _, err := d.Lift(ref); err != nil {
			return err
		}
	}
	return control.Mended(d.path)
}

func (d *Dir) name(name string) string { return filepath.Join(d.path, name) }

func (d *Dir) hidden(name string) string { return filepath.Join(d.path, hiddenName, name) }

// link is the second name of a file.
func (d *Dir) link(file uint64) string { return d.hidden(strconv.FormatUint(file, 10)) }

// note changes the medium, in memory and in the ledger.
func (d *Dir) note(r record) error {
	if err := d.ledger.append(&r); err != nil {
		return err
	}
	before := slices.Collect(maps.Keys(d.m.Files))
	d.m.apply(&r)
	for _, file := range before {
		if d.m.Files[file] == nil {
			if err := os.Remove(d.link(file)); err != nil {
				return fmt.Errorf("let a removed file go: %w", err)
			}
		}
	}
	if d.ledger.size > d.ledger.enough {
		return d.ledger.rewrite(d.m)
	}
	return nil
}

// place makes a name stand for a file, in the place of whatever has it.
func (d *Dir) place(file uint64, name string) error {
	// In two steps, so that no kill leaves the name without a file.
	next := d.hidden("next")
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(d.link(file), next); err != nil {
		return err
	}
	return os.Rename(next, d.name(name))
}

// List returns the names of what is in the directory, sorted.
func (d *Dir) List() ([]string, error) {
	d.begin()
	defer d.mu.Unlock()
	return d.list()
}

func (d *Dir) list() ([]string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Name() != hiddenName {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Create makes an empty file in the place of whatever has its name. It fails
// on a full disk.
func (d *Dir) Create(name string) (*File, error) {
	began := d.begin()
	f, err := d.create(name)
	d.end(began, createTime)
	return f, err
}

func (d *Dir) create(name string) (*File, error) {
	if d.strikes(faults.DiskFull) {
		return nil, &fs.PathError{Op: "create", Path: d.name(name), Err: syscall.ENOSPC}
	}
	if _, err := d.adopt(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file := d.m.LastID + 1
	f, err := os.OpenFile(d.link(file), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	if err = d.place(file, name); err == nil {
		err = d.note(record{Enter: []entry{{name, file}}})
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{dir: d, id: file, name: name, file: f}, nil
}

// Open opens a file that exists for reading and writing.
func (d *Dir) Open(name string) (*File, error) {
	d.begin()
	defer d.mu.Unlock()
	file, err := d.adopt(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.name(name), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &File{dir: d, id: file, name: name, file: f}, nil
}

// Rename gives a file another name, in the place of whatever has it.
func (d *Dir) Rename(from, to string) error {
	began := d.begin()
	defer d.end(began, removeTime)
	file, err := d.adopt(from)
	if err != nil {
		return err
	}
	if _, err := d.adopt(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(d.name(from), d.name(to)); err != nil || from == to {
		return err
	}
	return d.note(record{Enter: []entry{{from, 0}, {to, file}}})
}

// Remove deletes a file.
func (d *Dir) Remove(name string) error {
	began := d.begin()
	defer d.end(began, removeTime)
	if _, err := d.adopt(name); err != nil {
		return err
	}
	if err := os.Remove(d.name(name)); err != nil {
		return err
	}
	return d.note(record{Enter: []entry{{name, 0}}})
}

// Sync makes earlier creations, renames and removals durable. A disk that lies
// says so, and they are not.
func (d *Dir) Sync() error {
	began := d.begin()
	upto := d.m.Seq
	if d.options.Lying {
		d.mu.Unlock()
		return nil
	}
	d.mu.Unlock()
	err := syncDir(d.path)
	d.linger(began, removeTime)
	d.lock()
	defer d.mu.Unlock()
	if err != nil || upto == 0 {
		return err
	}
	return d.note(record{Entered: upto})
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// adopt returns the number of a name's file. A file that is not known is
// taken for durable.
func (d *Dir) adopt(name string) (uint64, error) {
	if file, known := d.m.Names[name]; known {
		return file, nil
	}
	info, err := os.Lstat(d.name(name))
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is not a file", d.name(name))
	}
	file := d.m.LastID + 1
	if err := os.Link(d.name(name), d.link(file)); err != nil {
		return 0, fmt.Errorf("give a file its second name: %w; the fault file system needs hard links", err)
	}
	return file, d.note(record{Adopt: &adopted{Name: name, File: file, Size: info.Size()}})
}

// How long an operation takes at least on the disk that a slow one is
// compared with: what it takes in the simulation on average.
const (
	createTime = 6 * time.Millisecond
	writeTime  = 10 * time.Microsecond
	syncTime   = 500 * time.Microsecond
	removeTime = 600 * time.Microsecond
	readTime   = 100 * time.Microsecond
)
