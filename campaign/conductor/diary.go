package conductor

import (
	"slices"

	"pestle/history"
	"pestle/history/stream"
)

// diary is the harness's own history stream. A fault that a host begins is
// known to be effective some time after it was asked for, and its line bears
// the earlier moment, so that no consequence is older than its cause. Until the
// answer is there, what happened later is held back.
type diary struct {
	file    *stream.Writer
	open    map[int]int64   // by Ref: when a fault was asked for whose answer is not there
	waiting []history.Event // in the order of T
}

func newDiary(path string) (*diary, error) {
	file, err := stream.OpenWriter(path, harnessName)
	if err != nil {
		return nil, err
	}
	return &diary{file: file, open: map[int]int64{}}, nil
}

// note writes a line and returns the moment it bears: e.T, or now when that is
// 0.
func (d *diary) note(e history.Event) (int64, error) {
	if e.T == 0 {
		e.T = stream.Now()
	}
	at, _ := slices.BinarySearchFunc(d.waiting, e.T+1, func(w history.Event, t int64) int {
		if w.T < t {
			return -1
		}
		return 1
	}) // behind those of the same moment
	d.waiting = slices.Insert(d.waiting, at, e)
	return e.T, d.flush()
}

// expect holds back what is later than the fault's asking.
func (d *diary) expect(ref int, asked int64) { d.open[ref] = asked }

// settled says that the fault's line, if there is one, was noted.
func (d *diary) settled(ref int) error {
	delete(d.open, ref)
	return d.flush()
}

// flush writes what no line can come before any more.
func (d *diary) flush() error {
	free := 0
	for free < len(d.waiting) && d.before(d.waiting[free].T) {
		free++
	}
	for _, e := range d.waiting[:free] {
		if _, err := d.file.Append(e); err != nil {
			return err
		}
	}
	d.waiting = slices.Delete(d.waiting, 0, free)
	return nil
}

// before tells whether t is earlier than every line that may still come.
func (d *diary) before(t int64) bool {
	for _, asked := range d.open {
		if t >= asked {
			return false
		}
	}
	return true
}

func (d *diary) close() error { return d.file.Close() }
