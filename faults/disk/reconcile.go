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

	"pestle/faults/control"
)

// reconcile makes the medium agree with the real files. A kill may have come
// between an operation and its record: what it did is there, and not durable.
// before tells that there was a ledger; without one all there is is durable.
func (d *Dir) reconcile(before bool) error {
	if err := d.sweep(); err != nil {
		return err
	}
	names, err := d.list()
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := os.Lstat(d.name(name))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		file, err := d.identify(name, info, before)
		if err != nil {
			return err
		}
		if err := d.catchUp(file, info.Size()); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.m.Names)) {
		if !slices.Contains(names, name) {
			if err := d.note(record{Enter: []entry{{name, 0}}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweep removes second names of files that nothing knows.
func (d *Dir) sweep() error {
	entries, err := os.ReadDir(d.hidden(""))
	if err != nil {
		return err
	}
	for _, e := range entries {
		file, err := strconv.ParseUint(e.Name(), 10, 64)
		if e.Name() == "ledger" || e.Name() == filepath.Base(control.Mending) || err == nil && d.m.Files[file] != nil {
			continue
		}
		if err := os.Remove(d.hidden(e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sweep the directory of the fault file system: %w", err)
		}
	}
	return nil
}

// identify returns the number of the file that a name really stands for.
func (d *Dir) identify(name string, info fs.FileInfo, before bool) (uint64, error) {
	if file, known := d.m.Names[name]; known && d.is(file, info) {
		return file, nil
	}
	if !before {
		return d.adopt(name)
	}
	for _, file := range slices.Sorted(maps.Keys(d.m.Files)) {
		if d.is(file, info) {
			return file, d.note(record{Enter: []entry{{name, file}}})
		}
	}
	file := d.m.LastID + 1
	if err := os.Link(d.name(name), d.link(file)); err != nil {
		return 0, err
	}
	return file, d.note(record{Enter: []entry{{name, file}}})
}

func (d *Dir) is(file uint64, info fs.FileInfo) bool {
	other, err := os.Lstat(d.link(file))
	return err == nil && os.SameFile(info, other)
}

// catchUp notes bytes behind the end of a file as it is known.
func (d *Dir) catchUp(file uint64, size int64) error {
	for {
		from := d.m.Files[file].Size
		if from >= size {
			return nil
		}
		f, err := os.Open(d.link(file))
		if err != nil {
			return err
		}
		n := min(size-from, maxPendingBytes/4)
		first := from / sectorSize * sectorSize
		after := make([]byte, roundUp(from+n)-first)
		_, err = readFull(f, after, first)
		f.Close()
		if err != nil {
			return err
		}
		before := make([]byte, len(after))
		copy(before, after[:from-first])
		if err := d.note(record{Write: &written{File: file, Off: from, N: n, Before: before, After: after}}); err != nil {
			return err
		}
	}
}
