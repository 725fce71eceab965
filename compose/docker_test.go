package compose

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"

	"pestle/campaign/conductor"
	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
	"pestle/workload/antithesis/quiet"
)

// engineFor connects to the engine, or skips the test with one line that says
// why.
func engineFor(t *testing.T) *Engine {
	t.Helper()
	e, err := Connect(context.Background()) // also when the test is being cleaned up
	if err != nil {
		t.Skipf("not run: %v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// standinDir is where the stand-in was built; "": it was not.
var standinDir string

// standin builds the program that stands in for Pestle, once.
var standin = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pestle-standin")
	if err != nil {
		return "", err
	}
	standinDir = dir
	path := filepath.Join(dir, "standin")
	cmd := exec.Command("go", "build", "-ldflags=-s", "-o", path, "./testdata/standin")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the stand-in: %w\n%s", err, said)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(standinDir) // it lies in the system's temporary directory, which is emptied in time
	os.Exit(code)
}

// layout makes a run directory with a cluster of so many brokers, a producer
// and a consumer.
func layout(t *testing.T, brokers int) conductor.Layout {
	t.Helper()
	dir := t.TempDir()
	l := conductor.Layout{Dir: dir, Plan: scenarios.Plan{Target: scenarios.Target{Kind: "pestle", Nodes: brokers, Durability: "fsync"}}}
	dirs := []string{"history", "state", "logs", quiet.Dir}
	for n := 1; n <= brokers; n++ {
		name := fmt.Sprintf("broker-%d", n)
		l.Processes = append(l.Processes, conductor.Process{Name: name, Role: faults.Broker, Number: n})
		dirs = append(dirs, "data/"+name)
	}
	l.Processes = append(l.Processes,
		conductor.Process{Name: "consumer-c-1", Role: faults.Consumer}, conductor.Process{Name: "producer-1", Role: faults.Producer})
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, conductor.PlanName), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	return l
}

// prepared returns a host whose pods are up, and closes it after the test.
func prepared(t *testing.T, brokers int) (*Host, conductor.Layout) {
	t.Helper()
	engineFor(t)
	path, err := standin()
	if err != nil {
		t.Fatal(err)
	}
	l := layout(t, brokers)
	h := New(Options{Program: path, Progress: func(line string) { t.Log(line) }})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		nothingLeft(t, h.project.run)
	})
	began := time.Now()
	if err := h.Prepare(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	t.Logf("prepared in %v", time.Since(began).Round(time.Millisecond))
	return h, l
}

// nothingLeft fails the test if the engine holds anything of the run, or a
// mount of it is there.
func nothingLeft(t *testing.T, run string) {
	t.Helper()
	e := engineFor(t)
	runs, err := e.Runs(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.ID == run {
			t.Errorf("left behind: %+v", r)
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mounts"); err == nil && strings.Contains(string(mounts), run) {
		t.Errorf("a mount of %s is left behind", run)
	}
}

func exitOn(t *testing.T, h *Host) conductor.Exit {
	t.Helper()
	select {
	case e := <-h.Exits():
		return e
	case <-time.After(20 * time.Second):
		t.Fatal("no process has ended")
		return conductor.Exit{}
	}
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 15 s", what)
		}
	}
}

