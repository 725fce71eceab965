package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"pestle/campaign"
	"pestle/campaign/shrink"
)

// shrinkFlags are what `shrink` takes.
type shrinkFlags struct {
	cpu    time.Duration
	out    string
	save   string
	times  int
	accept int
	json   bool
}

func shrinkCommand() *cobra.Command {
	var f shrinkFlags
	cmd := &cobra.Command{
		Use:   "shrink RUN",
		Short: "Find the smallest plan that fails for the same reason as a saved run",
		Long: `Shrink leaves out of a failing run's plan whatever it can: what follows the
violation, faults, clients, messages, and makes the numbers small and round. A
candidate counts when it breaks the same property for the same cause; in the
simulated world under one of twenty noises, elsewhere in --accept of --times
runs. What is left becomes a run directory of its own, with the diagram of what
happened in sequence.txt, and the search in shrink.json.

The same simulated run and the same Pestle give the same result, unless the CPU
time runs out first.

Exit codes: 0 the smallest plan is written, 2 the harness failed, 3 the run does
not fail (any more), 64 wrong usage.`,
		Example: `  pestle shrink runs/first-light-7
  pestle shrink runs/first-light-7 --out /tmp/small --save acked-before-sync
  pestle shrink runs/first-light-7 --times 5 --accept 2 --cpu 10m   # of real processes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return shrinkRun(cmd, args[0], f) },
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.cpu, "cpu", time.Minute, "CPU time to spend, child processes included")
	flags.StringVar(&f.out, "out", "", "run directory of the result (default runs/<run>-shrunk)")
	flags.StringVar(&f.save, "save", "", "keep the plan as a regression of this name, in "+shrink.RegressionDir)
	flags.IntVar(&f.times, "times", 0, "how often to run a candidate at most (default 20 in sim, else 3)")
	flags.IntVar(&f.accept, "accept", 0, "how many of them have to fail (default 1 in sim, else 2)")
	flags.BoolVar(&f.json, "json", false, "print shrink.json as the last line on standard output, as one JSON object")
	return cmd
}

func shrinkRun(cmd *cobra.Command, run string, f shrinkFlags) error {
	switch {
	case f.cpu <= 0:
		return fmt.Errorf("--cpu %s: want more than nothing", f.cpu)
	case (f.times == 0) != (f.accept == 0):
		return errors.New("--times and --accept go together: a candidate counts when --accept of --times runs fail")
	case f.times < 0 || f.accept < 0 || f.accept > f.times:
		return fmt.Errorf("--times %d --accept %d: want at least one to fail, and not more than there are", f.times, f.accept)
	}
	if f.out == "" {
		f.out = filepath.Join("runs", filepath.Base(filepath.Clean(run))+"-shrunk")
	}
	program, err := os.Executable()
	if err != nil {
		return harness(fmt.Errorf("find Pestle's own binary: %w", err))
	}
	show := &searchDisplay{out: cmd.ErrOrStderr(), terminal: isTerminal(cmd.ErrOrStderr())}
	small, err := shrink.Run(cmd.Context(), shrink.RunOptions{
		Run: run, Out: f.out, Program: program, CPU: f.cpu, Progress: show.progress,
		Command: func(dir string) string { return "pestle replay " + quoted(dir) },
		Accept:  shrink.Acceptance{Runs: f.times, Hits: f.accept},
	})
	show.done()
	switch {
	case errors.Is(err, shrink.ErrNoFailure):
		return &exitError{Code: exitInconclusive, Err: err}
	case errors.Is(err, campaign.ErrInUse), errors.Is(err, os.ErrNotExist):
		return err
	case err != nil:
		return harness(err)
	}
	if f.save != "" {
		path, err := shrink.NewRegression(small.Result).Save(".", f.save)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "kept as %s\n", path)
	}
	return tellShrunk(cmd, f.out, small, f.json)
}

// tellShrunk prints what was found.
func tellShrunk(cmd *cobra.Command, dir string, small shrink.Shrunk, asJSON bool) error {
	people := cmd.OutOrStdout()
	if asJSON {
		people = cmd.ErrOrStderr()
	}
	if err := small.Tell(people, dir); err != nil {
		return harness(err)
	}
	if !asJSON {
		return nil
	}
	line, err := small.Report.Line()
	if err != nil {
		return harness(err)
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line); err != nil {
		return harness(err)
	}
	return nil
}

// searchDisplay shows how far a search is, as display does with a run.
type searchDisplay struct {
	out      io.Writer
	terminal bool
	shown    time.Time
	step     string
	dirty    bool
}

func (d *searchDisplay) progress(p shrink.Progress) {
	now := time.Now()
	every := plainEvery
	if d.terminal {
		every = renewEvery
	}
	if now.Sub(d.shown) < every && (d.terminal || p.Step == d.step) {
		return
	}
	d.shown, d.step = now, p.Step
	text := fmt.Sprintf("%3d faults %5d messages  %5d runs %5.1f s of CPU  %s", p.Best.Faults, p.Best.Messages, p.Runs, p.CPU.Seconds(), p.Step)
	if d.terminal {
		fmt.Fprintf(d.out, "\r\x1b[K%s", text)
		d.dirty = true
		return
	}
	fmt.Fprintln(d.out, text)
}

// done leaves the renewing line as it stands.
func (d *searchDisplay) done() {
	if d.dirty {
		fmt.Fprintln(d.out)
		d.dirty = false
	}
}
