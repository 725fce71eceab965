package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// write makes a source tree of a small program that bears Pestle's module path.
func write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module pestle\n\ngo 1.26\n",
		"cmd/pestle/main.go": "package main\n\nfunc main() { println(\"ground\") }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// compile builds the small program in its own way.
func compile(t *testing.T, source string, env []string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, args...), "./cmd/pestle")...)
	cmd.Dir, cmd.Env = source, append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	return out
}

func TestUnfitSaysWhatIsWrong(t *testing.T) {
	source := write(t)
	static := []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64"}
	for _, c := range []struct {
		name, path, arch, want string
	}{
		{"the right one", compile(t, source, static, "-tags=chaos,plant"), "amd64", ""},
		{"without the tag", compile(t, source, static, "-tags=plant"), "amd64", "without the tag chaos"},
		{"for another machine", compile(t, source, static, "-tags=chaos"), "arm64", "is for amd64"},
		{"for another system", compile(t, source, []string{"CGO_ENABLED=0", "GOOS=darwin", "GOARCH=amd64"}, "-tags=chaos"), "amd64", "is for darwin"},
		{"with a loader", compile(t, source, static, "-tags=chaos", "-buildmode=pie", "-ldflags=-linkmode=internal"), "amd64", "not static"},
		{"another program", os.Args[0], runtime.GOARCH, "program.test"},
		{"no program", filepath.Join(source, "go.mod"), "amd64", "go.mod"},
	} {
		err := Unfit(c.path, c.arch)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

func TestFindBuildsFromTheSourceTreeThatOneStandsIn(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(filepath.Join(write(t), "cmd"))
	var lines []string
	path, err := Find(t.Context(), Wanted{Arch: "amd64", Progress: func(s string) { lines = append(lines, s) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := Unfit(path, "amd64"); err != nil {
		t.Error(err)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "chaos") {
		t.Errorf("progress: %q", lines)
	}
}

func TestFindWithoutSourceSaysHowToBuild(t *testing.T) {
	if isRoot(filepath.Dir(os.Args[0])) {
		t.Fatal("the test program lies in a source tree")
	}
	t.Chdir(t.TempDir())
	_, err := Find(t.Context(), Wanted{Arch: "arm64"})
	if err == nil || !strings.Contains(err.Error(), "GOARCH=arm64 go build -tags=chaos") {
		t.Errorf("the error does not say how to build: %v", err)
	}
}
