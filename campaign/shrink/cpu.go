package shrink

import (
	"syscall"
	"time"
)

// cpuTime is the CPU time that this process and those of its children that are
// gone have used, in user and system mode.
func cpuTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err == nil { // it cannot fail for these two
			sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
	}
	return sum
}
