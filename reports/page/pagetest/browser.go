package pagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is for a browser that hangs; it opens a page in about a second.
const patience = 2 * time.Minute

// Seen is what a browser made of a page.
type Seen struct {
	DOM      string   // as HTML, after the script ran
	Console  []string // lines on the console, errors among them
	Requests []string // what the page asked for that is no file
}

// Open opens the page in headless Chromium and fails the test if it wrote to
// the console or asked for anything that is no file. Where there is no
// Chromium the test is skipped; in continuous integration (CI is set) it fails.
func Open(t *testing.T, path string) Seen {
	t.Helper()
	seen := Look(t, path)
	for _, line := range seen.Console {
		t.Errorf("%s wrote to the console: %s", path, line)
	}
	for _, address := range seen.Requests {
		t.Errorf("%s asked for %s", path, address)
	}
	return seen
}

// Look is Open without its judgement.
func Look(t *testing.T, path string) Seen {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		const missing = "no chromium on PATH, so no page was opened; on Debian: apt-get install chromium"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	path, err = filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "net.json")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-breakpad",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync",
		"--host-resolver-rules=MAP * ~NOTFOUND", // what the browser asks for on its own account leads nowhere
		"--user-data-dir="+filepath.Join(dir, "profile"), "--log-net-log="+log, "--enable-logging=stderr", "--dump-dom", "file://"+path)
	var dom, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &dom, &errs
	// Its children are a group, so that none outlives the test.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // usually nobody is left
	}
	if err != nil {
		t.Fatalf("open %s in chromium: %v\n%s", path, err, errs.String())
	}
	requests, err := requested(log)
	if err != nil {
		t.Fatalf("read what %s asked for: %v", path, err)
	}
	seen := Seen{DOM: dom.String(), Requests: requests}
	for line := range strings.Lines(errs.String()) {
		if at := console.FindStringIndex(line); at != nil {
			seen.Console = append(seen.Console, strings.TrimSpace(line[at[1]:]))
		}
	}
	return seen
}

// requested reads Chromium's log of its network: the requests that do not stay
// with files. One that the browser makes on its own account has no origin; the
// end of one has no address.
func requested(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var log struct {
		Constants struct {
			Types map[string]int `json:"logEventTypes"`
		} `json:"constants"`
		Events []struct {
			Type   int `json:"type"`
			Params struct {
				URL       string `json:"url"`
				Initiator string `json:"initiator"`
			} `json:"params"`
		} `json:"events"`
	}
	if err := json.Unmarshal(text, &log); err != nil {
		return nil, fmt.Errorf("chromium's network log: %w", err)
	}
	start, ok := log.Constants.Types["URL_REQUEST_START_JOB"]
	if !ok {
		return nil, fmt.Errorf("chromium's network log names no event URL_REQUEST_START_JOB: its format changed")
	}
	var list []string
	for _, e := range log.Events {
		if e.Type == start && e.Params.URL != "" && !strings.HasPrefix(e.Params.URL, "file://") && e.Params.Initiator != "not an origin" {
			list = append(list, e.Params.URL)
		}
	}
	return list, nil
}

// console is how a line of the console begins in the log, which versions write
// as CONSOLE(12) or CONSOLE:12.
var console = regexp.MustCompile(`:CONSOLE[:(][0-9]+\)?\]`)

var tags = regexp.MustCompile(`<[^>]*>`)

// Texts returns what a reader sees of each element of that name, in order,
// with single spaces. Elements of one name must not be nested.
func (s Seen) Texts(name string) []string {
	name = regexp.QuoteMeta(name)
	var list []string
	for _, m := range regexp.MustCompile(`(?s)<`+name+`(?:\s[^>]*)?>(.*?)</`+name+`>`).FindAllStringSubmatch(s.DOM, -1) {
		list = append(list, Text(m[1]))
	}
	return list
}

// Text is what a reader sees of a piece of HTML.
func Text(source string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(source, " "))), " ")
}
