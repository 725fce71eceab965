package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pestle/campaign/result"
	"pestle/reports"
)

func sampleIdentity() identity {
	return identity{
		Schema: recordSchema, Pestle: "pestle 1", Binary: "aaaa", Settings: []string{"a=b"},
		Scenarios: []sameScenario{{Name: "tiny", World: "sim", Text: "1111"}},
	}
}

// reopen opens a ledger and closes it, and returns what it held.
func reopen(t *testing.T, dir string) []result.Record {
	t.Helper()
	l, records, err := openLedger(dir, sampleIdentity())
	if err != nil {
		t.Fatal(err)
	}
	shut(t, l)
	return records
}

func shut(t *testing.T, l *ledger) {
	t.Helper()
	if err := l.close(); err != nil {
		t.Error(err)
	}
}

// written makes a directory with records of these seeds, and returns its file.
func written(t *testing.T, seeds ...uint64) (dir, path string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "campaign")
	l, _, err := openLedger(dir, sampleIdentity())
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, l)
	for _, seed := range seeds {
		if err := l.add(result.Record{Scenario: "tiny", Seed: seed, Outcome: reports.Passed}); err != nil {
			t.Fatal(err)
		}
	}
	return dir, filepath.Join(dir, ResultsName)
}

// Wherever the last line is torn, the whole lines before it stay and new ones
// follow them.
func TestTornLine(t *testing.T) {
	dir, path := written(t, 1, 2, 3)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		l, records, err := openLedger(dir, sampleIdentity())
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", cut, err)
		}
		if err := l.add(result.Record{Scenario: "tiny", Seed: 9, Outcome: reports.Passed}); err != nil {
			t.Fatal(err)
		}
		shut(t, l)
		want := max(0, strings.Count(string(whole[:cut]), "\n")-1)
		if again := reopen(t, dir); len(records) != want || len(again) != want+1 || again[want].Seed != 9 {
			t.Fatalf("cut after %d bytes: %d records, want %d; with another one %+v", cut, len(records), want, again)
		}
	}
}

// Damage elsewhere is an error that names the line.
func TestDamagedLine(t *testing.T) {
	_, path := written(t, 1, 2, 3)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"seed":2`, `"seed":x`, "line 3: record: invalid character 'x'"},
		{`{"schema":1`, `{"scheme":1`, `line 1: the campaign's identity: json: unknown field "scheme"`},
		{"\n", "", "line 1: the campaign's identity"},
	} {
		if err := os.WriteFile(path, []byte(strings.Replace(string(whole), c.from, c.to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := openLedger(filepath.Dir(path), sampleIdentity()); err == nil || !strings.Contains(err.Error(), path+": "+c.want) {
			t.Errorf("%q for %q: error %v, want one with %q", c.to, c.from, err, c.want)
		}
	}
}

// The directory of another campaign is refused, and the error says what
// differs.
func TestAnotherCampaign(t *testing.T) {
	dir, _ := written(t, 1)
	for _, c := range []struct {
		want   string
		change func(*identity)
	}{
		{"the format 1, this pestle writes 2", func(id *identity) { id.Schema = 2 }},
		{"another build of Pestle (pestle 1, aaaa; this one is pestle 2, aaaa)", func(id *identity) { id.Pestle = "pestle 2" }},
		{"another build of Pestle (pestle 1, aaaa; this one is pestle 1, bbbb)", func(id *identity) { id.Binary = "bbbb" }},
		{`it had the settings ["a=b"], not []`, func(id *identity) { id.Settings = nil }},
		{"it ran 1 scenarios, not 2", func(id *identity) { id.Scenarios = append(id.Scenarios, sameScenario{}) }},
		{"it ran tiny in the world sim, not small in sim", func(id *identity) { id.Scenarios[0].Name = "small" }},
		{"it ran tiny in the world sim, not tiny in process", func(id *identity) { id.Scenarios[0].World = "process" }},
		{"the file of scenario tiny was another then", func(id *identity) { id.Scenarios[0].Text = "2222" }},
	} {
		id := sampleIdentity()
		c.change(&id)
		_, _, err := openLedger(dir, id)
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
	if records := reopen(t, dir); len(records) != 1 {
		t.Errorf("after the refusals there are %d records, want 1", len(records))
	}
}

// Two campaigns cannot write into one directory at the same time, nor one into
// somebody else's.
func TestDirectoryInUse(t *testing.T) {
	dir, _ := written(t, 1)
	l, _, err := openLedger(dir, sampleIdentity())
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, l)
	if _, _, err := openLedger(dir, sampleIdentity()); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "another campaign is running") {
		t.Errorf("while it is open: %v", err)
	}

	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openLedger(foreign, sampleIdentity()); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("in another's directory: %v", err)
	}
	if _, err := os.Stat(filepath.Join(foreign, ResultsName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it left something there: %v", err)
	}
}
