package sdk

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/reports"
	"pestle/scenarios"
)

// parsed is a line of antithesis_assert as a reader that knows nothing of this
// package sees it.
type parsed struct {
	Message, ID, Display string
	Hit, MustHit, Holds  bool
	Details              map[string]any
}

// read returns what a file says: the keys of its lines in order, and the
// assertions.
func read(t *testing.T, path string) (keys []string, asserts []parsed) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var line map[string]map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || len(line) != 1 {
			t.Fatalf("%s: %v; want an object with one key", lines.Text(), err)
		}
		for key, of := range line {
			keys = append(keys, key)
			if key != "antithesis_assert" {
				continue
			}
			details, _ := of["details"].(map[string]any)
			asserts = append(asserts, parsed{
				Message: of["message"].(string), ID: of["id"].(string), Display: of["display_type"].(string),
				Hit: of["hit"].(bool), MustHit: of["must_hit"].(bool), Holds: of["condition"].(bool), Details: details,
			})
		}
	}
	return keys, asserts
}

// The lines have the keys of the documented format, in its spelling.
func TestLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	lost := Assertion{Message: "no-data-loss", Kind: Always, File: "checker/no_data_loss.go"}
	log, err := Open(Version{Pestle: "0.1.0", Go: "go1.26.0"}, []Assertion{lost}, path, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := log.SetupComplete(nil); err != nil {
		t.Fatal(err)
	}
	if err := log.Hit(lost, false, map[string]any{"id": "producer-1-7"}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	want := `{"antithesis_sdk":{"language":{"name":"Go","version":"go1.26.0"},"protocol_version":"1.1.0","sdk_version":"pestle 0.1.0"}}
{"antithesis_assert":{"location":{"class":"pestle","function":"no-data-loss","file":"checker/no_data_loss.go","begin_line":0,"begin_column":0},"details":null,"assert_type":"always","display_type":"Always","message":"no-data-loss","id":"no-data-loss","hit":false,"must_hit":true,"condition":false}}
{"antithesis_setup":{"details":null,"status":"complete"}}
{"antithesis_assert":{"location":{"class":"pestle","function":"no-data-loss","file":"checker/no_data_loss.go","begin_line":0,"begin_column":0},"details":{"id":"producer-1-7"},"assert_type":"always","display_type":"Always","message":"no-data-loss","id":"no-data-loss","hit":true,"must_hit":true,"condition":false}}
`
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%swant\n%s", err, got, want)
	}
}

