package quiet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// pollEvery is how often an asker looks for its answer.
const pollEvery = 10 * time.Millisecond

// ErrNoHarness means that nobody leads the run: there is no one to ask.
var ErrNoHarness = errors.New("no harness is there to stop faults")

// ErrRefused means that the harness cannot keep quiet.
var ErrRefused = errors.New("the harness refuses")

// Ask asks for seconds of quiet and waits until quiet is real: every fault has
// ended and every process is ready. From then on no fault begins for as long.
// It fails with ErrNoHarness, ErrRefused or the context's error.
func Ask(ctx context.Context, dir string, seconds int) (Answer, error) {
	if err := checkSeconds(seconds); err != nil {
		return Answer{}, err
	}
	if dir == "" {
		return Answer{}, fmt.Errorf("%w: %s is not set", ErrNoHarness, DirVariable)
	}
	if err := attended(dir); err != nil {
		return Answer{}, err
	}
	var number [8]byte
	if _, err := rand.Read(number[:]); err != nil {
		return Answer{}, fmt.Errorf("name a request of quiet: %w", err)
	}
	name := hex.EncodeToString(number[:])
	if err := write(dir, name+requestEnd, requestFile{Schema: schema, Seconds: seconds}); err != nil {
		return Answer{}, fmt.Errorf("ask for quiet: %w", err)
	}
	return await(ctx, dir, name)
}

// await waits for the answer to a request.
func await(ctx context.Context, dir, name string) (Answer, error) {
	path := filepath.Join(dir, name+answerEnd)
	for {
		// First whether somebody is there, then the answer: a harness that has
		// ended has answered before.
		gone := attended(dir)
		data, err := readSmall(path)
		if err == nil {
			return understood(path, data)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Answer{}, fmt.Errorf("read the answer to a request of quiet: %w", err)
		}
		if gone != nil {
			return Answer{}, gone
		}
		select {
		case <-ctx.Done():
			// A request that was not read yet is not to be kept.
			return Answer{}, errors.Join(ctx.Err(), removed(filepath.Join(dir, name+requestEnd)))
		case <-time.After(pollEvery):
		}
	}
}

// understood reads an answer and removes its file.
func understood(path string, data []byte) (Answer, error) {
	if err := removed(path); err != nil {
		return Answer{}, err
	}
	var file answerFile
	if err := decode(data, &file); err != nil {
		return Answer{}, fmt.Errorf("read the answer %s: %w", path, err)
	}
	if file.Schema != schema {
		return Answer{}, fmt.Errorf("read the answer %s: its schema is %d, this program reads %d", path, file.Schema, schema)
	}
	a := Answer{Quiet: file.Quiet, Until: file.Until, Reason: file.Reason}
	if !a.Quiet {
		return a, fmt.Errorf("%w: %s", ErrRefused, a.Reason)
	}
	return a, nil
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a request of quiet: %w", err)
	}
	return nil
}

// attended tells whether a harness holds the lock.
func attended(dir string) error {
	file, err := os.Open(filepath.Join(dir, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is no directory of a run that goes on", ErrNoHarness, dir)
	}
	if err != nil {
		return fmt.Errorf("look for the harness: %w", err)
	}
	defer file.Close()
	switch err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil
	case err != nil:
		return fmt.Errorf("look for the harness: lock %s: %w", file.Name(), err)
	}
	return fmt.Errorf("%w: the run of %s has ended", ErrNoHarness, dir)
}
