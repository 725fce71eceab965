package composer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"pestle/reports/sdk"
)

// ErrViolation means that something happened that must never happen.
var ErrViolation = errors.New("violation")

// Command is one executable of the test template. The prefix of its name says
// when the composer runs it.
type Command struct {
	Name  string
	Short string // one line, for people
	work  func(*stage, context.Context) error
}

// Commands returns the commands of the template.
func Commands() []Command {
	return []Command{
		{"first_topic", "Make the topic and its channels", (*stage).makeTopic},
		{"parallel_driver_produce", "Publish for a few seconds", (*stage).produce},
		{"parallel_driver_consume", "Consume for a few seconds", (*stage).consume},
		{"anytime_health", "Check that what each broker says of itself fits together", (*stage).health},
		{"eventually_drained", "With faults stopped, see everything acked consumed in time, and judge", (*stage).conclude},
		{"finally_verdict", "The same where no command was cut off", (*stage).conclude},
	}
}

// Setup waits until every broker answers, says that the test may begin, and
// stays until ctx ends: the entry point of the workload's container.
func Setup(ctx context.Context, s Settings) error {
	return Command{Name: "setup", work: (*stage).setUp}.Run(ctx, s)
}

// Run carries the command out. A canceled ctx is an orderly end.
func (c Command) Run(ctx context.Context, s Settings) (err error) {
	g, err := open(s, c.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.assertions.Close()) }()
	if err := c.work(g, ctx); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// stage is where a command works.
type stage struct {
	Settings
	assertions *sdk.Log
}

// open makes the directories and the command's log of assertions.
func open(s Settings, command string) (*stage, error) {
	for _, sub := range []string{"actors", "state", "history", "sdk"} {
		if err := os.MkdirAll(filepath.Join(s.State, sub), 0o755); err != nil {
			return nil, fmt.Errorf("make the directory of the workload: %w; name another with %s", err, VariableState)
		}
	}
	own, err := os.CreateTemp(filepath.Join(s.State, "sdk"), command+"-*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("make the log of assertions: %w", err)
	}
	if err := own.Close(); err != nil {
		return nil, fmt.Errorf("make the log of assertions: %w", err)
	}
	version := sdk.Version{Pestle: s.Release, Go: runtime.Version()}
	log, err := sdk.Open(version, catalog(), own.Name(), sdk.Platform())
	if err != nil {
		return nil, err
	}
	return &stage{Settings: s, assertions: log}, nil
}
