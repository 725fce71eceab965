package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pestle/campaign"
	"pestle/campaign/fleet"
	"pestle/campaign/result"
	"pestle/scenarios"
)

// campaignFlags are what `campaign` takes.
type campaignFlags struct {
	seeds        uint64
	from         uint64
	parallel     int
	budget       time.Duration
	untilFinding bool
	world        string
	set          []string
	out          string
	json         bool
}

func campaignCommand() *cobra.Command {
	var f campaignFlags
	cmd := &cobra.Command{
		Use:   "campaign SCENARIO… --seeds N",
		Short: "Run scenarios over many seeds in parallel, and group what fails into findings",
		Long: `Campaign runs each scenario with N seeds on worker processes and judges every
run. Runs that fail for the same reason are one finding, with its rate, its
first and its shortest run, which are kept as run directories; in simulation the
smallest run that fails for the same reason is kept, too. Simulated runs that
pass leave nothing behind; every failing one and 5 % of the others are run twice,
and must go alike.

The directory remembers every seed that is done: the same command with the same
--out goes on where it stopped, also after it was killed. Real processes run one
at a time unless --parallel asks for more.

Exit codes: 1 some run failed, else 2 the harness failed in some run, else 3
some run was inconclusive or the campaign was interrupted, else 0; 64 wrong
usage.`,
		Example: `  pestle campaign scenarios/swarm.yaml --seeds 2000 --out campaigns/tonight
  pestle campaign swarm first-light --seeds 500 --from 10001 --budget 30m
  pestle campaign swarm --seeds 500 --set target.durability=memory --until-finding`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runCampaign(cmd, args, f) },
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.seeds, "seeds", 0, "how many seeds of each scenario")
	flags.Uint64Var(&f.from, "from", 1, "the first seed")
	flags.IntVar(&f.parallel, "parallel", 0, "runs at the same time (default: one per CPU in sim, else 1)")
	flags.DurationVar(&f.budget, "budget", 0, "stop after this time with what there is (30m)")
	flags.BoolVar(&f.untilFinding, "until-finding", false, "stop at the first failing run")
	flags.StringVar(&f.world, "world", "", "where to run: sim or process (default: each scenario's first)")
	flags.StringArrayVar(&f.set, "set", nil, "override a key of the scenarios, as path=value; may be repeated")
	flags.StringVar(&f.out, "out", "", "the campaign's directory (default runs/campaign-<scenario>-<time>)")
	flags.BoolVar(&f.json, "json", false, "print campaign.json as the last line on standard output")
	if err := cmd.MarkFlagRequired("seeds"); err != nil {
		panic(err) // there is the flag, a few lines above
	}
	return cmd
}

func runCampaign(cmd *cobra.Command, args []string, f campaignFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	sources, err := f.sources(args)
	if err != nil {
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		return harness(fmt.Errorf("find Pestle's own binary: %w", err))
	}
	if f.out == "" {
		f.out = filepath.Join("runs", fmt.Sprintf("campaign-%s-%s", sources[0].Name, time.Now().UTC().Format("20060102-150405.000")))
	}
	show := newDisplay(cmd.ErrOrStderr())
	show.line("%s, %d seeds from %d, in %s", strings.Join(args, " "), f.seeds, f.from, f.out)
	c, err := fleet.Run(cmd.Context(), fleet.Options{
		Scenarios: sources, Settings: f.set, From: f.from, Seeds: f.seeds,
		Parallel: f.workers(sources), Budget: f.budget, UntilFinding: f.untilFinding,
		Shrink: shrinkCPU, Dir: f.out, Worker: []string{binary, workerName}, Command: f.again(args),
		Reproduce: func(s fleet.Source, seed uint64) string {
			return reproduce(s.File, seed, runFlags{world: s.World, set: f.set})
		},
		Progress: show.campaign,
		Failed: func(v result.Violation, command string) {
			show.line("fail: %s: %s\n      %s", v.Property, v.Cause, command)
		},
	})
	show.done()
	if errors.Is(err, fleet.ErrInUse) || errors.Is(err, fleet.ErrScenarios) {
		return err
	}
	if err != nil {
		return harness(err)
	}
	return tellCampaign(cmd, f, c)
}

func (f campaignFlags) check() error {
	switch {
	case f.seeds == 0:
		return errors.New("--seeds 0: want at least 1")
	case f.seeds > fleet.MaxSeeds:
		return fmt.Errorf("--seeds %d: want at most %d", f.seeds, uint64(fleet.MaxSeeds))
	case f.from+f.seeds < f.from:
		return fmt.Errorf("--from %d: there are not %d seeds from there", f.from, f.seeds)
	case f.parallel < 0:
		return fmt.Errorf("--parallel %d: want at least 1", f.parallel)
	case f.budget < 0:
		return fmt.Errorf("--budget %v: want a time such as 30m", f.budget)
	}
	return nil
}

// sources reads the scenarios, and chooses where each runs.
func (f campaignFlags) sources(args []string) ([]fleet.Source, error) {
	var list []fleet.Source
	for _, arg := range args {
		file, text, err := scenarios.Read(arg)
		if err != nil {
			return nil, err
		}
		s, err := scenarios.Parse(file, text, f.set)
		if err != nil {
			return nil, err
		}
		world, err := chooseWorld(f.world, s.Worlds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, fleet.Source{Name: s.Name, File: file, Text: string(text), World: world})
	}
	return list, nil
}

// workers is how many runs are carried out at the same time.
func (f campaignFlags) workers(sources []fleet.Source) int {
	if f.parallel > 0 {
		return f.parallel
	}
	for _, s := range sources {
		if s.World != campaign.WorldSim {
			return 1 // real processes share the machine's time: other runs beside would move it
		}
	}
	return runtime.NumCPU()
}

// again is the command that goes on with the campaign.
func (f campaignFlags) again(args []string) string {
	line := "pestle campaign"
	for _, arg := range args {
		line += " " + quoted(arg)
	}
	line += fmt.Sprintf(" --seeds %d", f.seeds)
	if f.from != 1 {
		line += fmt.Sprintf(" --from %d", f.from)
	}
	if f.world != "" {
		line += " --world " + f.world
	}
	for _, s := range f.set {
		line += " --set " + quoted(s)
	}
	return line + " --out " + quoted(f.out)
}

// tellCampaign prints the summary, and campaign.json when wanted.
func tellCampaign(cmd *cobra.Command, f campaignFlags, c result.Campaign) error {
	people := cmd.OutOrStdout()
	if f.json {
		people = cmd.ErrOrStderr()
	}
	if err := result.Summary(people, f.out, c, isTerminal(people)); err != nil {
		return harness(err)
	}
	if f.json {
		line, err := c.Line()
		if err != nil {
			return harness(err)
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line); err != nil {
			return harness(err)
		}
	}
	return ended(c.Status)
}

// shrinkCPU is what each finding may cost to be made small.
const shrinkCPU = time.Minute

// workerName is the command of a campaign's worker processes.
const workerName = "campaign-worker"

func campaignWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    workerName,
		Short:  "Do runs for a campaign (campaign starts these)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			binary, err := os.Executable()
			if err == nil {
				err = fleet.Work(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), binary)
			}
			if err != nil {
				return harness(err)
			}
			return nil
		},
	}
}
