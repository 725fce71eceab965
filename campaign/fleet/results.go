package fleet

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"pestle/campaign/result"
)

// ResultsName is the file of the records in a campaign's directory.
const ResultsName = "results.ndjson"

// ErrInUse means that a directory holds something else than this campaign.
var ErrInUse = errors.New("name another directory with --out, or remove it")

// identity is the first line of results.ndjson: what makes two campaigns the
// same. The seeds are no part of it: more of them are more of the same.
type identity struct {
	Schema    int            `json:"schema"` // of the records
	Pestle    string         `json:"pestle"` // version
	Binary    string         `json:"binary"` // SHA-256 of the program, hex: another build may judge otherwise
	Settings  []string       `json:"settings"`
	Scenarios []sameScenario `json:"scenarios"`
}

type sameScenario struct {
	Name  string `json:"name"`
	World string `json:"world"`
	Text  string `json:"text"` // SHA-256 of the file, hex
}

// recordSchema is the version of the records' format.
const recordSchema = 1

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// differs says what of two campaigns is not the same, or "".
func (a identity) differs(b identity) string {
	switch {
	case a.Schema != b.Schema:
		return fmt.Sprintf("its records have the format %d, this pestle writes %d", b.Schema, a.Schema)
	case a.Pestle != b.Pestle || a.Binary != b.Binary:
		return fmt.Sprintf("it was run by another build of Pestle (%s, %.12s; this one is %s, %.12s)", b.Pestle, b.Binary, a.Pestle, a.Binary)
	case !slices.Equal(a.Settings, b.Settings):
		return fmt.Sprintf("it had the settings %q, not %q", b.Settings, a.Settings)
	case len(a.Scenarios) != len(b.Scenarios):
		return fmt.Sprintf("it ran %d scenarios, not %d", len(b.Scenarios), len(a.Scenarios))
	}
	for i, s := range a.Scenarios {
		switch had := b.Scenarios[i]; {
		case had.Name != s.Name || had.World != s.World:
			return fmt.Sprintf("it ran %s in the world %s, not %s in %s", had.Name, had.World, s.Name, s.World)
		case had.Text != s.Text:
			return fmt.Sprintf("the file of scenario %s was another then", s.Name)
		}
	}
	return ""
}

// ledger is results.ndjson, open and locked.
type ledger struct {
	file *os.File
}

// openLedger opens the records of a campaign's directory, or begins them in an
// empty one, and returns those that are there. The error is ErrInUse when the
// directory is another's.
func openLedger(dir string, id identity) (*ledger, []result.Record, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("make the campaign's directory: %w", err)
	}
	path := filepath.Join(dir, ResultsName)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		held, err := os.ReadDir(dir)
		if err != nil {
			return nil, nil, fmt.Errorf("read the campaign's directory: %w", err)
		}
		if len(held) > 0 {
			return nil, nil, fmt.Errorf("%s is not empty, and no campaign's: %w", dir, ErrInUse)
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("open the campaign's records: %w", err)
	}
	l := &ledger{file: file}
	records, err := l.load(dir, id)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return l, records, nil
}

func (l *ledger) load(dir string, id identity) ([]result.Record, error) {
	if err := syscall.Flock(int(l.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another campaign is running in %s: wait for it, or %w", dir, ErrInUse)
		}
		return nil, fmt.Errorf("lock %s: %w", l.file.Name(), err)
	}
	had, records, whole, err := readResults(l.file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.file.Name(), err)
	}
	// Behind the last whole line is what a killed campaign was writing.
	if err := l.file.Truncate(whole); err != nil {
		return nil, fmt.Errorf("cut the torn last line off %s: %w", l.file.Name(), err)
	}
	if had == nil {
		if err := send(l.file, id); err != nil {
			return nil, fmt.Errorf("begin %s: %w", l.file.Name(), err)
		}
		return nil, nil
	}
	if why := id.differs(*had); why != "" {
		return nil, fmt.Errorf("%s holds another campaign: %s; %w", dir, why, ErrInUse)
	}
	return records, nil
}

// readResults reads the file up to its last whole line, which ends at whole.
// The identity is nil when not even that line is there.
func readResults(file io.Reader) (id *identity, records []result.Record, whole int64, err error) {
	in := bufio.NewReaderSize(file, result.MaxRecord+1)
	for number := 1; ; number++ {
		text, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return id, records, whole, nil
		case err != nil:
			return nil, nil, 0, fmt.Errorf("line %d: %w", number, err)
		}
		if id == nil {
			if id, err = parseIdentity(text); err != nil {
				return nil, nil, 0, fmt.Errorf("line 1: the campaign's identity: %w; without it the campaign cannot go on: %w", err, ErrInUse)
			}
		} else {
			r, err := result.ParseRecord(text)
			if err != nil {
				return nil, nil, 0, fmt.Errorf("line %d: %w; without this line, the seed will be run again", number, err)
			}
			records = append(records, r)
		}
		whole += int64(len(text))
	}
}

func parseIdentity(text []byte) (*identity, error) {
	var id identity
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&id); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one object")
	}
	return &id, nil
}

// add writes a record, in one call.
func (l *ledger) add(r result.Record) error {
	text, err := result.AppendRecord(nil, r)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(text); err != nil {
		return fmt.Errorf("write down the result of %s, seed %d: %w", r.Scenario, r.Seed, err)
	}
	return nil
}

func (l *ledger) close() error { return l.file.Close() }
