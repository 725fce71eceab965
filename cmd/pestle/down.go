package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"pestle/compose"
)

func downCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down [RUN…]",
		Short: "Remove what runs in the Docker world left behind",
		Long: `Down removes containers, networks, volumes and images of runs whose pestle was
killed. It leaves every other Docker object alone, and says what it removed. A
run that is under way is taken down when it is named, or with --all. Run
directories stay.

The next run --world docker does the same by itself.

Exit codes: 0 done, 2 something could not be removed or no engine answers,
64 wrong usage.`,
		Example: `  pestle down
  pestle down first-light-1-20261130-042102-315-9f13c2   # whether it runs or not
  pestle down --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return errors.New("--all takes down every run; name some, or use --all")
			}
			engine, err := compose.Connect(cmd.Context())
			if err != nil {
				return harness(err)
			}
			if err := errors.Join(takeDown(cmd, engine, args, all), engine.Close()); err != nil {
				return harness(err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "take runs down that are under way, too")
	return cmd
}

// takeDown removes the dead runs, or those that are named, or all.
func takeDown(cmd *cobra.Command, engine *compose.Engine, names []string, all bool) error {
	runs, err := engine.Runs(cmd.Context())
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if !slices.ContainsFunc(runs, func(r compose.Run) bool { return r.ID == name }) {
			errs = append(errs, fmt.Errorf("there is no run %s in the engine; pestle down without arguments lists those that there are", name))
		}
	}
	wanted := func(r compose.Run) bool {
		return slices.Contains(names, r.ID) || len(names) == 0 && (r.State == compose.Dead || all && r.State != compose.Unsigned)
	}
	// What an interrupt leaves half-way is of no use to anybody.
	removed, err := engine.Clear(context.WithoutCancel(cmd.Context()), wanted)
	for _, r := range removed {
		fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", r.Words())
	}
	for _, r := range runs {
		if len(names) == 0 && !wanted(r) {
			fmt.Fprintf(cmd.OutOrStdout(), "left alone %s (%s)\n", r.Words(), r.State)
		}
	}
	if len(removed) == 0 && err == nil && len(names) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "nothing to remove")
	}
	return errors.Join(append(errs, err)...)
}
