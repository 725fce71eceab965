package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pestle/compose"
)

func doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what of the Docker world works on this machine",
		Long: `Doctor connects to the Docker engine as docker does (DOCKER_HOST), starts one
container and asks the kernel what it can do. A run with a fault that cannot be
carried out here leaves it out, and is inconclusive for that reason.

Exit codes: 0 scenarios can be run with --world docker, whether or not some
faults are left out; 3 they cannot; 64 wrong usage.`,
		Example: `  pestle doctor
  pestle doctor --json | jq '.kinds[] | select(.ok | not)'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := compose.Diagnose(cmd.Context(), compose.Options{
				Progress: func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) },
			})
			out := cmd.OutOrStdout()
			if asJSON {
				if err := printDiagnosisJSON(out, d, err); err != nil {
					return harness(err)
				}
			} else {
				printDiagnosis(out, d, err)
			}
			if err != nil {
				return &exitError{Code: exitInconclusive}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func printDiagnosisJSON(out io.Writer, d compose.Diagnosis, failed error) error {
	said := struct {
		Runs bool   `json:"runs"` // the Docker world, here
		Why  string `json:"why,omitempty"`
		compose.Diagnosis
	}{Runs: failed == nil, Diagnosis: d}
	if failed != nil {
		said.Why = failed.Error()
	}
	lines := json.NewEncoder(out)
	lines.SetIndent("", "  ")
	return lines.Encode(said)
}

// printDiagnosis writes tables for people, and the verdict last.
func printDiagnosis(out io.Writer, d compose.Diagnosis, failed error) {
	if e := d.Engine; e.Version != "" {
		fmt.Fprintf(out, "engine   Docker %s, API %s, on %s\n", e.Version, e.API, e.System)
		fmt.Fprintf(out, "         kernel %s %s, cgroup version %s, storage %s\n", e.Kernel, e.Architecture, e.Cgroup, e.StorageDriver)
		fmt.Fprintf(out, "         %d processors, %.1f GiB of memory\n", e.Processors, float64(e.Memory)/(1<<30))
	}
	if d.Program != "" {
		fmt.Fprintf(out, "program  %s\n", d.Program)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(d.Abilities) > 0 {
		fmt.Fprintln(table, "\nABILITY\tHERE\t")
		for _, a := range d.Abilities {
			fmt.Fprintf(table, "%s\t%s\t%s\n", a.Name, yesNo(a.OK), a.Why)
		}
		_ = table.Flush() // to a terminal: nobody is left to tell
	}
	missing := 0
	if len(d.Kinds) > 0 {
		fmt.Fprintln(table, "\nFAULT\tHERE\t")
		for _, k := range d.Kinds {
			fmt.Fprintf(table, "%s\t%s\t%s\n", k.Kind, yesNo(k.OK), k.Why)
			if !k.OK {
				missing++
			}
		}
		_ = table.Flush()
	}
	switch {
	case failed != nil:
		fmt.Fprintf(out, "the Docker world cannot run here: %v\n", failed)
	case missing > 0:
		fmt.Fprintf(out, "\nThe Docker world runs here, without %d of %d kinds of fault.\n", missing, len(d.Kinds))
	default:
		fmt.Fprintln(out, "\nThe Docker world runs here, with every kind of fault.")
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
