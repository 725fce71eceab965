package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// FS is a broker's data directory. Names are plain file names in it. Methods
// may be called by several goroutines at once.
type FS interface {
	// Lock claims the directory for this process until the Closer is closed
	// or the process ends. It fails at once, with an error that wraps
	// ErrLocked, when another process has it.
	Lock() (io.Closer, error)
	// List returns the names of what is in the directory, sorted.
	List() ([]string, error)
	// Create makes an empty file in the place of whatever has its name.
	Create(name string) (File, error)
	// Open opens a file that exists for reading and writing.
	Open(name string) (File, error)
	// Rename gives a file another name, in the place of whatever has it.
	Rename(from, to string) error
	// Remove deletes a file.
	Remove(name string) error
	// Sync makes earlier creations, renames and removals durable.
	Sync() error
}

// File is one open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Size returns the length in bytes.
	Size() (int64, error)
	// Sync makes earlier writes durable. After an error their fate is
	// unknown, and a second Sync that succeeds proves nothing about them.
	Sync() error
}

// ErrLocked says that another process uses the data directory.
var ErrLocked = errors.New("another broker uses this data directory")

// lockName is the file whose lock claims the directory. It stays behind, empty.
const lockName = "pestle.lock"

// OpenDir returns the FS of a directory that exists.
func OpenDir(path string) (FS, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w; create it or name another one", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("data directory %s: is not a directory; name another one", path)
	}
	return osDir(path), nil
}

type osDir string

func (d osDir) path(name string) string { return filepath.Join(string(d), name) }

func (d osDir) Lock() (io.Closer, error) {
	f, err := os.OpenFile(d.path(lockName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = ignoringEINTR(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = fmt.Errorf("%s: %w; stop that broker or use another directory", f.Name(), ErrLocked)
	case err != nil:
		err = fmt.Errorf("lock %s: %w", f.Name(), err)
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

func (d osDir) List() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func (d osDir) Create(name string) (File, error) {
	return openOS(d.path(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

func (d osDir) Open(name string) (File, error) { return openOS(d.path(name), os.O_RDWR) }

func (d osDir) Rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

func (d osDir) Remove(name string) error { return os.Remove(d.path(name)) }

func (d osDir) Sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

type osFile struct{ *os.File }

func openOS(path string, flags int) (File, error) {
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Sync flushes data and the size but not the times of the file: fdatasync
// costs one device flush where fsync may cost two.
func (f osFile) Sync() error {
	if err := ignoringEINTR(f.File, unix.Fdatasync); err != nil {
		return fmt.Errorf("fdatasync %s: %w", f.Name(), err)
	}
	return nil
}

// ignoringEINTR calls a system call on f's descriptor again while a signal
// interrupts it.
func ignoringEINTR(f *os.File, call func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		for {
			if failed = call(int(fd)); !errors.Is(failed, unix.EINTR) {
				return
			}
		}
	}); err != nil {
		return err
	}
	return failed
}
