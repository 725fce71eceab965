package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pestle/cmd/detlint/purity"
)

// TestRing0IsPure runs detlint over the whole module, so that plain
// "go test ./..." refuses what CI would refuse.
func TestRing0IsPure(t *testing.T) {
	dependOnTree(t)
	tool := filepath.Join(t.TempDir(), "detlint")
	run(t, "build", "-o", tool, "pestle/cmd/detlint")
	run(t, "vet", "-vettool="+tool, "pestle/...")
}

// TestTableMatchesTree: each row names a package that exists, and driver files
// that exist, so that a renamed file does not leave a hole behind.
func TestTableMatchesTree(t *testing.T) {
	dependOnTree(t)
	for _, p := range purity.Pestle {
		dir := strings.TrimSpace(run(t, "list", "-f", "{{.Dir}}", p.Path))
		for _, name := range p.Drivers {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("cmd/detlint/purity/rings.go: %s has no driver file %s: remove it from the table", p.Path, name)
			}
		}
	}
}

// closure lists the standard packages that ring 0 rests on, directly or not;
// Go's own internal packages aside. Those that ring 0 could not import itself
// come with fmt, encoding/json or crypto/sha256.
var closure = []string{
	"bytes", "cmp", "container/heap", "crypto", "crypto/cipher", "crypto/fips140", "crypto/sha256",
	"crypto/subtle", "encoding", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/json",
	"errors", "fmt", "hash", "hash/crc32", "io", "io/fs", "iter", "maps", "math", "math/bits", "os",
	"path", "reflect", "runtime", "slices", "sort", "strconv", "strings", "sync", "sync/atomic",
	"syscall", "time", "unicode", "unicode/utf16", "unicode/utf8", "unsafe",
}

// TestImportClosure: whatever ring 0 reaches through imports is ring 0 or a
// listed standard package. Packages with driver files reach further by right,
// and so does who imports them; there the analyzer looks at each pure file's
// imports instead.
func TestImportClosure(t *testing.T) {
	dependOnTree(t)
	var pure, mixed []string
	for _, p := range purity.Pestle {
		if len(p.Drivers) == 0 {
			pure = append(pure, p.Path)
		} else {
			mixed = append(mixed, p.Path)
		}
	}
	byRight := imports(t, mixed)
	for _, i := range imports(t, pure) {
		switch {
		case slices.Contains(byRight, i):
		case i.standard:
			if !isInternal(i.path) && !slices.Contains(closure, i.path) {
				t.Errorf("ring 0 reaches the standard package %s: find who imports it with \"go list -deps\", or list it here if it is harmless", i.path)
			}
		case !slices.Contains(pure, i.path):
			t.Errorf("ring 0 reaches %s, which is not ring 0", i.path)
		}
	}
}

// imported is a package that others import, directly or not.
type imported struct {
	path     string
	standard bool
}

// imports lists what packages reach, and themselves.
func imports(t *testing.T, packages []string) (list []imported) {
	t.Helper()
	args := append([]string{"list", "-deps", "-f", "{{.ImportPath}} {{.Standard}}"}, packages...)
	for line := range strings.Lines(run(t, args...)) {
		path, standard, _ := strings.Cut(strings.TrimSpace(line), " ")
		list = append(list, imported{path, standard == "true"})
	}
	return list
}

// isInternal tells whether a standard package is one of Go's own parts.
func isInternal(path string) bool {
	parts := strings.Split(path, "/")
	return slices.Contains(parts, "internal") || parts[0] == "vendor"
}

// dependOnTree reads the module's folders. The go command repeats a remembered
// result as long as the files that the test itself looked at are unchanged; it
// does not see what the commands started by the test read.
func dependOnTree(t *testing.T) {
	t.Helper()
	root := strings.TrimSpace(run(t, "list", "-m", "-f", "{{.Dir}}"))
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".git" || path == filepath.Join(root, "runs")) {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatalf("walk the module: %v", err)
	}
}

// run runs the go command and returns its standard output.
func run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
