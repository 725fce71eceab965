package compose

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// startOf returns when a process began: ticks since the boot that the id tells.
// The error says that it does not exist when there is no such process.
func startOf(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	// The name of the program, in brackets, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const start, state = 19, 0 // fields 22 and 3 of proc(5)
	if len(fields) <= start {
		return "", fmt.Errorf("/proc/%d/stat has %d fields after the name", pid, len(fields))
	}
	if s := fields[state][0]; s == 'Z' || s == 'X' {
		return "", os.ErrNotExist // it is dead; only its parent has not noticed
	}
	return fmt.Sprintf("%s.%.8s", fields[start], strings.TrimSpace(string(boot))), nil
}

// machine names what a process id means something in: a host and a process
// namespace, for a container shares its engine with others.
func machine() string {
	host, _ := os.Hostname() // without a name, the namespace has to do
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return host + "/" + namespace
}
