package server

import (
	"fmt"
	"time"
)

const (
	// A spare is begun when spareShare of the file before it is written: long
	// before the core asks for the next one, and not for a broker that never
	// will.
	spareShare = 4

	// How long the file will be is known when it is asked for: about as long as
	// the one before, and this share of that is left until then.
	spareRest = 16

	// A spare is made of blocks of so many bytes, each synced, with a pause
	// between them: the disk has time for what publishes wait for.
	spareBlock = 256 << 10
	sparePause = 20 * time.Millisecond
)

// spare is the next journal file in the making. The syncs of publishes would
// have to wait for its zeros, if they were written when it is asked for.
type spare struct {
	file uint64
	size int64 // bytes, a little less than the file will have

	hurry   chan struct{} // closed when it is needed
	abandon chan struct{} // closed when it is not any more
	done    chan struct{} // closed when made is set, or it failed
	made    File          // nil: it failed. Its zeros are synced
}

// foresee begins the spare when it is time.
func (d *disk) foresee(file uint64, at int64) {
	if file != d.last || d.spare != nil || at < d.lastSize/spareShare {
		return
	}
	s := &spare{
		file: file + 1, size: d.lastSize - d.lastSize/spareRest,
		hurry: make(chan struct{}), abandon: make(chan struct{}), done: make(chan struct{}),
	}
	d.spare = s
	go func() {
		defer close(s.done)
		f, err := d.fs.Create(fileName(s.file) + newSuffix)
		if err != nil {
			return // when it is needed, it is tried again, and told
		}
		if d.fillSlowly(f, s) != nil {
			_ = f.Close() // what was written is worth nothing
			_ = d.fs.Remove(fileName(s.file) + newSuffix)
			return
		}
		s.made = f
	}()
}

// fillSlowly writes a spare's zeros, and syncs them.
func (d *disk) fillSlowly(f File, s *spare) error {
	for at := int64(0); at < s.size; at += spareBlock {
		if err := fillZero(f, at, min(spareBlock, s.size-at)); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		select {
		case <-time.After(d.pause):
		case <-s.hurry:
		case <-s.abandon:
			return fmt.Errorf("journal file %s is not needed", fileName(s.file))
		}
	}
	return nil
}

// takeSpare returns the beginning of a file, if that is the one in the making,
// and how long it is; nil if there is none. No other is in the making
// afterwards.
func (d *disk) takeSpare(file uint64, size int64) (f File, zeros int64) {
	s := d.spare
	if s == nil {
		return nil, 0
	}
	if s.file != file || s.size > size {
		d.dropSpare()
		return nil, 0
	}
	close(s.hurry)
	<-s.done
	d.spare = nil
	return s.made, s.size
}

// dropSpare gives up what is in the making.
func (d *disk) dropSpare() {
	s := d.spare
	if s == nil {
		return
	}
	close(s.abandon)
	<-s.done
	d.spare = nil
	if s.made != nil {
		_ = s.made.Close() // it was never used
		_ = d.fs.Remove(fileName(s.file) + newSuffix)
	}
}
