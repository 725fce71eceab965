package control

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mending is the note in a data directory of damage that is over. Damage of the
// medium stays when its process is gone, and then there is no port to ask for its
// end: the next process that opens the directory undoes it.
const Mending = ".chaos/mend"

// maxMending bounds the note, in bytes: more than a plan has faults.
const maxMending = 64 << 10

// Mend notes that the damage of a fault is over, for a broker that does not run.
// Its data directory must have been opened by one of a chaos build.
func Mend(data string, ref int) error {
	f, err := os.OpenFile(filepath.Join(data, Mending), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("note that fault %d is over: %w", ref, err)
	}
	_, err = fmt.Fprintln(f, ref)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note that fault %d is over: %w", ref, err)
	}
	return nil
}

// ToMend returns the faults that Mend noted, in its order; none without a note.
func ToMend(data string) (refs []int, err error) {
	f, err := os.Open(filepath.Join(data, Mending))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which faults are over: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxMending))
	for lines.Scan() {
		ref, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			return nil, fmt.Errorf("%s: %q is no number of a fault; remove the line", f.Name(), lines.Text())
		}
		refs = append(refs, ref)
	}
	return refs, lines.Err()
}

// Mended removes the note.
func Mended(data string) error {
	if err := os.Remove(filepath.Join(data, Mending)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the note of faults that are over: %w", err)
	}
	return nil
}
