package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/reports/page"
)

// A writer that fails leaves what was there and nothing else.
func TestReplaceIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "verdict.json")
	for _, text := range []string{"one", "two"} {
		if err := page.Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Fatalf("read %q, %v; want %q", got, err, text)
		}
	}
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := page.Replace(taken, []byte("three")) // a directory cannot be replaced by a file
	if err == nil || !strings.Contains(err.Error(), "write "+taken) {
		t.Errorf("error %v, want one that names %s", err, taken)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"taken", "verdict.json"}, names); diff != "" {
		t.Errorf("files left (-want +got):\n%s", diff)
	}
}
