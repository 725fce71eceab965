package disk

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// datasync flushes the data and the size of a file but not its times, as the
// broker does.
func datasync(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		for {
			if failed = unix.Fdatasync(int(fd)); failed != unix.EINTR {
				return
			}
		}
	}); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("fdatasync %s: %w", f.Name(), failed)
	}
	return nil
}
