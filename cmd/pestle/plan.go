package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pestle/scenarios"
)

func planCommand() *cobra.Command {
	var (
		seed   uint64
		set    []string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "plan SCENARIO --seed N",
		Short: "Show what a scenario and a seed expand to, without running it",
		Long: `Plan expands the scenario and the seed and prints the timetable: who takes
part, which fault hits what and when, and the hash that names the plan. The
same scenario and seed give the same plan everywhere.

With --json the plan itself goes to standard output, as run writes it to
plan.json, and the timetable to standard error.`,
		Example: `  pestle plan first-light --seed 1
  pestle plan scenarios/first-light.yaml --seed 1 --set phases.chaos=2m
  pestle plan first-light --seed 1 --json > plan.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			scenario, err := scenarios.Load(args[0], set)
			if err != nil {
				return err
			}
			plan, err := scenarios.Expand(scenario, seed)
			if err != nil {
				return err
			}
			people := cmd.OutOrStdout()
			if asJSON {
				people = cmd.ErrOrStderr()
				if _, err := cmd.OutOrStdout().Write(plan.Canonical()); err != nil {
					return harness(err)
				}
			}
			_, err = fmt.Fprint(people, plan.Timetable())
			if err != nil {
				return harness(err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&seed, "seed", 1, "seed of the plan")
	flags.StringArrayVar(&set, "set", nil, "override a key of the scenario, as path=value; may be repeated")
	flags.BoolVar(&asJSON, "json", false, "print the plan itself on standard output")
	return cmd
}
