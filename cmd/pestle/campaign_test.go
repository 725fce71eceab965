package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pestle/reports"
)

// A campaign of real processes that is interrupted has ended them when it is
// gone, and says how to go on.
func TestInterruptedCampaignLeavesNoProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "campaign")
	var told strings.Builder
	cmd := exec.Command("pestle", "campaign", filepath.Join("..", "..", "scenarios", "first-light.yaml"),
		"--seeds", "3", "--world", "process", "--out", dir)
	cmd.Stdout = &told
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const children = 7 // a broker, three producers, three consumers
	until(t, "all children run", func() bool { return len(mentioning(t, dir)) == children+1 })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var status *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &status) || status.ExitCode() != exitInconclusive {
		t.Errorf("it ended with %v, want exit code %d", err, exitInconclusive)
	}
	if left := mentioning(t, dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if v, err := reports.ReadVerdict(filepath.Join(dir, "runs", "first-light-1")); err != nil || !v.Partial {
		t.Errorf("the run was not ended in order: partial %v, error %v", v.Partial, err)
	}
	if !strings.Contains(told.String(), "go on      pestle campaign ") {
		t.Errorf("it does not say how to go on:\n%s", told.String())
	}
}
