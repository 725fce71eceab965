package reports

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/reports/page/pagetest"
	"pestle/sim"
)

func renderPage(t *testing.T, s *synthetic) []byte {
	t.Helper()
	text, err := render(s.run, s.plan, s.verdict, s.events, []file{{Path: "history/a b.ndjson"}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestPageIsWholeAndAlone(t *testing.T) {
	empty := &synthetic{verdict: checker.Verdict{Status: checker.Inconclusive}}
	silent := newSynthetic() // phases and faults, but no messages
	silent.events = silent.events[:1]
	for name, s := range map[string]*synthetic{
		"pass": newSynthetic(), "fail": failing(), "inconclusive": doubtful(), "small": small(), "empty": empty, "one line": silent, "hostile": hostile(),
	} {
		t.Run(name, func(t *testing.T) {
			text := renderPage(t, s)
			if !bytes.Equal(text, renderPage(t, s)) {
				t.Error("drawn twice, it differs")
			}
			pagetest.Alone(t, text, func(link string) bool { return link == "history/a%20b.ndjson" })
			for _, scheme := range []string{"http://", "https://", "url(", "@import", "ZgotmplZ"} {
				if s.run.ID != hostileText && bytes.Contains(text, []byte(scheme)) {
					t.Errorf("the page holds %s", scheme)
				}
			}
		})
	}
}

// The browser runs the script and applies the style only when their bytes in
// the page have the hashes of the policy.
func TestPolicyNamesThePagesOwnCode(t *testing.T) {
	text := renderPage(t, small())
	var policy string
	for _, e := range pagetest.Parse(t, text) {
		if e.Attrs["http-equiv"] == "Content-Security-Policy" {
			policy = e.Attrs["content"]
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("the policy allows more than it names: %q", policy)
	}
	for _, name := range []string{"style", "script"} {
		code := regexp.MustCompile(`(?s)<` + name + `>(.*?)</` + name + `>`).FindSubmatch(text)
		if code == nil {
			t.Fatalf("no <%s>", name)
		}
		sum := sha256.Sum256(code[1])
		want := name + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q does not hold %s", policy, want)
		}
	}
}

const hostileText = `producer-1-1</script></title></style><script>alert(1)</script><img src="http://evil.example/x" onerror='a()'>" onload="b() ` + "`${c}` {{.Run}} \x00\x1b[2J\u202e\xff"

// hostile is a run in which everything the system under test could have named
// is an attack on the page.
func hostile() *synthetic {
	s := small()
	bad := hostileText
	s.run.ID, s.run.Scenario, s.run.World, s.run.PlanHash, s.run.Command, s.run.Started, s.run.HarnessError = bad, bad, bad, bad, bad, bad, bad
	s.run.Environment = Environment{Go: bad, OS: bad, Arch: bad, Pestle: bad, Target: bad}
	s.run.FaultLog = []faults.Entry{{Ref: 1, Kind: faults.Kind(bad), Target: bad, Note: bad}}
	s.plan.Target.Kind, s.plan.Target.Durability, s.plan.Target.Flags, s.plan.Target.Address = bad, bad, []string{bad}, bad
	s.plan.Workload.Topic, s.plan.Workload.Consumers[0].Channel = bad, bad
	s.verdict.Reason = bad
	s.verdict.Properties = []checker.Property{{
		Slug: bad, Class: checker.Class(bad), Status: checker.Status(bad), Reason: bad, Total: 1, Exposure: checker.Exposure{bad: 1},
		Violations: []checker.Violation{{ID: bad, Channel: bad, Pos: bad, T: s.events[3].T, Cause: bad, Detail: bad}},
	}}
	s.verdict.Claims = []checker.Claim{{Name: bad}}
	for _, what := range []string{"effect send ", "network connection 1 brings ", "effect write ", bad + " effective ", "start ", ""} {
		s.run.Story = append(s.run.Story, sim.Moment{Event: 1, From: 1, T: s.events[0].T, Who: bad + what, What: what + bad})
	}
	for i := range s.events {
		s.events[i].ID, s.events[i].Src, s.events[i].Channel, s.events[i].Pos, s.events[i].Text, s.events[i].Target = bad, bad, bad, bad, bad, bad
		if s.events[i].What != "" {
			s.events[i].What = bad
		}
	}
	exited := history.Event{T: s.events[5].T, Src: bad, Ev: history.Note, What: history.NoteExited, Target: bad, Text: bad}
	s.events = append(s.events, exited, history.Event{T: exited.T, Ev: history.Kind(bad), ID: bad})
	s.sort()
	return s
}

// A day of traffic and thousands of faults and violations still give a page
// that opens at once.
func TestPageStaysSmall(t *testing.T) {
	s := newSynthetic()
	s.events = nil
	long := strings.Repeat("é<", 50_000)
	for i := range int64(100_000) {
		id := fmt.Sprintf("producer-1-%d", i%1_000+1)
		s.add(i*864*millisecond, history.Event{Src: "producer-1", Ev: history.Attempt, ID: id, Try: 1})
		s.add(i*864*millisecond+1, history.Event{Src: "consumer-a-1", Ev: history.Consume, ID: id, Channel: fmt.Sprintf("channel-%d", i%50), Text: long})
		if i%20 == 0 {
			s.add(i*864*millisecond+2, history.Event{Src: "harness", Ev: history.Fault, What: "kill", Target: fmt.Sprintf("broker-%d", i%100), Edge: history.EdgeEffective, Ref: int(i) + 1})
		}
	}
	for i := range s.verdict.Properties {
		p := &s.verdict.Properties[i]
		p.Status, p.Total, p.Reason = checker.Fail, 1_000_000, long
		for n := range checker.MaxViolations {
			p.Violations = append(p.Violations, checker.Violation{ID: fmt.Sprintf("producer-1-%d", n+1), Cause: long, Detail: long, T: boot})
		}
	}
	text := renderPage(t, s)
	pagetest.Parse(t, text)
	const limit = 3 << 20
	if len(text) > limit {
		t.Errorf("%d bytes, want at most %d", len(text), limit)
	}
}

func TestFilesThePageNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"plan.json", "verdict.json", "other.txt", "history/harness.ndjson", "history/broker-1.ndjson", "logs/broker-1.log"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 1_500), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxFiles + 7 {
		if err := os.MkdirAll(filepath.Join(dir, "state"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "state", fmt.Sprintf("%03d.state", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := small()
	if err := WriteHTML(dir, s.run, s.plan, s.verdict, s.events); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ReportName))
	if err != nil {
		t.Fatal(err)
	}
	var links []string
	for _, e := range pagetest.Parse(t, text) {
		if href := e.Attrs["href"]; e.Name == "a" && !strings.HasPrefix(href, "#") {
			links = append(links, href)
		}
	}
	want := "verdict.json plan.json history/broker-1.ndjson history/harness.ndjson state/000.state"
	if got := strings.Join(links[:min(len(links), 5)], " "); got != want {
		t.Errorf("the page links %s first, want %s", got, want)
	}
	if len(links) != 4+maxFiles+1 {
		t.Errorf("%d links, want %d", len(links), 4+maxFiles+1)
	}
	if !bytes.Contains(text, []byte("and 7 more")) {
		t.Error("it does not say how many state files are left out")
	}
}
