package pagetest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pestle/reports/page/pagetest"
)

// A browser test that could not fail would prove nothing: this page errs and
// asks.
func TestABadPageIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.html")
	const bad = `<!doctype html><title>bad</title><p>before</p>
<img src="http://127.0.0.1:9/picture.png"><img src="other.png">
<script>document.querySelector("p").textContent = "a < b"; throw new Error("bang");</script>`
	if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
		t.Fatal(err)
	}
	seen := pagetest.Look(t, path)
	if got := seen.Texts("p"); !slices.Equal(got, []string{"a < b"}) {
		t.Errorf("the paragraphs are %q", got)
	}
	if got := strings.Join(seen.Console, "\n"); !strings.Contains(got, "bang") {
		t.Errorf("the console has %q, not the error", got)
	}
	if !slices.Contains(seen.Requests, "http://127.0.0.1:9/picture.png") {
		t.Errorf("it asked for %q, not for its picture", seen.Requests)
	}
}
