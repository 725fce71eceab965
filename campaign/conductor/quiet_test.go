package conductor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/scenarios"
	"pestle/workload/antithesis/quiet"
)

// asking asks for quiet as a process of the run does.
func asking(t *testing.T, c *Conductor, seconds int) <-chan error {
	out := make(chan error, 1)
	dir := filepath.Join(c.Dir, quiet.Dir)
	go func() {
		_, err := quiet.Ask(t.Context(), dir, seconds)
		out <- err
	}()
	return out
}

// carryOn carries faults out until done says so.
func carryOn(t *testing.T, c *Conductor, what string, done func() bool) {
	t.Helper()
	var failed error
	err := c.wait(t.Context(), 30*time.Second, what, func() bool {
		failed = c.actuate(true)
		return failed != nil || done()
	})
	if err := errors.Join(failed, err); err != nil {
		t.Fatal(err)
	}
}

// harnessLines are the phases and faults that the harness's history tells, in
// order.
func harnessLines(t *testing.T, c *Conductor) (lines []string, times map[string]int64) {
	t.Helper()
	events, err := stream.ReadFile(filepath.Join(c.Dir, "history", harnessName+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	times = map[string]int64{}
	for _, e := range events {
		line := e.What
		switch e.Ev {
		case history.Phase:
		case history.Fault:
			line = fmt.Sprintf("%s %s %s", e.What, e.Target, e.Edge)
		default:
			continue
		}
		lines = append(lines, line)
		times[line] = e.T
	}
	return lines, times
}

// A request ends every fault early, waits until all that was killed is ready,
// and holds back what is due; then the plan goes on.
func TestQuietThatTheWorkloadAsksFor(t *testing.T) {
	const long = int64(time.Hour / 10)
	c, host := newCluster(t,
		faults.Fault{Kind: faults.Latency, Target: "broker-1", For: long},
		faults.Fault{Kind: faults.Kill, Target: "broker-2", For: long},
		faults.Fault{Kind: faults.Pause, Target: "broker-3", For: long},
		faults.Fault{Kind: faults.Kill, Target: "broker-1", For: 1, Anchor: faults.Anchor{After: &faults.Event{Fault: 3, Delay: 1}}})
	if err := c.enter(history.PhaseChaos); err != nil {
		t.Fatal(err)
	}
	carryOn(t, c, "the faults do not begin", func() bool { return c.took == 3 && !c.process("broker-2").running })
	host.calls()

	longer := asking(t, c, 2)
	carryOn(t, c, "the request does not come", func() bool { return len(c.quiet.waiting) == 1 })
	short := asking(t, c, 1)
	var answered [2]int64
	carryOn(t, c, "no answer comes", func() bool {
		for i, heard := range []<-chan error{short, longer} {
			select {
			case err := <-heard:
				if err != nil {
					t.Error(err)
				}
				answered[i] = stream.Now()
			default:
			}
		}
		return answered[0] != 0 && answered[1] != 0
	})
	calls := strings.Join(host.calls(), ", ")
	for _, want := range []string{"lift 1 latency broker-1", "start broker-2", "signal broker-3 SIGCONT"} {
		if !strings.Contains(calls, want) {
			t.Errorf("the host was told %s; want %s", calls, want)
		}
	}
	if len(c.actions) != 0 || !c.process("broker-2").ready {
		t.Errorf("an answer came while %d faults were active and broker-2 was ready: %t", len(c.actions), c.process("broker-2").ready)
	}
	carryOn(t, c, "the fault that waited does not begin", func() bool { return c.took == 4 && len(c.actions) == 0 })

	lines, times := harnessLines(t, c)
	if tail := lines[len(lines)-4:]; !slices.Equal(tail, []string{"quiet", "quiet-end", "kill broker-1 effective", "kill broker-1 ended"}) {
		t.Errorf("the history ends with %q", tail)
	}
	if lasted := times["quiet-end"] - times["quiet"]; lasted < int64(2*time.Second) {
		t.Errorf("quiet lasted %v; the longest request wants 2 s", time.Duration(lasted))
	}
	for _, ended := range []string{"latency broker-1 ended", "kill broker-2 ended", "pause broker-3 ended"} {
		if before := times["quiet"] - times[ended]; times[ended] == 0 || before < faults.Settle {
			t.Errorf("%s %v before quiet, want %v", ended, time.Duration(before), time.Duration(faults.Settle))
		}
	}
}

// A request that overlaps a window of the plan makes one window with it.
func TestQuietAskedForAroundAPlannedWindow(t *testing.T) {
	c, _ := newCluster(t)
	if err := c.enter(history.PhaseChaos); err != nil {
		t.Fatal(err)
	}
	c.quiet.until = stream.Now() + int64(time.Minute)
	carryOn(t, c, "the window does not begin", func() bool { return c.quiet.open })
	for _, on := range []bool{true, false} {
		if err := c.plannedQuiet(on); err != nil {
			t.Fatal(err)
		}
	}
	c.quiet.until = stream.Now()
	carryOn(t, c, "the window does not end", func() bool { return !c.quiet.open })

	if err := c.plannedQuiet(true); err != nil {
		t.Fatal(err)
	}
	c.quiet.until = stream.Now() + int64(time.Minute)
	if err := c.plannedQuiet(false); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.endQuiet(), c.enter(history.PhaseHeal)); err != nil {
		t.Fatal(err)
	}
	carryOn(t, c, "", func() bool { return true }) // asked for still, and no window outside chaos
	lines, _ := harnessLines(t, c)
	want := []string{"chaos", "chaos", "quiet", "quiet-end", "quiet", "quiet-end", "heal"}
	if !slices.Equal(lines, want) {
		t.Errorf("the history tells %q, want %q", lines, want)
	}
}

// Quiet that does not come is the harness's failure; one that nobody can be
// promised any more is refused.
func TestQuietThatDoesNotCome(t *testing.T) {
	c, _ := newCluster(t)
	if err := c.enter(history.PhaseChaos); err != nil {
		t.Fatal(err)
	}
	c.process("broker-1").ready = false
	heard := asking(t, c, 1)
	carryOn(t, c, "the request does not come", func() bool { return len(c.quiet.waiting) == 1 })
	c.quiet.since -= int64(quietWithin)
	if err := c.keepQuiet(); err == nil || !strings.Contains(err.Error(), "the quiet that a process asked for does not come within") {
		t.Errorf("error %v", err)
	}
	if err := c.quiet.close(); err != nil {
		t.Fatal(err)
	}
	if err := <-heard; !errors.Is(err, quiet.ErrRefused) {
		t.Errorf("the asker hears %v, want a refusal", err)
	}
	c.quiet.desk = nil // the end of the run finds it closed
}

// The whole run notes what was asked for as the windows that its liveness is
// judged in.
func TestEveryWindowEndsBeforeTheNextPhase(t *testing.T) {
	c, host := newRun(t, scenarios.Plan{
		Phases:   scenarios.Phases{Chaos: int64(300 * time.Millisecond)},
		Workload: scenarios.Workload{Topic: "orders"},
	})
	begin(t, c, host)
	c.quiet.until = stream.Now() + int64(time.Hour)
	c.quiet.calm = stream.Now() - faults.Settle
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.chaos(ctx); err != nil {
		t.Fatal(err)
	}
	lines, _ := harnessLines(t, c)
	if want := []string{"chaos", "chaos", "quiet", "quiet-end", "heal"}; !slices.Equal(lines, want) {
		t.Errorf("the history tells %q, want %q", lines, want)
	}
}
