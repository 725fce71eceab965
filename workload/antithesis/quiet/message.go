package quiet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

const (
	schema = 1

	// maxFile bounds a request or an answer, in bytes. Real ones have less than
	// a hundred, or a reason of a line.
	maxFile = 4096

	lockName   = "harness"
	requestEnd = ".request"
	answerEnd  = ".answer"
)

// requestName is what the name of a request has to look like.
var requestName = regexp.MustCompile(`^[0-9a-f]{16}\.request$`)

// Request asks for quiet.
type Request struct {
	Seconds int // 1 to MaxSeconds, from the moment at which quiet is real

	name string // of its file
}

// Answer tells what became of a request.
type Answer struct {
	Quiet  bool   // every fault has ended, every process is ready, and no fault begins before Until
	Until  int64  // CLOCK_MONOTONIC ns
	Reason string // why there is no quiet
}

type requestFile struct {
	Schema  int `json:"schema"`
	Seconds int `json:"seconds"`
}

type answerFile struct {
	Schema int    `json:"schema"`
	Quiet  bool   `json:"quiet"`
	Until  int64  `json:"until,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// checkSeconds says what is wrong with a number of seconds.
func checkSeconds(n int) error {
	if n < 1 || n > MaxSeconds {
		return fmt.Errorf("%d seconds of quiet: want 1 to %d", n, MaxSeconds)
	}
	return nil
}

// decode reads one JSON object and nothing else.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// readSmall reads a file that another process made: no link, no device, and not
// longer than maxFile.
func readSmall(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	return data, nil
}

// write puts a file there in one step.
func write(dir, name string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		panic("quiet: encode " + name + ": " + err.Error()) // integers and strings: cannot fail
	}
	temp := filepath.Join(dir, "."+name)
	if err := os.WriteFile(temp, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(dir, name))
}
