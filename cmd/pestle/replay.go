package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pestle/campaign"
	"pestle/campaign/conductor"
	"pestle/campaign/rate"
	"pestle/reports"
	"pestle/scenarios"
	"pestle/sim"
)

// replayFlags are what `replay` takes.
type replayFlags struct {
	times   int
	until   string
	log     string
	message string
	out     string
	json    bool
}

func replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Carry out a saved run's plan again",
		Long: `Replay takes the plan of a run directory and carries it out again, in the same
world, into a new run directory.

A simulated run is repeated bit for bit: another trace hash than the recorded
one is a failure of the harness (2), or of another build. Real processes never
interleave twice alike: with --times the line at the end tells in how many of
the runs it failed, and between which rates the true one lies (95 %).`,
		Example: `  pestle replay runs/first-light-7
  pestle replay runs/first-light-7 --until 12.5s --log debug
  pestle replay runs/first-light-7 --message producer-1-42
  pestle replay runs/first-light-7 --times 10`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return replay(cmd, args[0], f) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.times, "times", 1, "how often to run it")
	flags.StringVar(&f.until, "until", "", "sim: stop at this virtual time (12.5s), or after this many events (5000)")
	flags.StringVar(&f.log, "log", "", "sim: debug prints every event and effect on standard output")
	flags.StringVar(&f.message, "message", "", "sim: print the life of this message through client, network, journal and delivery")
	flags.StringVar(&f.out, "out", "", "run directory (default runs/<scenario>-<seed>-<time>)")
	flags.BoolVar(&f.json, "json", false, "print the verdict as the last line on standard output, as one JSON object")
	return cmd
}

func replay(cmd *cobra.Command, run string, f replayFlags) error {
	until, err := limit(f.until)
	switch {
	case err != nil:
		return err
	case f.times < 1:
		return fmt.Errorf("--times %d: want at least 1", f.times)
	case f.out != "" && f.times > 1:
		return fmt.Errorf("--out names the directory of one run; with --times leave it out")
	case f.message != "" && f.times > 1:
		return fmt.Errorf("--message prints one run; leave --times out")
	case f.log != "" && f.log != "debug":
		return fmt.Errorf("--log %s: want debug, or leave it out", f.log)
	}
	plan, err := scenarios.ReadPlan(filepath.Join(run, conductor.PlanName))
	if err != nil {
		return err
	}
	recorded, err := reports.ReadVerdict(run)
	if errors.Is(err, fs.ErrNotExist) {
		// The harness was killed; a simulated run is written down only once it
		// has its verdict.
		recorded, err = reports.VerdictFile{World: campaign.WorldProcess}, nil
	}
	if err != nil {
		return err
	}
	if recorded.World != campaign.WorldSim && (f.until != "" || f.log != "" || f.message != "") {
		return fmt.Errorf("--until, --log and --message look into a simulated run; %s ran in the world %s", run, recorded.World)
	}
	o := campaign.Options{
		World: recorded.World, Noise: recorded.Noise, Dir: f.out, Command: "pestle replay " + quoted(run), Until: until,
	}
	o.Log = lookInside(cmd.OutOrStdout(), f)
	worst, n := reports.Passed, 0
	var failed, judged int64
	for n < f.times && cmd.Context().Err() == nil {
		result, err := runPlan(cmd, plan, o, f.json)
		if err != nil {
			return err
		}
		n++
		if result.Outcome != reports.HarnessError { // which proves nothing about the target
			judged++
		}
		if result.Outcome == reports.Failed {
			failed++
		}
		if err := sameTrace(recorded, result, f.until != ""); err != nil {
			return err
		}
		worst = campaign.Worse(worst, result.Outcome)
	}
	if n < f.times { // what nobody ran has not passed
		worst = campaign.Worse(worst, reports.Inconclusive)
	}
	if f.times > 1 {
		fmt.Fprintf(cmd.ErrOrStderr(), "failed: %s\n", rate.Of(failed, judged))
	}
	return ended(worst)
}

// lookInside prints what --log or --message ask for; nil when they are not
// given.
func lookInside(out io.Writer, f replayFlags) func(string) {
	switch {
	case f.message != "":
		story := sim.NewStory(f.message)
		return func(line string) {
			if story.Line(line) {
				fmt.Fprintln(out, line)
			}
		}
	case f.log != "":
		return func(line string) { fmt.Fprintln(out, line) }
	}
	return nil
}

// sameTrace tells a simulated run that was not repeated bit for bit.
func sameTrace(recorded reports.VerdictFile, result campaign.Result, cut bool) error {
	if cut || recorded.TraceHash == "" || recorded.Partial || result.Run.Partial || recorded.TraceHash == result.Run.TraceHash {
		return nil
	}
	return harness(fmt.Errorf("the replay has the trace %s, the recorded run %s (pestle %s, %s): another build of Pestle, or it is not deterministic",
		result.Run.TraceHash, recorded.TraceHash, recorded.Environment.Pestle, recorded.Environment.Go))
}

// limit reads --until: a virtual time, or a number of events.
func limit(text string) (sim.Limit, error) {
	if text == "" {
		return sim.Limit{}, nil
	}
	if steps, err := strconv.ParseUint(text, 10, 64); err == nil && steps > 0 {
		return sim.Limit{Steps: steps}, nil
	}
	if d, err := time.ParseDuration(strings.TrimSpace(text)); err == nil && d > 0 {
		return sim.Limit{Time: int64(d)}, nil
	}
	return sim.Limit{}, fmt.Errorf("--until %s: want a virtual time such as 12.5s, or a number of events such as 5000", text)
}