func logOf(t *testing.T, l conductor.Layout, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.Dir, "logs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func answers(address string) bool {
	web := http.Client{Timeout: time.Second}
	answer, err := web.Get("http://" + address + "/ping")
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

func TestABrokerOutlivesItsKillsInAContainer(t *testing.T) {
	h, l := prepared(t, 1)
	at := h.Address(1)
	if err := h.Start("broker-1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the broker answers at "+at.Call, func() bool { return answers(at.Call) })
	if mark, err := os.ReadFile(filepath.Join(l.Dir, "data", "broker-1", "mark")); err != nil || string(mark) != "here" {
		t.Errorf("what the broker wrote is not in the run directory: %q, %v", mark, err)
	}
	for life := 1; life <= 3; life++ {
		if err := h.Signal("broker-1", 9); err != nil {
			t.Fatal(err)
		}
		if e := exitOn(t, h); e.Process != "broker-1" || e.Life != life || e.Signal != 9 || e.Err != nil {
			t.Fatalf("life %d ended with %+v", life, e)
		}
		if answers(at.Call) {
			t.Error("it answers after its end")
		}
		if err := h.LoseData("broker-1"); err != nil {
			t.Error(err)
		}
		if err := h.Start("broker-1"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the broker answers again, at the same address", func() bool { return answers(at.Call) })
	}
	eventually(t, "four starts are in its log", func() bool {
		return strings.Count(logOf(t, l, "broker-1.log"), "on broker-1\n") == 4
	})
	log := logOf(t, l, "broker-1.log")
	if strings.Contains(log, "uid 0") || strings.Contains(log, "can be written to") {
		t.Errorf("the broker is too privileged:\n%s", log)
	}
}

func TestAWorkloadProcessIsToldAndEnds(t *testing.T) {
	h, l := prepared(t, 1)
	for _, c := range []struct {
		name string
		end  func() error
		want conductor.Exit
		log  string
	}{
		{"asked to stop", func() error { return h.Signal("producer-1", 15) }, conductor.Exit{How: "exit status 0"}, "asked to stop"},
		{"by itself", func() error { return h.Tell("producer-1", "fail") }, conductor.Exit{Code: 3, How: "exit status 3"}, "failing"},
	} {
		if err := h.Start("producer-1"); err != nil {
			t.Fatal(err)
		}
		if err := h.Tell("producer-1", "drain"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is told", func() bool { return strings.HasSuffix(logOf(t, l, "producer-1.log"), "told drain\n") })
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
		e := exitOn(t, h)
		if e.Code != c.want.Code || e.Signal != 0 || e.How != c.want.How || e.Err != nil {
			t.Errorf("%s: %+v, want %+v", c.name, e, c.want)
		}
		if log := logOf(t, l, "producer-1.log"); !strings.HasSuffix(log, c.log+"\n") {
			t.Errorf("%s: at its exit its last line is not in its log, which ends %.300q", c.name, log[max(0, len(log)-100):])
		}
		if err := h.Signal("producer-1", 9); !isGone(err) {
			t.Errorf("a signal to a process that is gone: %v", err)
		}
		if err := h.Tell("producer-1", "drain"); err == nil {
			t.Error("a process that is gone was told something")
		}
	}
}

func TestAPausedProcessDoesNothing(t *testing.T) {
	h, _ := prepared(t, 1)
	if err := h.Start("broker-1"); err != nil {
		t.Fatal(err)
	}
	call := h.Address(1).Call
	eventually(t, "the broker answers", func() bool { return answers(call) })
	if err := h.Signal("broker-1", 19); err != nil {
		t.Fatal(err)
	}
	if answers(call) {
		t.Error("it answers while it is paused")
	}
	if err := h.Signal("broker-1", 18); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it goes on", func() bool { return answers(call) })
}

// An agent that is gone carries no fault out, and nothing else would show it
// before one is due.
func TestAnAgentThatIsGoneEndsTheRun(t *testing.T) {
	h, _ := prepared(t, 1)
	if err := h.engine.api.ContainerKill(t.Context(), h.byName["broker-1"].owner, "KILL"); err != nil {
		t.Fatal(err)
	}
	e := exitOn(t, h)
	if e.Process != "broker-1" || e.Err == nil || !strings.Contains(e.Err.Error(), "-broker-1-pod that owns its network, has ended (signal: killed)") {
		t.Errorf("it is told as %+v", e)
	}
}

func TestARunThatIsGivenUpLeavesNothing(t *testing.T) {
	engineFor(t)
	path, err := standin()
	if err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	h := New(Options{Program: path})
	prepared := make(chan error)
	l := layout(t, 3)
	go func() { prepared <- h.Prepare(ctx, l) }()
	e := engineFor(t)
	eventually(t, "its first containers are there", func() bool {
		runs, err := e.Runs(context.Background())
		return err == nil && slices.ContainsFunc(runs, func(r Run) bool { return r.ID == runID(l.Dir) && len(r.Containers) > 0 })
	})
	giveUp()
	if err := <-prepared; err != nil && !errors.Is(err, context.Canceled) { // it may be done just in time
		t.Errorf("prepared: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	time.Sleep(settle) // what the engine had still been asked for it would have made by now
	nothingLeft(t, h.project.run)
}

func TestASweepTakesDeadRunsOnly(t *testing.T) {
	e := engineFor(t)
	alive, err := self()
	if err != nil {
		t.Fatal(err)
	}
	dead, elsewhere := alive, alive
	dead.start = "1." + strings.Repeat("0", 8)
	elsewhere.machine = "another machine"
	foreign := map[string]string{labelRun: "sweep-unsigned"}
	runs := map[string]map[string]string{
		"sweep-alive": alive.labels("sweep-alive"), "sweep-dead": dead.labels("sweep-dead"),
		"sweep-elsewhere": elsewhere.labels("sweep-elsewhere"), "sweep-unsigned": foreign,
	}
	stranger, err := e.api.NetworkCreate(t.Context(), "no-run-of-ours", network.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if err := e.api.NetworkRemove(ctx, stranger.ID); err != nil {
			t.Errorf("the network of a stranger: %v", err)
		}
		all, err := e.Runs(ctx)
		if err != nil {
			t.Error(err)
		}
		for _, r := range all {
			if strings.HasPrefix(r.ID, "sweep-") {
				if err := e.Remove(ctx, r); err != nil {
					t.Error(err)
				}
			}
		}
	})
	path, err := standin()
	if err != nil {
		t.Fatal(err)
	}
	for run, labels := range runs {
		if _, err := e.makeNetwork(t.Context(), "pestle-"+run+"-net", run, labels); err != nil {
			t.Fatal(err)
		}
		if _, err := e.importImage(t.Context(), path, run, labels); err != nil {
			t.Fatal(err)
		}
	}
	swept, err := e.Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, r := range swept {
		words = append(words, r.Words())
	}
	if got := strings.Join(words, "; "); !strings.Contains(got, "sweep-dead: 1 network, 1 image") {
		t.Errorf("swept: %s", got)
	}
	left, err := e.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]State{}
	for _, r := range left {
		states[r.ID] = r.State
	}
	for run, want := range map[string]State{"sweep-alive": Alive, "sweep-elsewhere": Elsewhere, "sweep-unsigned": Unsigned, "sweep-dead": ""} {
		if states[run] != want {
			t.Errorf("after the sweep %s is %q, want %q", run, states[run], want)
		}
	}
}

func TestAProcessRunsOutOfMemory(t *testing.T) {
	h, l := prepared(t, 1)
	for life := 1; life <= 2; life++ {
		if err := h.Start("broker-1"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the broker answers", func() bool { return answers(h.Address(1).Call) })
		h.Impose(faults.Fault{Ref: life, Kind: faults.OutOfMemory, Target: "broker-1"})
		if e := exitOn(t, h); e.Signal != 9 || !strings.HasPrefix(e.How, "out of memory") {
			t.Errorf("life %d ended with %+v", life, e)
		}
		a := actuationOn(t, h)
		if a.Err != nil || a.Ref != life || a.Edge != history.EdgeEffective || !strings.Contains(a.Evidence, "OOMKilled") {
			t.Errorf("life %d: %+v", life, a)
		}
		seen, err := h.engine.api.ContainerInspect(t.Context(), h.byName["broker-1"].process.id)
		if err != nil || seen.HostConfig.Memory < h.engine.info.MemTotal/2 {
			t.Errorf("life %d: its successor would have %d bytes (%v)", life, seen.HostConfig.Memory, err)
		}
	}
	eventually(t, "the engine's events tell of it", func() bool {
		events, err := os.ReadFile(filepath.Join(l.Dir, eventsName))
		return err == nil && strings.Contains(string(events), `"action":"oom"`)
	})
}

// A broker may end itself for another fault just when it is to run out of memory.
func TestAProcessThatIsGoneDoesNotRunOutOfMemory(t *testing.T) {
	h, _ := prepared(t, 1)
	if err := h.Start("broker-1"); err != nil {
		t.Fatal(err)
	}
	if err := h.Signal("broker-1", 15); err != nil {
		t.Fatal(err)
	}
	if e := exitOn(t, h); e.Signal != 0 || e.Code == 0 {
		t.Fatalf("it ended with %+v, want a code", e)
	}
	h.Impose(faults.Fault{Ref: 1, Kind: faults.OutOfMemory, Target: "broker-1"})
	if a := actuationOn(t, h); !isGone(a.Err) {
		t.Errorf("before it was squeezed: %+v", a)
	}
	if _, err := h.awaitDeath(t.Context(), h.byName["broker-1"]); !isGone(err) {
		t.Errorf("after: %v", err)
	}
	seen, err := h.engine.api.ContainerInspect(t.Context(), h.byName["broker-1"].process.id)
	if err != nil || seen.HostConfig.Memory < h.engine.info.MemTotal/2 {
		t.Errorf("its successor would have %d bytes (%v)", seen.HostConfig.Memory, err)
	}
}

func TestAProcessGetsAShareOfAProcessor(t *testing.T) {
	h, _ := prepared(t, 1)
	if err := h.Start("producer-1"); err != nil {
		t.Fatal(err)
	}
	slow := faults.Fault{Ref: 1, Kind: faults.CPUSlow, Target: "producer-1", Factor: 20}
	// The stand-in counts for as much of its processor as it gets.
	if err := h.Tell("producer-1", "count"); err != nil {
		t.Fatal(err)
	}
	cpu := func() time.Duration {
		used, err := h.engine.processor(t.Context(), h.byName["producer-1"].process.id)
		if err != nil {
			t.Fatal(err)
		}
		return used
	}
	h.Impose(slow)
	if a := actuationOn(t, h); a.Err != nil || a.Evidence != "docker: update NanoCPUs=50000000" {
		t.Fatalf("%+v", a)
	}
	began, used := time.Now(), cpu()
	eventually(t, "two seconds", func() bool { return time.Since(began) > 2*time.Second })
	if share := float64(cpu()-used) / float64(time.Since(began)); share > 0.1 {
		t.Errorf("it has %.2f of a processor, want 0.05", share)
	}
	h.Lift(slow)
	if a := actuationOn(t, h); a.Err != nil || a.Edge != history.EdgeEnded {
		t.Fatalf("%+v", a)
	}
	eventually(t, "it has more of a processor again", func() bool {
		began, used := time.Now(), cpu()
		time.Sleep(300 * time.Millisecond) // three periods of the kernel's accounts
		return float64(cpu()-used)/float64(time.Since(began)) > 0.15
	})
}

func actuationOn(t *testing.T, h *Host) conductor.Actuation {
	t.Helper()
	select {
	case a := <-h.Actuations():
		return a
	case <-time.After(20 * time.Second):
		t.Fatal("no answer to a fault")
		return conductor.Actuation{}
	}
}

// processor returns how much time of processors a container has had.
func (e *Engine) processor(ctx context.Context, id string) (time.Duration, error) {
	answer, err := e.api.ContainerStatsOneShot(ctx, id)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var stats container.StatsResponse
	err = decode(answer.Body, &stats)
	return time.Duration(stats.CPUStats.CPUUsage.TotalUsage), err
}
