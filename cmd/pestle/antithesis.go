package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"pestle/campaign"
	"pestle/workload/antithesis/composer"
)

func antithesisCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "antithesis",
		Short: "Be a command of an Antithesis test template (its composer starts these)",
		Long: `The commands of the test template in /opt/antithesis/test/v1/pestle of Pestle's
image, where links of the same names stand for them, and setup, the entry point
of the workload's container. docs/antithesis.md tells how to use them, there and
without the platform.

Environment, with its defaults:
  PESTLE_NSQD_TCP      127.0.0.1:4150   host:port of each broker, with commas between them
  PESTLE_NSQD_HTTP     127.0.0.1:4151   of their HTTP interfaces, in the same order
  PESTLE_STATE         /run/pestle      directory that all containers of the workload share
  PESTLE_DRAIN_WITHIN  2m               until nothing may be left, once faults have stopped

Exit codes: 0 the work was done, or no broker could be reached · 1 what must never
happen · 2 the workload itself failed · 64 wrong usage.`,
		Example: `  pestle antithesis setup &
  pestle antithesis first_topic
  pestle antithesis parallel_driver_produce & pestle antithesis parallel_driver_consume; wait
  pestle antithesis finally_verdict`,
	}
	setup := &cobra.Command{
		Use: "setup", Short: "Wait for the brokers, say that the test may begin, and stay", Args: cobra.NoArgs,
		RunE: inComposer(composer.Setup),
	}
	cmd.AddCommand(setup)
	for _, c := range composer.Commands() {
		cmd.AddCommand(&cobra.Command{Use: c.Name, Short: c.Short, Args: cobra.NoArgs, RunE: inComposer(c.Run)})
	}
	return cmd
}

// inComposer runs a command with the settings of the environment.
func inComposer(run func(context.Context, composer.Settings) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		settings, err := composer.FromEnvironment(os.Getenv)
		if err != nil {
			return err
		}
		settings.Release = campaign.Environment().Pestle
		switch err := run(cmd.Context(), settings); {
		case errors.Is(err, composer.ErrViolation):
			return &exitError{exitViolation, err}
		case err != nil:
			return &exitError{exitHarness, err}
		}
		return nil
	}
}
