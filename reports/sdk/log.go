package sdk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Name is the file's name, here and on the platform.
const Name = "sdk.jsonl"

// OutputVariable has the directory that Antithesis collects from; its being set
// means that the process runs there.
const OutputVariable = "ANTITHESIS_OUTPUT_DIR"

// Platform returns the file that Antithesis collects, or "" elsewhere.
func Platform() string {
	if dir := os.Getenv(OutputVariable); dir != "" {
		return filepath.Join(dir, Name)
	}
	return ""
}

// Log writes the assertions of one process to one or more files. It only
// appends, each time whole lines in one write, so that a process that is killed
// and started again keeps what it wrote, and several may share a file.
type Log struct{ files []*os.File }

// Open opens or creates the files and declares the catalog in each of them. An
// empty path is left out; that there is none is no error.
func Open(v Version, catalog []Assertion, paths ...string) (*Log, error) {
	head, err := v.line()
	if err != nil {
		return nil, err
	}
	for _, a := range catalog {
		head = append(head, a.declaration()...)
	}
	l := &Log{}
	for _, path := range paths {
		if path == "" {
			continue
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the log of assertions: %w", err), l.Close())
		}
		l.files = append(l.files, file)
	}
	if err := l.write(head); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Declare adds an assertion to those that were declared at first.
func (l *Log) Declare(a Assertion) error { return l.write(a.declaration()) }

// Hit notes an evaluation. Details that cannot be encoded are an error, and
// nothing is written: a line that is missing must not pass for one that holds.
func (l *Log) Hit(a Assertion, condition bool, details any) error {
	line, err := a.line(true, condition, details)
	if err != nil {
		return err
	}
	return l.write(line)
}

// SetupComplete notes that the system under test is up and the test may begin.
func (l *Log) SetupComplete(details any) error {
	line, err := setupLine(details)
	if err != nil {
		return err
	}
	return l.write(line)
}

func (l *Log) write(lines []byte) error {
	for _, f := range l.files {
		if _, err := f.Write(lines); err != nil {
			return fmt.Errorf("write assertions: %w", err)
		}
	}
	return nil
}

// Close closes the files.
func (l *Log) Close() error {
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
