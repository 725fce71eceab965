package bench

import (
	"fmt"
	"os"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// syncs is how many times the disk is timed at once.
const syncs = 200

// timeDisk measures appends of so many bytes to a file of its own in dir, each
// with its fdatasync: the least that any journal on this disk has to pay.
func timeDisk(dir string, size int) (*hdrhistogram.Histogram, error) {
	f, err := os.CreateTemp(dir, "disk-time-")
	if err != nil {
		return nil, fmt.Errorf("time the disk: %w", err)
	}
	defer func() {
		f.Close()
		_ = os.Remove(f.Name()) // what is left behind shows where it is
	}()
	times, block := newHistogram(), make([]byte, size)
	for range syncs {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, fmt.Errorf("time the disk: %w", err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return nil, fmt.Errorf("time the disk: fdatasync %s: %w", f.Name(), err)
		}
		record(times, time.Since(began))
	}
	return times, nil
}
