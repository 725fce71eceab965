package compose

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// victimDir is the variable by which a test starts itself again, as a harness
// that is killed in the middle of a run. It names that run's directory.
const victimDir = "PESTLE_TEST_VICTIM_DIR"

func TestAKilledHarnessLeavesNothingForLong(t *testing.T) {
	if dir := os.Getenv(victimDir); dir != "" {
		beVictim(t, dir)
		return
	}
	e := engineFor(t)
	l := layout(t, 2)
	victim := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	victim.Env = append(os.Environ(), victimDir+"="+l.Dir)
	victim.Stderr = os.Stderr
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "up" {
	}
	run := runID(l.Dir)
	if state := stateIn(t, e, run); state != Alive {
		t.Errorf("before the kill the run is %q", state)
	}
	if swept, err := e.Sweep(t.Context()); err != nil || strings.Contains(wordsOf(swept), run) {
		t.Errorf("a live run was swept: %s, %v", wordsOf(swept), err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed
	if state := stateIn(t, e, run); state != Dead {
		t.Errorf("after the kill the run is %q", state)
	}
	swept, err := e.Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(wordsOf(swept), run+": 8 containers, 1 network, 5 volumes, 1 image") {
		t.Errorf("swept: %s", wordsOf(swept))
	}
	nothingLeft(t, run)
}

// beVictim prepares a run, starts a broker, says so and waits for the kill.
func beVictim(t *testing.T, dir string) {
	path, err := standin()
	if err != nil {
		t.Fatal(err)
	}
	l := layout(t, 2)
	l.Dir = dir
	h := New(Options{Program: path})
	if err := h.Prepare(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if err := h.Start("broker-1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the broker answers", func() bool { return answers(h.Address(1).Call) })
	fmt.Println("up")
	time.Sleep(time.Minute)
	t.Fatal("it was not killed")
}

func stateIn(t *testing.T, e *Engine, run string) State {
	t.Helper()
	runs, err := e.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.ID == run {
			return r.State
		}
	}
	return ""
}

func wordsOf(runs []Run) string {
	var words []string
	for _, r := range runs {
		words = append(words, r.Words())
	}
	return strings.Join(words, "; ")
}
