package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pestle/checker"
	"pestle/reports"
)

// timeline is one run of the test template, as the composer makes them: a broker
// of its own, commands by their names, kills in between.
type timeline struct {
	*testing.T
	dir, durability, tcp, http string
	broker                     *exec.Cmd
}

func newTimeline(t *testing.T, durability string) *timeline {
	t.Helper()
	l := &timeline{T: t, dir: t.TempDir(), durability: durability, tcp: freeAddress(t), http: freeAddress(t)}
	if err := os.Mkdir(filepath.Join(l.dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.startBroker()
	t.Cleanup(func() { l.end(l.broker) })
	return l
}

// freeAddress is one that nobody listens on at the moment.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (l *timeline) startBroker() {
	l.Helper()
	l.broker = exec.Command("pestle", "broker", "--tcp-address="+l.tcp, "--http-address="+l.http,
		"--data-path="+filepath.Join(l.dir, "data"), "--durability="+l.durability)
	if err := l.broker.Start(); err != nil {
		l.Fatal(err)
	}
	until(l.T, "the broker answers", func() bool {
		answer, err := http.Get("http://" + l.http + "/ping")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// end kills a process and waits for it.
func (l *timeline) end(c *exec.Cmd) {
	_ = c.Process.Kill() // it may have ended
	_ = c.Wait()         // by a signal
}

func (l *timeline) start(name string) *exec.Cmd {
	l.Helper()
	c := exec.Command(name)
	c.Env = append(os.Environ(), "PESTLE_NSQD_TCP="+l.tcp, "PESTLE_NSQD_HTTP="+l.http,
		"PESTLE_STATE="+l.state(), "PESTLE_DRAIN_WITHIN=45s", "ANTITHESIS_OUTPUT_DIR="+l.dir)
	c.Stderr = new(bytes.Buffer)
	if err := c.Start(); err != nil {
		l.Fatal(err)
	}
	return c
}

func (l *timeline) state() string { return filepath.Join(l.dir, "workload") }

// finish waits for a command that has to end with code.
func (l *timeline) finish(c *exec.Cmd, code int) string {
	l.Helper()
	_ = c.Wait() // the code says it
	said := fmt.Sprint(c.Stderr)
	if got := c.ProcessState.ExitCode(); got != code {
		l.Fatalf("%s ended with %d, want %d: %s", c.Args[0], got, code, said)
	}
	return said
}

func (l *timeline) run(name string) { l.Helper(); l.finish(l.start(name), exitPass) }

// until waits for a text in some history.
func (l *timeline) until(what, text string) {
	l.Helper()
	until(l.T, what, func() bool {
		files, _ := filepath.Glob(filepath.Join(l.state(), "history", "*.ndjson")) // the pattern is good
		for _, path := range files {
			if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), text) {
				return true
			}
		}
		return false
	})
}

// The broker keeps its promises while it and the drivers are killed: every
// command ends with 0, and the verdict is a pass.
func TestTheTestTemplate(t *testing.T) {
	l := newTimeline(t, "fsync")
	l.run("first_topic")
	drivers := []*exec.Cmd{
		l.start("parallel_driver_produce"), l.start("parallel_driver_produce"),
		l.start("parallel_driver_consume"), l.start("parallel_driver_consume"),
	}
	killed := []*exec.Cmd{l.start("parallel_driver_produce"), l.start("parallel_driver_consume")}
	l.until("a message is consumed", `"ev":"consume"`)
	l.end(l.broker)
	drivers = append(drivers, l.start("parallel_driver_produce")) // what is retried is judged, too
	l.until("a send is tried again", `"try":2,"topic"`)
	l.startBroker()
	for _, c := range killed {
		l.end(c)
	}
	l.run("anytime_health")
	for _, c := range drivers {
		l.finish(c, exitPass)
	}
	l.run("eventually_drained")
	l.run("finally_verdict")
	v, err := reports.ReadVerdict(l.state())
	if err != nil || v.Status != reports.Passed || v.Totals.Acked == 0 {
		t.Errorf("verdict %s (%s), %v, of %d acked messages; want a pass", v.Status, v.Reason, err, v.Totals.Acked)
	}
	lines, err := os.ReadFile(filepath.Join(l.dir, "sdk.jsonl"))
	for _, want := range []string{`"antithesis_setup"`, `"antithesis_sdk"`, `"id":"no-data-loss","hit":true,"must_hit":true,"condition":true`} {
		if err != nil || !bytes.Contains(lines, []byte(want)) {
			t.Errorf("sdk.jsonl (%v) lacks %s", err, want)
		}
	}
}

// A broker that acknowledges before the disk is found out by the last command.
func TestTheTestTemplateFindsALoss(t *testing.T) {
	l := newTimeline(t, "memory")
	l.run("first_topic")
	producing := l.start("parallel_driver_produce")
	l.until("a message is acked", `"ev":"ack"`)
	l.finish(producing, exitPass)
	l.end(l.broker)
	l.startBroker()
	l.run("first_topic") // the topic may be gone with its messages: nothing could be drained
	said := l.finish(l.start("finally_verdict"), exitViolation)
	if !strings.Contains(said, "violation of "+checker.NoDataLoss) {
		t.Errorf("it says %q, want a violation of %s", said, checker.NoDataLoss)
	}
	lines, err := os.ReadFile(filepath.Join(l.dir, "sdk.jsonl"))
	if want := `"id":"no-data-loss","hit":true,"must_hit":true,"condition":false`; err != nil || !bytes.Contains(lines, []byte(want)) {
		t.Errorf("sdk.jsonl (%v) lacks %s", err, want)
	}
}

// With no broker there, drivers have nothing to say: only the end of the test
// wants one.
func TestTheTestTemplateWithoutABroker(t *testing.T) {
	l := newTimeline(t, "fsync")
	l.run("first_topic")
	l.end(l.broker)
	for _, c := range []*exec.Cmd{l.start("parallel_driver_consume"), l.start("parallel_driver_produce"), l.start("anytime_health")} {
		l.finish(c, exitPass)
	}
	l.startBroker()
	l.run("eventually_drained")
}

// The stop-faults command is what its link is called, and says what is wrong.
func TestStopFaultsByItsName(t *testing.T) {
	for _, c := range []struct {
		args []string
		dir  string
		code int
		want string
	}{
		{[]string{"soon"}, "", exitUsage, `stop-faults "soon": want a number of seconds from 1 to 3600`},
		{[]string{"0"}, "", exitUsage, "want a number of seconds"},
		{nil, "", exitUsage, "accepts 1 arg(s), received 0"},
		{[]string{"5"}, "", exitHarness, "no harness is there to stop faults: PESTLE_QUIET_DIR is not set"},
		{[]string{"5"}, t.TempDir(), exitHarness, "is no directory of a run that goes on"},
	} {
		cmd := exec.Command("stop-faults", c.args...)
		cmd.Env = append(os.Environ(), "PESTLE_QUIET_DIR="+c.dir)
		out, _ := cmd.CombinedOutput() // the code says it
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%q: code %d and %q; want %d and one line with %q", c.args, code, out, c.code, c.want)
		}
	}
}

// someKills is a short run with faults all over it.
const someKills = `
name: some-kills
about: Kills for some seconds.
worlds: [process]
target: {kind: pestle}
workload:
  topic: orders
  delivery: at-least-once
  producers: {count: 1, rate: 50/s, pending: 4}
  payload: 100..200
  send: {timeout: 400ms, tries: 4, backoff: 50ms}
  channels:
    - {name: ordered, consumers: 1, in_flight: 1}
  msg_timeout: 2s
phases:
  warm_up: {acks: 10, within: 10s}
  chaos: 8s
  recovery: 1s
  drain: 10s
faults:
  - {kind: kill, target: broker, for: 100ms}
  - {kind: kill, target: broker, for: 100ms}
  - {kind: kill, target: producer, for: 100ms}
  - {kind: kill, target: consumer, for: 100ms}
properties: [no-data-corruption, no-phantom-messages, no-data-loss]
`

// A real run keeps quiet when one of its processes asks: no fault of the plan
// begins, and it passes all the same.
func TestStopFaultsInARun(t *testing.T) {
	dir, scenario := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "kills.yaml")
	if err := os.WriteFile(scenario, []byte(someKills), 0o600); err != nil {
		t.Fatal(err)
	}
	harness := exec.Command("pestle", "run", scenario, "--world", "process", "--out", dir)
	var out bytes.Buffer
	harness.Stdout, harness.Stderr = &out, &out
	if err := harness.Start(); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "history", "harness.ndjson")
	read := func() string {
		content, err := os.ReadFile(own)
		if err != nil {
			return ""
		}
		return string(content)
	}
	until(t, "a fault takes effect", func() bool { return strings.Contains(read(), `"edge":"effective"`) })
	ask := exec.Command(filepath.Join(dir, "quiet", "stop-faults"), "3")
	ask.Env = append(os.Environ(), "PESTLE_QUIET_DIR="+filepath.Join(dir, "quiet"))
	said, err := ask.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(said), "quiet for 3 s") {
		t.Errorf("it says %q, %v", said, err)
	}
	before := read()
	if !strings.Contains(before, `"what":"quiet"`) || strings.Count(before, `"edge":"effective"`) != strings.Count(before, `"edge":"ended"`) {
		t.Errorf("it returned before quiet was in the history and every fault had ended:\n%s", before)
	}
	if err := harness.Wait(); err != nil {
		t.Errorf("the run: %v: %s", err, out.String())
	}
	_, window, _ := strings.Cut(read(), `"what":"quiet"`)
	window, _, ended := strings.Cut(window, `"what":"quiet-end"`)
	if !ended || strings.Contains(window, `"ev":"fault"`) {
		t.Errorf("a fault in the quiet that was asked for:\n%s", window)
	}
}
