package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"pestle/campaign"
	"pestle/campaign/process"
	"pestle/reports"
	"pestle/scenarios"
)

func replayCommand() *cobra.Command {
	var f runFlags
	var times int
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Carry out a saved run's plan again",
		Long: `Replay takes plan.json of a run directory (or a plan file) and carries it out
again, into a new run directory. Real processes never interleave twice alike:
with --times the line at the end tells in how many of the runs it failed.`,
		Example: `  pestle replay runs/first-light-7
  pestle replay runs/first-light-7 --times 10`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 {
				return fmt.Errorf("--times %d: want at least 1", times)
			}
			if f.out != "" && times > 1 {
				return fmt.Errorf("--out names the directory of one run; with --times leave it out")
			}
			path := args[0]
			if filepath.Base(path) != process.PlanName {
				path = filepath.Join(path, process.PlanName)
			}
			plan, err := scenarios.ReadPlan(path)
			if err != nil {
				return err
			}
			worst, failed := reports.Passed, 0
			n := 0
			for n < times && cmd.Context().Err() == nil {
				outcome, err := runPlan(cmd, plan, f.out, "pestle replay "+args[0], f.json)
				if err != nil {
					return err
				}
				n++
				if outcome == reports.Failed {
					failed++
				}
				worst = campaign.Worse(worst, outcome)
			}
			if times > 1 {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d runs failed\n", failed, n)
			}
			return ended(worst)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&times, "times", 1, "how often to run it")
	flags.StringVar(&f.out, "out", "", "run directory (default runs/<scenario>-<seed>-<time>)")
	flags.BoolVar(&f.json, "json", false, "print the verdict as the last line on standard output, as one JSON object")
	return cmd
}
