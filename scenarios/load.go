package scenarios

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Load reads a scenario file, applies the settings (path=value, as after --set)
// and checks the whole. A mistake is one error that says where it stands
// (file:line:column, or the setting), what was found and what is allowed.
func Load(path string, settings ...string) (Scenario, error) {
	source, err := readBounded(path, MaxScenario)
	if err != nil {
		return Scenario{}, fmt.Errorf("read scenario: %w", err)
	}
	return Parse(path, source, settings...)
}

// Locate returns the path of the scenario that a user's word means: a file, or
// the name of one of scenarios/.
func Locate(word string) string {
	if _, err := os.Stat(word); err == nil || strings.ContainsAny(word, "./\\") && strings.HasSuffix(word, ".yaml") {
		return word
	}
	named := filepath.Join("scenarios", word+".yaml")
	if _, err := os.Stat(named); err == nil {
		return named
	}
	return word
}

// Parse is Load for a source in memory; file is its name in errors.
func Parse(file string, source []byte, settings ...string) (Scenario, error) {
	root, err := parse(source, func(line, column int) string {
		return fmt.Sprintf("%s:%d:%d", file, line, column)
	})
	if err != nil {
		return Scenario{}, err
	}
	for _, setting := range settings {
		if err := override(root, setting); err != nil {
			return Scenario{}, err
		}
	}
	v, err := check(root)
	if err != nil {
		return Scenario{}, err
	}
	s := bind(v)
	return s, s.consistent()
}

// ReadPlan reads and checks a plan file. Errors name the file.
func ReadPlan(path string) (Plan, error) {
	data, err := readBounded(path, MaxPlan)
	if err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	p, err := ParsePlan(data)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// WritePlan writes the canonical bytes of p to a new or emptied file.
func WritePlan(path string, p Plan) error {
	if err := os.WriteFile(path, p.Canonical(), 0o644); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}

// readBounded reads a file of at most limit bytes; it never holds more.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, nil
}
