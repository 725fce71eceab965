package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"pestle/campaign"
	"pestle/campaign/bench"
)

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure Pestle on this machine",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(benchSimCommand(), benchPublishCommand())
	return cmd
}

func benchSimCommand() *cobra.Command {
	var workers, rounds int
	var each time.Duration
	var worker bool
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Measure the simulated world: events per second and core, seeds per hour",
		Long: `Bench sim runs and judges a minute of 50 messages/s from two producers to two
consumers, with kills and power losses, seed after seed, in one process for
each processor. None may fail.`,
		Example: `  pestle bench sim
  pestle bench sim --workers 1 --rounds 9`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if worker {
				count, err := bench.CountSim(uint64(os.Getpid()), each)
				if err != nil {
					return harness(err)
				}
				return json.NewEncoder(cmd.OutOrStdout()).Encode(count)
			}
			if workers < 1 || rounds < 1 || each < time.Second {
				return fmt.Errorf("--workers and --rounds have to be at least 1, --each at least 1s")
			}
			program, err := os.Executable()
			if err != nil {
				return harness(fmt.Errorf("find Pestle's own binary: %w", err))
			}
			result, err := bench.RunSim(cmd.Context(), program, []string{"bench", "sim", "--worker", "--each", each.String()}, workers, rounds)
			if err != nil {
				return harness(err)
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "%s, %d processors; %d workers, %d rounds of %v\n", campaign.Version(), runtime.NumCPU(), workers, rounds, each)
			fmt.Fprintf(out, "%-44s %12s %12s %12s\n", "", "min", "median", "max")
			row := func(name string, s bench.Spread) {
				fmt.Fprintf(out, "%-44s %12.0f %12.0f %12.0f\n", name, s.Min, s.Median, s.Max)
			}
			row("ring-0 events per second of a worker", result.StepsPerCore)
			row("trace events per second of a worker", result.EventsPer)
			row("virtual seconds per second of a worker", result.Speed)
			row("seeds of a virtual minute per hour, in all", result.SeedsPerHour)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&workers, "workers", runtime.NumCPU(), "processes at once")
	flags.IntVar(&rounds, "rounds", 5, "rounds to measure")
	flags.DurationVar(&each, "each", 5*time.Second, "length of a round")
	flags.BoolVar(&worker, "worker", false, "be one worker of a round")
	if err := flags.MarkHidden("worker"); err != nil {
		panic(err) // the flag was defined one line above
	}
	return cmd
}
