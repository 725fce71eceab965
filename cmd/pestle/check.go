package main

import (
	"github.com/spf13/cobra"

	"pestle/campaign"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check RUN|FILE",
		Short: "Judge a saved run again, from its plan and history",
		Long: `Check reads plan.json and history/*.ndjson of a run directory and judges them as
the live run did, or judges one file that holds a history in merged order. It
writes nothing.

Exit codes are those of run; damaged files are a failure of the harness (2).`,
		Example: `  pestle check runs/first-light-7
  pestle check runs/first-light-7 --json | tail -n 1`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			result, err := campaign.Check(args[0])
			if err != nil {
				return harness(err)
			}
			if err := tell(cmd, result, asJSON); err != nil {
				return err
			}
			return ended(result.Outcome)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the verdict as the last line on standard output, as one JSON object")
	return cmd
}
