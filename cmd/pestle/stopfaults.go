package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"pestle/workload/antithesis/quiet"
)

func stopFaultsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop-faults SECONDS",
		Short: "Ask the run that this process is part of for so many seconds without faults",
		Long: fmt.Sprintf(`A process of a running workload calls this: no new fault begins, those that are
active end, what was killed is started again. It returns when that is so: every
fault has ended and every process is ready. Faults go on by themselves when the
seconds, counted from there, are over; requests that overlap end together, with
the last of them. 1 to %d seconds.

It is what Antithesis' command of that name does there, so a workload calls the
same on both: the path of the command is in %s.
Where to ask is in %s, which the harness sets.

Exit codes: 0 it is quiet · 2 no harness is there, or it cannot keep quiet · 64 wrong usage.`,
			quiet.MaxSeconds, quiet.Variable, quiet.DirVariable),
		Example: `  [ -n "$ANTITHESIS_STOP_FAULTS" ] && "$ANTITHESIS_STOP_FAULTS" 60   # in a workload, here and there
  pestle stop-faults 60                                              # the same, by its long name`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			seconds, err := strconv.Atoi(args[0])
			if err != nil || seconds < 1 || seconds > quiet.MaxSeconds {
				return fmt.Errorf("stop-faults %.40q: want a number of seconds from 1 to %d", args[0], quiet.MaxSeconds)
			}
			if _, err := quiet.Ask(cmd.Context(), os.Getenv(quiet.DirVariable), seconds); err != nil {
				if errors.Is(err, quiet.ErrNoHarness) {
					err = fmt.Errorf("stop-faults: %w; only a process of a run can ask, with what the harness put into its environment", err)
				}
				return &exitError{exitHarness, err}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "quiet for %d s: every fault has ended and every process is ready\n", seconds)
			return nil
		},
	}
}
