package quiet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Desk is where the harness takes requests. One goroutine uses it.
type Desk struct {
	dir  string
	lock *os.File
	open []Request // taken and not answered
}

// Open makes the directory, or takes one that nobody uses, and holds its lock
// until Close. The processes of a run may have other users than the harness, so
// that anyone may write there.
func Open(dir string) (*Desk, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the desk for requests of quiet: %w", err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { // whatever the umask
		return nil, fmt.Errorf("make the desk for requests of quiet: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make the desk for requests of quiet: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("make the desk for requests of quiet: lock %s: %w; another run uses it", lock.Name(), err), lock.Close())
	}
	return &Desk{dir: dir, lock: lock}, nil
}

// Requests returns the requests that came since it was called last. One that is
// damaged is refused, with the reason, and not returned. Each one returned has
// to be answered.
func (d *Desk) Requests() ([]Request, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, fmt.Errorf("look for requests of quiet: %w", err)
	}
	var list []Request
	for _, entry := range entries {
		if !requestName.MatchString(entry.Name()) {
			continue
		}
		r, damage := d.take(entry.Name())
		path := filepath.Join(d.dir, entry.Name())
		if err := os.RemoveAll(path); err != nil { // whatever it is
			return nil, fmt.Errorf("take a request of quiet: %w", err)
		}
		if damage != nil {
			if err := d.refuse(r, fmt.Sprintf("the request %s cannot be read: %v", entry.Name(), damage)); err != nil {
				return nil, err
			}
			continue
		}
		list = append(list, r)
	}
	d.open = append(d.open, list...)
	return list, nil
}

// take reads one request.
func (d *Desk) take(name string) (Request, error) {
	r := Request{name: name}
	data, err := readSmall(filepath.Join(d.dir, name))
	if err != nil {
		return r, err
	}
	var file requestFile
	if err := decode(data, &file); err != nil {
		return r, err
	}
	if file.Schema != schema {
		return r, fmt.Errorf("its schema is %d, this harness reads %d", file.Schema, schema)
	}
	r.Seconds = file.Seconds
	return r, checkSeconds(file.Seconds)
}

// Answer tells the asker what became of its request.
func (d *Desk) Answer(r Request, a Answer) error {
	for i := range d.open {
		if d.open[i] == r {
			d.open = append(d.open[:i], d.open[i+1:]...)
			break
		}
	}
	err := write(d.dir, strings.TrimSuffix(r.name, requestEnd)+answerEnd,
		answerFile{Schema: schema, Quiet: a.Quiet, Until: a.Until, Reason: a.Reason})
	if err != nil {
		return fmt.Errorf("answer a request of quiet: %w", err)
	}
	return nil
}

func (d *Desk) refuse(r Request, reason string) error { return d.Answer(r, Answer{Reason: reason}) }

// Close refuses what was not answered and lets go of the lock.
func (d *Desk) Close() error {
	_, err := d.Requests()
	errs := []error{err}
	for len(d.open) > 0 {
		errs = append(errs, d.refuse(d.open[0], "the run has ended"))
	}
	return errors.Join(append(errs, d.lock.Close())...)
}
