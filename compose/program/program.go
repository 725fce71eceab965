// Package program finds the program that goes into the containers of the Docker
// world: Pestle itself for Linux, static, for there is nothing else in its
// image, and with the tag chaos, for its broker has to take disk and clock
// faults.
//
// The running program is taken when it is all that. Otherwise one is built from
// the module's source, when that is at hand; the Go tool sees to it that this
// takes a moment only when nothing has changed. It never downloads anything by
// itself.
//
//	path, err := program.Find(ctx, program.Wanted{Arch: "amd64", Progress: print})
package program

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

const (
	module = "pestle"
	main   = module + "/cmd/pestle" // the package that becomes the program
	chaos  = "chaos"                // the build tag of brokers that take faults
)

// Wanted says what program is wanted.
type Wanted struct {
	Arch     string       // GOARCH of the engine
	Progress func(string) // gets one line before something that takes a while; nil: nobody wants it
}

// Find returns the path of the program. The error says what to do.
func Find(ctx context.Context, w Wanted) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the running program: %w", err)
	}
	unfit := Unfit(own, w.Arch)
	if unfit == nil {
		return own, nil
	}
	source, err := findSource()
	if err == nil {
		return build(ctx, source, w)
	}
	return "", fmt.Errorf("the containers need a program that this one is not (%w), and it cannot be built here: %w; build it in the source tree with `%s` and run that",
		unfit, err, strings.Join(append([]string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + w.Arch, "go"}, arguments("pestle", tags())...), " "))
}

// Unfit says why the file at path cannot be the program of containers on a
// machine of that architecture; nil: it can.
func Unfit(path, arch string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	settings := settingsOf(info)
	switch {
	case info.Path != main:
		return fmt.Errorf("%s is %s", path, info.Path)
	case settings["GOOS"] != "linux":
		return fmt.Errorf("%s is for %s", path, settings["GOOS"])
	case settings["GOARCH"] != arch:
		return fmt.Errorf("%s is for %s, the engine's machine is %s", path, settings["GOARCH"], arch)
	case !slices.Contains(strings.Split(settings["-tags"], ","), chaos):
		return fmt.Errorf("%s was built without the tag %s", path, chaos)
	}
	return dynamic(path)
}

// dynamic says that a program needs a loader and libraries; nil: it does not.
func dynamic(path string) error {
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = file.Close() }() // it was only read
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is not static: it was built with CGO_ENABLED=1", path)
		}
	}
	return nil
}

func settingsOf(info *debug.BuildInfo) map[string]string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return settings
}

// tags are those of the running program, and chaos: a bug that can be planted
// here must be plantable there.
func tags() []string {
	var list []string
	if info, ok := debug.ReadBuildInfo(); ok {
		list = strings.FieldsFunc(settingsOf(info)["-tags"], func(r rune) bool { return r == ',' })
	}
	if !slices.Contains(list, chaos) {
		list = append(list, chaos)
	}
	slices.Sort(list)
	return list
}

var errNoSource = errors.New("neither the working directory nor the program's is in the source tree of module " + module)

// findSource returns the root of the module's source tree.
func findSource() (string, error) {
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if own, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(own))
	}
	for _, dir := range starts {
		for ; ; dir = filepath.Dir(dir) {
			if isRoot(dir) {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errNoSource
}

// isRoot tells whether dir holds the go.mod of this module.
func isRoot(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.TrimSpace(string(first)) == "module "+module
}

// arguments are those of the Go tool.
func arguments(out string, tags []string) []string {
	return []string{"build", "-tags=" + strings.Join(tags, ","), "-ldflags=-s", "-buildvcs=false", "-o", out, "./cmd/pestle"}
}

// build makes the program from source, in the user's cache directory, where the
// next call finds it up to date.
func build(ctx context.Context, source string, w Wanted) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the containers' program: %w", err)
	}
	tags := tags()
	id := sha256.Sum256([]byte(strings.Join(append([]string{source, w.Arch}, tags...), "\x00")))
	out := filepath.Join(cache, module, fmt.Sprintf("pestle-linux-%s-%x", w.Arch, id[:6]))
	if w.Progress != nil {
		w.Progress(fmt.Sprintf("building the containers' program from %s (tags %s)", source, strings.Join(tags, ",")))
	}
	cmd := exec.CommandContext(ctx, "go", arguments(out, tags)...)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+w.Arch, "GOFLAGS=")
	said, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		return "", fmt.Errorf("build the containers' program: %w", ctx.Err())
	}
	if err != nil {
		return "", fmt.Errorf("build the containers' program: (cd %s && CGO_ENABLED=0 GOOS=linux GOARCH=%s go %s): %w\n%.2000s",
			source, w.Arch, strings.Join(cmd.Args[1:], " "), err, said)
	}
	return out, Unfit(out, w.Arch)
}
