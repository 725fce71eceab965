package main

import (
	"github.com/spf13/cobra"

	"pestle/faults/agent/server"
)

func agentCommand() *cobra.Command {
	var options server.Options
	cmd := &cobra.Command{
		Use:    "agent --subnet CIDR --gateway ADDRESS",
		Short:  "Own a pod's network and carry its faults out (the harness starts these)",
		Hidden: true,
		Args:   cobra.NoArgs,
		Long: `Carry out network faults in the network namespace it is started in: one JSON
request a line on standard input, one JSON answer a line on standard output, a
report of what the kernel can do first. It heals everything when its input ends.
Linux, root, CAP_NET_ADMIN and CAP_NET_RAW.`,
		Example: `  echo '{"id":1,"op":"probe"}' | pestle agent --subnet 172.29.0.0/24 --gateway 172.29.0.1`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := server.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), options); err != nil {
				return &exitError{exitHarness, err}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.TextVar(&options.Subnet, "subnet", options.Subnet, "the test's network, IPv4; the pod has an address in it")
	flags.TextVar(&options.Gateway, "gateway", options.Gateway, "where the harness comes from; it is never touched")
	for _, name := range []string{"subnet", "gateway"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // a name of this list is no flag
		}
	}
	return cmd
}
