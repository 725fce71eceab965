package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pestle/broker/server"
)

func clusterStatusCommand(node *clusterNode) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the nodes and groups of a cluster",
		Long: `Status shows what one node knows. Only the leader of a group knows how far the
others are behind.

Exit codes: 0 every group has a leader; 1 some group has none, or the node is in
quarantine; 2 the node cannot be reached; 64 wrong usage.`,
		Example: `  pestle cluster status --http 127.0.0.1:4151
  pestle cluster status --json | jq '.groups[] | {group, lead}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body, err := node.call(cmd.Context(), "GET", "/cluster")
			if err != nil {
				return err
			}
			var status server.ClusterStatus
			if err := json.Unmarshal(body, &status); err != nil {
				return harness(fmt.Errorf("the answer of %s is not a cluster's: %w", node.http, err))
			}
			if asJSON {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\n", body)
			} else {
				printStatus(cmd.OutOrStdout(), &status)
			}
			if len(status.Troubles()) > 0 {
				return &exitError{Code: exitViolation}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer as it came")
	return cmd
}

// printStatus writes tables for people, and a line for each trouble.
func printStatus(out io.Writer, st *server.ClusterStatus) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tADDRESS\tLEADS\tNOTES")
	for _, m := range st.Members {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", m.ID, m.Address, leads(st, m.ID), notes(st, m))
	}
	_ = table.Flush() // to a terminal: nobody is left to tell
	fmt.Fprintln(out)
	fmt.Fprintln(table, "GROUP\tSTATE\tLEADER\tTERM\tCOMMIT\tAPPLIED\tBEHIND")
	for _, g := range st.Groups {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%s\n", g.Name(), g.State, leader(g), g.Term, g.Commit, g.Applied, behind(g))
	}
	_ = table.Flush()
	fmt.Fprintln(out)
	troubles := st.Troubles()
	if len(troubles) == 0 {
		fmt.Fprintln(out, "every group has a leader")
	}
	for _, trouble := range troubles {
		fmt.Fprintln(out, trouble)
	}
}

func leads(st *server.ClusterStatus, node uint64) string {
	var groups []string
	for _, g := range st.Groups {
		if g.Lead == node {
			groups = append(groups, g.Name())
		}
	}
	return listed(groups)
}

func notes(st *server.ClusterStatus, m server.MemberStatus) string {
	var notes []string
	if m.ID == st.Node {
		notes = append(notes, "asked")
	}
	if m.Learner {
		notes = append(notes, "learner")
	}
	if slices.Contains(st.Draining, m.ID) {
		notes = append(notes, "draining")
	}
	return strings.Join(notes, ", ")
}

func leader(g server.GroupStatus) string {
	if g.Lead == 0 {
		return "none"
	}
	return fmt.Sprint(g.Lead)
}

// behind tells who is, as far as the node knows.
func behind(g server.GroupStatus) string {
	if g.Role != "leader" {
		return "?"
	}
	var late []string
	for _, p := range g.Peers {
		by := g.Last - min(p.Match, g.Last)
		switch {
		case !p.Active && p.Match == 0: // not heard of since this leader leads
			late = append(late, fmt.Sprintf("node %d (silent)", p.Node))
		case !p.Active:
			late = append(late, fmt.Sprintf("node %d (silent) by %d", p.Node, by))
		case by > 0:
			late = append(late, fmt.Sprintf("node %d by %d", p.Node, by))
		}
	}
	return listed(late)
}

// listed joins what there is.
func listed(items []string) string {
	if len(items) == 0 {
		return "-"
	}
	return strings.Join(items, ", ")
}
