package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pestle/campaign"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, its commit and the Go release it was built with",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintln(cmd.OutOrStdout(), campaign.Version())
			return nil
		},
	}
}
