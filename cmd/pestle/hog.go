package main

import (
	"github.com/spf13/cobra"

	"pestle/compose/hog"
)

// hogTakes bounds what a hog takes in bytes: nobody is to be hurt where it is
// started without a limit by mistake.
const hogTakes = 1 << 30

func hogCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "hog",
		Short:  "Take a container's memory until its first process is killed (the harness starts these)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := hog.Starve(1, hogTakes); err != nil {
				return harness(err)
			}
			return nil
		},
	}
}
