//go:build !linux

package compose

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// startOf returns when a process began, as ps tells it. The error says that it
// does not exist when there is no such process.
func startOf(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	start := strings.Join(strings.Fields(string(out)), "_")
	var none *exec.ExitError
	switch {
	case errors.As(err, &none):
		return "", os.ErrNotExist
	case err != nil:
		return "", err
	case start == "":
		return "", os.ErrNotExist
	}
	return start, nil
}

// machine names what a process id means something in.
func machine() string {
	host, _ := os.Hostname() // all machines without a name are one
	return host
}
