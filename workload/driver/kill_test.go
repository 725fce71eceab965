package driver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pestle/history"
	"pestle/history/stream"
)

// The test's own program is the process that gets killed.
const (
	envDir     = "PESTLE_TEST_DIR"
	envAddress = "PESTLE_TEST_ADDRESS"
	envName    = "PESTLE_TEST_NAME"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(envName); name != "" {
		o := options(os.Getenv(envDir), name, os.Getenv(envAddress), os.Stdin)
		run := Produce
		if strings.HasPrefix(name, "consumer") {
			run = Consume
		}
		if err := run(context.Background(), o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		return
	}
	os.Exit(m.Run())
}

// Real processes are killed at whatever instant it is, four times each. No
// kill costs a line that the next life does not rebuild, and no counter is
// used twice.
func TestKilledProcesses(t *testing.T) {
	for name, address := range map[string]string{"producer-1": acking(t), "consumer-shared-1": delivering(t)} {
		dir := t.TempDir()
		for life := range 4 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), envName+"="+name, envDir+"="+dir, envAddress+"="+address)
			cmd.Stderr = os.Stderr
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			tail := stream.NewTail(historyPath(dir, name))
			await(t, tail, life+1, note(history.NoteStarted))
			await(t, tail, 20+7*life, func(e history.Event) bool { return e.Ev == history.Ack || e.Ev == history.Finish })
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // says that it was killed
			_, _ = stdin.Close(), tail.Close()
		}
		if err := Reconcile(options(dir, name, address, nil).Plan, dir, name); err != nil {
			t.Fatal(err)
		}
		consistent(t, dir, name)
	}
}
