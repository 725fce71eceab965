package fleet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pestle/campaign/result"
	"pestle/reports"
)

// The roles of this test binary; TestMain plays the one that is asked for.
const (
	roleVar      = "FLEET_TEST_ROLE"
	roleWorker   = "worker"
	roleCampaign = "campaign"

	// What goes wrong with a worker, as <how>:<seed>. A job of that seed is
	// noticed on its way in.
	troubleVar = "FLEET_TEST_TROUBLE"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case roleWorker:
		if err := Work(context.Background(), troubled(os.Stdin), os.Stdout, os.Args[0]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	case roleCampaign:
		seeds, err := strconv.ParseUint(os.Args[2], 10, 64)
		if err == nil {
			_, err = Run(context.Background(), campaignOf(losing, seeds, os.Args[1]))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	default:
		os.Exit(m.Run())
	}
}

// troubled hands lines on, and makes trouble when the seed comes.
func troubled(in io.Reader) io.Reader {
	how, seed, _ := strings.Cut(os.Getenv(troubleVar), ":")
	if how == "" {
		return in
	}
	return readerFunc(func(p []byte) (int, error) {
		n, err := in.Read(p)
		if bytes.Contains(p[:n], []byte(`"seed":`+seed+`,`)) {
			switch how {
			case "panic":
				panic("planted: the worker breaks down")
			case "exit":
				fmt.Fprintln(os.Stderr, "planted: one line\nand another")
				os.Exit(7)
			case "hang":
				time.Sleep(time.Hour)
			}
		}
		return n, err
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// tiny is a short simulated run; some of its seeds lose messages when the
// broker acknowledges from memory.
const tiny = `
name: tiny
about: A few messages, and the broker dies once or twice.
worlds: [sim]
target: {kind: pestle, durability: memory}
workload:
  topic: orders
  delivery: at-least-once
  producers: {count: 1, rate: 5/s..40/s, pending: 4}
  payload: 100..200
  send: {timeout: 400ms, tries: 4, backoff: 50ms}
  channels:
    - {name: ordered, consumers: 1, in_flight: 1}
  msg_timeout: 2s
phases:
  warm_up: {acks: 5, within: 10s}
  chaos: 3s
  recovery: 1s
  drain: 10s
faults:
  - {kind: power-loss, target: broker, for: 100ms, chance: 40%}
  - {kind: kill, target: consumer, for: 100ms..400ms, chance: 50%}
properties: [no-data-corruption, no-phantom-messages]
`

// losing requires what tiny breaks at times.
var losing = strings.Replace(tiny, "no-phantom-messages]", "no-phantom-messages, no-data-loss]", 1)

// options are those of a campaign of a scenario in a new directory.
func options(t *testing.T, text string, seeds uint64) Options {
	t.Helper()
	return campaignOf(text, seeds, filepath.Join(t.TempDir(), "campaign"))
}

// campaignOf has this binary as its workers.
func campaignOf(text string, seeds uint64, dir string) Options {
	return Options{
		Scenarios: []Source{{Name: "tiny", File: "tiny.yaml", Text: text, World: "sim"}},
		From:      1, Seeds: seeds, Parallel: 2, Dir: dir, Command: "pestle campaign tiny.yaml",
		Worker:    []string{"/usr/bin/env", roleVar + "=" + roleWorker, os.Args[0]},
		Reproduce: func(s Source, seed uint64) string { return fmt.Sprintf("pestle run %s --seed %d", s.File, seed) },
	}
}

func carryOut(t *testing.T, o Options) result.Campaign {
	t.Helper()
	c, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What a campaign found, without when and how fast.
func sameFindings(t *testing.T, what string, want, got result.Campaign) {
	t.Helper()
	for _, c := range []*result.Campaign{&want, &got} {
		c.Throughput.Worked, c.Throughput.Runs, c.Throughput.Elapsed, c.Throughput.PerMinute = 0, 0, 0, 0
	}
	diff := cmp.Diff(want, got, cmpopts.IgnoreFields(result.Campaign{}, "Started"), cmpopts.IgnoreFields(result.Story{}, "Command"))
	if diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

// Every seed is run once, and what fails is one finding, with its first and
// its shortest run in directories of their own.
func TestCampaign(t *testing.T) {
	o := options(t, losing, 30)
	c := carryOut(t, o)
	if c.Runs.Done != 30 || c.Runs.Failed == 0 || c.Runs.Passed == 0 || c.Runs.HarnessError != 0 || c.Ended != result.EndedDone {
		t.Fatalf("%+v, ended by %s; want 30 runs, some failing and some passing", c.Runs, c.Ended)
	}
	if len(c.Findings) != 1 || c.Findings[0].Property != "no-data-loss" || c.Findings[0].Rate.K != c.Runs.Failed {
		t.Fatalf("findings %+v, want every failing run in one", c.Findings)
	}
	_, had, _, err := readResults(strings.NewReader(lines(t, o)))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range had {
		if want := r.Outcome == reports.Failed || repeated(r.Seed); r.Repeated != want || r.Diverged {
			t.Errorf("seed %d (%s) was run twice: %v, want %v; it diverged: %v", r.Seed, r.Outcome, r.Repeated, want, r.Diverged)
		}
	}
	for _, e := range []result.Example{c.Findings[0].First, c.Findings[0].Shortest} {
		if want := fmt.Sprintf("runs/tiny-%d", e.Seed); e.Dir != want {
			t.Errorf("the run of seed %d is kept in %q, want %q", e.Seed, e.Dir, want)
		}
		v, err := reports.ReadVerdict(filepath.Join(o.Dir, e.Dir))
		if err != nil {
			t.Fatal(err)
		}
		if v.Status != reports.Failed || v.TraceHash != e.TraceHash || v.Seed != e.Seed || v.Command != e.Command {
			t.Errorf("kept of seed %d, trace %s: %s, seed %d, trace %s, %s", e.Seed, e.TraceHash, v.Status, v.Seed, v.TraceHash, v.Command)
		}
	}
	saved, err := result.Read(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	sameFindings(t, "campaign.json and what is returned differ", c, saved)
	if held := names(t, o.Dir); held != "campaign.json report.html results.ndjson runs" {
		t.Errorf("the directory holds %s", held)
	}
}

// A campaign of passing simulated runs leaves its records and what they amount to.
func TestPassingRunsLeaveNothing(t *testing.T) {
	o := options(t, tiny, 6)
	if c := carryOut(t, o); c.Status != reports.Passed || c.Bound.Runs != 6 {
		t.Errorf("%s: %s; bound %+v", c.Status, c.Reason, c.Bound)
	}
	if held := names(t, o.Dir); held != "campaign.json report.html results.ndjson" {
		t.Errorf("the directory holds %s", held)
	}
}

// The records do not depend on who ran what.
func TestOneWorkerAndThree(t *testing.T) {
	one, three := options(t, losing, 24), options(t, losing, 24)
	one.Parallel, three.Parallel = 1, 3
	a, b := carryOut(t, one), carryOut(t, three)
	a.Throughput.Workers, b.Throughput.Workers = 0, 0
	sameFindings(t, "with one worker and with three", a, b)
}

// Done seeds are not run again, also when more are asked for.
func TestGoOn(t *testing.T) {
	o := options(t, losing, 12)
	carryOut(t, o)
	began := lines(t, o)
	carryOut(t, o)
	if got := lines(t, o); got != began {
		t.Errorf("the same campaign again wrote %q", strings.TrimPrefix(got, began))
	}
	o.Seeds = 20
	c := carryOut(t, o)
	got := lines(t, o)
	if n := strings.Count(got, "\n"); !strings.HasPrefix(got, began) || n != 21 || c.Runs.Done != 20 {
		t.Errorf("with more seeds there are %d lines and %d runs, want 21 and 20", n, c.Runs.Done)
	}
	whole := options(t, losing, 20)
	sameFindings(t, "in two goes and in one", carryOut(t, whole), c)

	// A line that is there twice counts once.
	first := got[strings.Index(got, "\n")+1:]
	first = first[:strings.Index(first, "\n")+1]
	if err := os.WriteFile(filepath.Join(o.Dir, ResultsName), []byte(got+first), 0o600); err != nil {
		t.Fatal(err)
	}
	sameFindings(t, "with a line twice", c, carryOut(t, o))
}

// A command that is no worker ends the campaign at once, and says so.
func TestNoWorker(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"/bin/true", "start a campaign worker: the worker is lost: it ended with exit status 0; it wrote nothing"},
		{"/bin/cat", "start a campaign worker: /bin/cat is none"},
		{"/nowhere", "read Pestle's own binary: open /nowhere: no such file or directory"},
	} {
		o := options(t, tiny, 9)
		o.Worker = []string{c.command}
		if _, err := Run(t.Context(), o); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.command, err, c.want)
		}
	}
}

func TestUntilFinding(t *testing.T) {
	o := options(t, losing, 1000)
	o.UntilFinding = true
	o.Failed = func(v result.Violation, how string) {
		if v.Property != "no-data-loss" || !strings.HasPrefix(how, "pestle run tiny.yaml --seed ") {
			t.Errorf("told of %s, %s", v.Property, how)
		}
	}
	c := carryOut(t, o)
	if c.Runs.Failed != 1 || c.Runs.Done > 900 || c.Ended != result.EndedFinding || c.Findings[0].First.Dir == "" {
		t.Errorf("%+v, ended by %s, first run in %q", c.Runs, c.Ended, c.Findings[0].First.Dir)
	}
	if again := carryOut(t, o); again.Throughput.Runs != 0 || again.Ended != result.EndedFinding {
		t.Errorf("started again it ran %d seeds, ended by %s", again.Throughput.Runs, again.Ended)
	}
}

// An interrupted campaign says what there is, and cannot pass.
func TestInterrupted(t *testing.T) {
	o := options(t, tiny, 100_000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p Progress) {
		if p.Total != 100_000 {
			t.Errorf("%d runs to do, want all", p.Total)
		}
		if p.Done >= 3 {
			cancel()
		}
	}
	c, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Ended != result.EndedInterrupted || c.Runs.Done < 3 || c.ExitCode != 3 {
		t.Errorf("%+v, ended by %s, exit code %d", c.Runs, c.Ended, c.ExitCode)
	}
}

// The budget ends a campaign in good order: what passed has passed.
func TestBudget(t *testing.T) {
	o := options(t, tiny, 100_000)
	o.Budget = time.Second
	c := carryOut(t, o)
	if c.Ended != result.EndedBudget || c.Runs.Passed == 0 || strings.Contains(c.Reason, "interrupted") {
		t.Errorf("%+v, ended by %s: %s", c.Runs, c.Ended, c.Reason)
	}
}

func TestTwoScenariosOfOneName(t *testing.T) {
	o := options(t, tiny, 3)
	o.Scenarios = append(o.Scenarios, o.Scenarios[0])
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "two are named tiny") {
		t.Error(err)
	}
}

func lines(t *testing.T, o Options) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.Dir, ResultsName))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func names(t *testing.T, dir string) string {
	t.Helper()
	held, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, h := range held {
		list = append(list, h.Name())
	}
	return strings.Join(list, " ")
}

