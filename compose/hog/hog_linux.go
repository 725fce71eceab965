package hog

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const block = 1 << 20 // bytes that are taken at a time

// Starve makes the process of that id the first to be killed when memory is
// short, and takes limit bytes, rounded up to whole blocks of 1 MiB. It has to
// run as the same user.
func Starve(victim int, limit int64) error {
	const first = "1000" // the highest score: of all processes, this one
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", victim), []byte(first), 0); err != nil {
		return fmt.Errorf("name the process to be killed: %w", err)
	}
	fd, err := unix.MemfdCreate("hog", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("take memory: %w", err)
	}
	zeros := make([]byte, block)
	for at := int64(0); at < limit; at += block {
		if _, err := unix.Pwrite(fd, zeros, at); err != nil {
			return fmt.Errorf("take %d bytes of memory: %w", at+block, err)
		}
	}
	return nil
}
