package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pestle/campaign"
	"pestle/reports"
	"pestle/scenarios"
)

// runFlags are what `run` takes; `replay` and `check` share some.
type runFlags struct {
	world string
	seed  string
	noise uint64
	set   []string
	out   string
	json  bool
	plant string
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Run a scenario: start the target, load it, inject faults, judge, report",
		Long: `Run expands the scenario and the seed into a plan, carries it out, judges the
recorded history and writes everything into a run directory. Open report.html
there.

Exit codes: 0 all required properties pass, 1 violation, 2 the harness itself
failed, 3 inconclusive, 64 wrong usage. Over several seeds the worst counts:
1, then 2, then 3.`,
		Example: `  pestle run scenarios/first-light.yaml
  pestle run scenarios/first-light.yaml --seed 1..20
  pestle run scenarios/first-light.yaml --set target.durability=memory   # must fail
  pestle run scenarios/first-light.yaml --json --out /tmp/run | tail -n 1`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			first, last, err := seedRange(f.seed)
			if err != nil {
				return err
			}
			if f.out != "" && first != last {
				return errors.New("--out names the directory of one run; with several seeds leave it out")
			}
			if f.plant != "" {
				f.set = append(f.set, "target.plant="+f.plant)
			}
			scenario, err := scenarios.Load(args[0], f.set)
			if err != nil {
				return err
			}
			world, err := chooseWorld(f.world, scenario.Worlds)
			if err != nil {
				return err
			}
			worst := reports.Passed
			var failovers []reports.Failover
			for seed := first; ; seed++ {
				plan, err := scenarios.Expand(scenario, seed)
				if err != nil {
					return err
				}
				result, err := runPlan(cmd, plan, campaign.Options{
					World: world, Noise: f.noise, Dir: f.out, Command: reproduce(args[0], seed, f),
				}, f.json)
				if err != nil {
					return err
				}
				worst = campaign.Worse(worst, result.Outcome)
				failovers = append(failovers, result.Run.Failovers...)
				if seed == last {
					if words := reports.FailoverWords(failovers); words != "" && first != last {
						fmt.Fprintf(summaryOut(cmd, f.json), "\nseeds %d to %d: first ack after %s\n", first, last, words)
					}
					return ended(worst)
				}
				if cmd.Context().Err() != nil {
					// Seeds that nobody ran have not passed.
					fmt.Fprintf(cmd.ErrOrStderr(), "interrupted: seeds %d to %d were not run\n", seed+1, last)
					return ended(campaign.Worse(worst, reports.Inconclusive))
				}
			}
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.world, "world", "", "where to run: sim, process or docker (default: the scenario's first)")
	flags.StringVar(&f.seed, "seed", "1", "seed of the plan, or a range A..B, run in sequence")
	flags.Uint64Var(&f.noise, "noise", 0, "sim: seed of what the plan leaves open, such as latencies and ties")
	flags.StringArrayVar(&f.set, "set", nil, "override a key of the scenario, as path=value; may be repeated")
	flags.StringVar(&f.plant, "plant", "", "`id` of a bug to plant in the broker, short for --set target.plant=id; needs a program built with -tags plant")
	flags.StringVar(&f.out, "out", "", "run directory (default runs/<scenario>-<seed>-<time>)")
	flags.BoolVar(&f.json, "json", false, "print the verdict as the last line on standard output, as one JSON object")
	return cmd
}

// seedRange reads "7" or "1..20".
func seedRange(text string) (first, last uint64, err error) {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	first, err = strconv.ParseUint(from, 10, 64)
	if err == nil {
		last, err = strconv.ParseUint(to, 10, 64)
	}
	if err != nil || first > last {
		return 0, 0, fmt.Errorf("--seed %s: want a number, or a range such as 1..20", text)
	}
	return first, last, nil
}

// chooseWorld is the world asked for, if the scenario runs there, or its first.
func chooseWorld(asked string, offered []string) (string, error) {
	if asked == "" {
		return offered[0], nil
	}
	for _, world := range offered {
		if world == asked {
			return asked, nil
		}
	}
	return "", fmt.Errorf("--world %s: the scenario runs in %s", asked, strings.Join(offered, ", "))
}

// reproduce is the command that makes the same run again.
func reproduce(scenario string, seed uint64, f runFlags) string {
	line := "pestle run " + quoted(scenario)
	if f.world != "" {
		line += " --world " + f.world
	}
	line += fmt.Sprintf(" --seed %d", seed)
	if f.noise != 0 {
		line += fmt.Sprintf(" --noise %d", f.noise)
	}
	for _, s := range f.set {
		line += " --set " + quoted(s)
	}
	return line
}

// quoted writes an argument so that a shell reads it as one word.
func quoted(arg string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("_./:=,%+@-", r)
	}
	if arg != "" && strings.TrimFunc(arg, plain) == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// runPlan runs one plan and tells the people and the machines about it. The
// run directory is made up where o names none.
func runPlan(cmd *cobra.Command, plan scenarios.Plan, o campaign.Options, asJSON bool) (campaign.Result, error) {
	dir := o.Dir
	if dir == "" {
		dir = filepath.Join("runs", fmt.Sprintf("%s-%d-%s", plan.Scenario, plan.Seed, time.Now().UTC().Format("20060102-150405.000")))
	}
	var err error
	if o.Program, err = os.Executable(); err != nil {
		return campaign.Result{}, harness(fmt.Errorf("find Pestle's own binary: %w", err))
	}
	if o.Dir, err = filepath.Abs(dir); err != nil {
		return campaign.Result{}, harness(fmt.Errorf("resolve %s: %w", dir, err))
	}
	show := newDisplay(cmd.ErrOrStderr())
	show.line("%s, seed %d, plan %s, world %s", plan.Scenario, plan.Seed, plan.ShortHash(), o.World)
	o.Progress = show.progress
	o.Line = func(text string) { show.line("%s", text) }
	result, err := campaign.Run(cmd.Context(), plan, o)
	show.done()
	if errors.Is(err, campaign.ErrInUse) || errors.Is(err, campaign.ErrWorld) || errors.Is(err, campaign.ErrProgram) {
		return result, err
	}
	if err != nil {
		return result, harness(err)
	}
	result.Dir = dir // as the user named it
	return result, tell(cmd, result, asJSON)
}

// tell prints the summary, and the verdict line when wanted.
func tell(cmd *cobra.Command, result campaign.Result, asJSON bool) error {
	out, summary := cmd.OutOrStdout(), summaryOut(cmd, asJSON)
	if err := reports.Summary(summary, result.Dir, result.Run, result.Verdict, isTerminal(summary)); err != nil {
		return harness(err)
	}
	if !asJSON {
		return nil
	}
	line, err := result.File.Line()
	if err != nil {
		return harness(err)
	}
	_, err = fmt.Fprintf(out, "%s\n", line)
	return err
}

// summaryOut is where people read: not where a machine reads the verdict line.
func summaryOut(cmd *cobra.Command, asJSON bool) io.Writer {
	if asJSON {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}

// harness marks an error as a failure of the harness, not of the usage.
func harness(err error) error { return &exitError{Code: exitHarness, Err: err} }

// ended turns an outcome into the command's error.
func ended(o reports.Outcome) error {
	if code := o.ExitCode(); code != exitPass {
		return &exitError{Code: code}
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