// Each finding's shortest run is made small, once.
func TestShrink(t *testing.T) {
	o := options(t, losing, 30)
	o.Shrink = 10 * time.Second
	c := carryOut(t, o)
	f := c.Findings[0]
	if f.Story == nil || f.Story.Error != "" || f.Story.Dir != f.Shortest.Dir+"-shrunk" ||
		f.Story.Faults > f.Story.WasFaults || f.Story.Messages >= f.Story.WasMessages || f.Story.Messages > 10 {
		t.Fatalf("smallest run %+v", f.Story)
	}
	small, err := reports.ReadVerdict(filepath.Join(o.Dir, f.Story.Dir))
	if err != nil {
		t.Fatal(err)
	}
	if small.Status != reports.Failed || small.TraceHash != f.Story.TraceHash {
		t.Errorf("in its directory: %s, trace %s, want %s", small.Status, small.TraceHash, f.Story.TraceHash)
	}
	o.Progress = func(p Progress) {
		if p.Doing != "" {
			t.Errorf("it is done again: %s", p.Doing)
		}
	}
	sameFindings(t, "again", c, carryOut(t, o))
}

// A kept run is the run that was judged, or the harness is at fault.
func TestKeepFindsDivergence(t *testing.T) {
	plan := planOf(t, losing, 1)
	judged := simulate(plan)
	for _, c := range []struct {
		trace    string
		diverged bool
	}{{judged.TraceHash, false}, {"0123456789abcdef", true}} {
		b := bench{setup: setup{Dir: t.TempDir()}}
		r, err := b.keep(t.Context(), plan, job{Keep: "runs/tiny-1", Trace: c.trace})
		if err != nil {
			t.Fatal(err)
		}
		if r.Diverged != c.diverged || (r.Outcome == reports.HarnessError) != c.diverged || strings.Contains(r.Error, c.trace) != c.diverged {
			t.Errorf("trace %s before, %s now: %+v", c.trace, judged.TraceHash, r)
		}
	}
}
