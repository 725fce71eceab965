package main

import (
	"context"

	"github.com/spf13/cobra"

	"pestle/scenarios"
	"pestle/workload/driver"
)

func workloadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workload",
		Short: "Run one client process of a plan (the harness starts these)",
		Long: `Run one producer or consumer of a plan as a process of its own. The harness
starts these; by hand, keep standard input open: its end means that the harness
is gone. The lines "drain" and "quit" on it are commands.`,
	}
	cmd.AddCommand(
		clientCommand("producer", "Publish numbered messages to the target", driver.Produce),
		clientCommand("consumer", "Check, record and confirm what the target delivers", driver.Consume))
	return cmd
}

func clientCommand(use, short string, run func(context.Context, driver.Options) error) *cobra.Command {
	var plan string
	var options driver.Options
	cmd := &cobra.Command{
		Use:   use + " --plan FILE --name NAME --dir RUNDIR --nsqd-tcp-address ADDRESS",
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if options.Plan, err = scenarios.ReadPlan(plan); err != nil {
				return &exitError{exitHarness, err}
			}
			options.Control = cmd.InOrStdin()
			if err = run(cmd.Context(), options); err != nil {
				return &exitError{exitHarness, err}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&plan, "plan", "", "plan.json of the run")
	flags.StringVar(&options.Name, "name", "", "name of the process in the plan")
	flags.StringVar(&options.Dir, "dir", "", "run directory, for state/ and history/")
	flags.StringArrayVar(&options.Addresses, "nsqd-tcp-address", nil, "host:port of the target's NSQ protocol; a consumer takes several")
	for _, name := range []string{"plan", "name", "dir", "nsqd-tcp-address"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // a name of this list is no flag
		}
	}
	return cmd
}