// A process that comes back, and another one, add to what is there.
func TestNothingIsOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	for range 3 {
		log, err := Open(Version{}, nil, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if keys, _ := read(t, path); len(keys) != 3 {
		t.Errorf("lines %v, want three", keys)
	}
}

// Details that cannot be written are an error, not a line that is missing.
func TestDetailsThatCannotBeWritten(t *testing.T) {
	log, err := Open(Version{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := Assertion{Message: "share", Kind: Always}
	if err := log.Hit(a, true, math.NaN()); err == nil || !strings.Contains(err.Error(), `details of assertion "share"`) {
		t.Errorf("error %v", err)
	}
}

// A run becomes a declaration of each assertion, and an evaluation of what it
// met: inconclusive properties have none, those not promised are left out, and
// each violation that is kept is one.
func TestARun(t *testing.T) {
	dir, platform := t.TempDir(), t.TempDir()
	t.Setenv(OutputVariable, platform)
	plan := scenarios.Plan{
		Phases: scenarios.Phases{Quiet: []scenarios.Quiet{{From: 1, To: 2}}},
		Faults: []faults.Fault{
			{Ref: 1, Kind: faults.Kill, Anchor: faults.Anchor{After: &faults.Event{Point: "ack"}}},
			{Ref: 2, Kind: faults.Pause, Anchor: faults.Anchor{After: &faults.Event{Point: "lead-lost"}}},
		},
	}
	file := reports.VerdictFile{
		World: "sim", Faults: map[string]int64{"kill": 2},
		Properties: []checker.Property{
			{Slug: checker.NoDataCorruption, Required: true, Status: checker.Pass, Exposure: checker.Exposure{"messages checked": 5}},
			{Slug: checker.NoDataLoss, Required: true, Status: checker.Fail, Total: 70, Violations: []checker.Violation{{ID: "producer-1-1"}, {ID: "producer-1-2"}}},
			{Slug: checker.ConsumerProgress, Required: true, Status: checker.Inconclusive, Reason: "no quiet window"},
			{Slug: checker.FlowControl, Status: checker.Pass},
			{Slug: checker.MessageOrdering, Status: checker.NotApplicable},
		},
		Claims: []checker.Claim{{Name: checker.ClaimGaveUp, Count: 3, Reached: true}, {Name: checker.ClaimDuplicateConsumed}},
	}
	events := []history.Event{
		{Ev: history.Phase, What: history.PhaseBoot}, {Ev: history.Phase, What: history.PhaseWarmUp}, {Ev: history.Phase, What: history.PhaseChaos},
		{Ev: history.Fault, What: "kill", Edge: history.EdgeEffective, Ref: 1},
	}
	if err := Write(dir, plan, file, events); err != nil {
		t.Fatal(err)
	}
	keys, asserts := read(t, filepath.Join(dir, Name))
	if keys[0] != "antithesis_sdk" || !slices.Contains(keys, "antithesis_setup") {
		t.Errorf("keys %v, want the version first, and the setup", keys)
	}
	if _, there := read(t, filepath.Join(platform, Name)); len(there) != len(asserts) {
		t.Errorf("%d assertions for the platform, want the same %d", len(there), len(asserts))
	}
	declared := map[string]string{}
	evaluated := map[string][]bool{}
	for _, a := range asserts {
		if a.ID != a.Message {
			t.Errorf("id %q of message %q", a.ID, a.Message)
		}
		if a.Hit {
			evaluated[a.Message] = append(evaluated[a.Message], a.Holds)
			continue
		}
		if declared[a.Message] != "" {
			t.Errorf("%q is declared twice", a.Message)
		}
		declared[a.Message] = a.Display
	}
	for _, c := range []struct {
		message, display string
		holds            []bool
	}{
		{"no-data-corruption", "Always", []bool{true}},
		{"no-data-corruption: enough was tested", "Sometimes", []bool{true}},
		{"no-data-loss", "Always", []bool{false, false}},
		{"no-data-loss: enough was tested", "Sometimes", []bool{true}},
		{"consumer-progress", "Always", nil},
		{"consumer-progress: enough was tested", "Sometimes", []bool{false}},
		{"flow-control", "AlwaysOrUnreachable", []bool{true}},
		{"flow-control: enough was tested", "Sometimes", []bool{true}},
		{"claim: gave-up-after-last-retry", "Sometimes", []bool{true}},
		{"claim: duplicate-consumed", "Sometimes", []bool{false}},
		{"fault: kill took effect", "Sometimes", []bool{true}},
		{"fault: pause took effect", "Sometimes", []bool{false}},
		{"point: ack", "Reachable", []bool{true}},
		{"point: lead-lost", "Reachable", nil},
		{"phase: boot", "Reachable", []bool{true}},
		{"phase: warm-up", "Reachable", []bool{true}},
		{"phase: chaos", "Reachable", []bool{true}},
		{"phase: quiet", "Reachable", nil},
		{"phase: heal", "Reachable", nil},
		{"phase: drain", "Reachable", nil},
		{"phase: verify", "Reachable", nil},
		{"phase: end", "Reachable", nil},
	} {
		if declared[c.message] != c.display || !slices.Equal(evaluated[c.message], c.holds) {
			t.Errorf("%s is %q and was %v; want %s and %v", c.message, declared[c.message], evaluated[c.message], c.display, c.holds)
		}
		delete(declared, c.message)
	}
	if len(declared) > 0 {
		t.Errorf("also declared: %v", declared)
	}

	file.HarnessError = "the disk is full"
	broken := t.TempDir()
	if err := Write(broken, plan, file, events); err != nil {
		t.Fatal(err)
	}
	_, asserts = read(t, filepath.Join(broken, Name))
	for _, a := range asserts {
		if a.Hit && a.Message == checker.NoDataCorruption {
			t.Error("a run whose harness broke still says that a property holds")
		}
	}
}
