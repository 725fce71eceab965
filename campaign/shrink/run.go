package shrink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pestle/campaign"
	"pestle/campaign/conductor"
	"pestle/history"
	"pestle/history/stream"
	"pestle/reports"
	"pestle/scenarios"
	"pestle/sim"
)

// RunOptions say which saved run to shrink, and where to.
type RunOptions struct {
	Run     string // run directory of a run that fails
	Out     string // run directory of the result; must not exist, or be empty
	Program string // process: Pestle's own binary

	Want   Fingerprint // of the failure; zero: that of the earliest violation
	Accept Acceptance  // zero: Simulated in sim, and elsewhere 2 of 3 runs
	CPU    time.Duration

	// Command gives the line that repeats the run of a directory, for the
	// reports; nil: pestle replay and the directory.
	Command  func(dir string) string
	Progress func(Progress)
}

// Shrunk is a run directory with the shortest story of a failure.
type Shrunk struct {
	Result
	Report Report
	Final  campaign.Result // of the run in the directory
}

// Run shrinks a saved run. What it writes into Out is a run directory like any
// other, with shrink.json, sequence.txt and the run directories of the other
// failures met on the way; a run that fails is in it, which outside sim may take
// some tries. The error is ErrNoFailure when the run does not fail any more.
func Run(ctx context.Context, o RunOptions) (Shrunk, error) {
	if o.Command == nil {
		o.Command = func(dir string) string { return "pestle replay " + dir }
	}
	plan, err := scenarios.ReadPlan(filepath.Join(o.Run, conductor.PlanName))
	if err != nil {
		return Shrunk{}, fmt.Errorf("shrink %s: %w", o.Run, err)
	}
	recorded, err := reports.ReadVerdict(o.Run)
	if err != nil {
		return Shrunk{}, fmt.Errorf("shrink %s: %w", o.Run, err)
	}
	search := Options{
		Plan: plan, Noise: recorded.Noise, World: recorded.World,
		Want: o.Want, Accept: o.Accept, CPU: o.CPU, Progress: o.Progress, Oracle: Simulate,
	}
	if recorded.World != campaign.WorldSim {
		search.Coarse = true
		search.Oracle = Processes{World: recorded.World, Program: o.Program}.Try
	}
	if o.Accept == (Acceptance{}) {
		search.Accept = Simulated()
		if search.Coarse {
			search.Accept = Acceptance{Runs: 3, Hits: 2}
		}
	}
	result, err := Shrink(ctx, search)
	if errors.Is(err, ErrNoFailure) {
		return Shrunk{}, fmt.Errorf("%w: %s was recorded with pestle %s, status %s; this build runs it without that failure", err, o.Run, recorded.Environment.Pestle, recorded.Status)
	}
	if err != nil {
		return Shrunk{}, err
	}
	return o.write(ctx, result, search)
}

// write carries the smallest plan out once more, into its run directory.
func (o RunOptions) write(ctx context.Context, r Result, search Options) (Shrunk, error) {
	ctx = context.WithoutCancel(ctx) // an end asked for ends the search, not what is kept of it
	done := Shrunk{Result: r, Report: newReport(o.Run, o.Command(o.Out), search.World, r)}
	var moments map[string]*sim.Story
	if search.World == campaign.WorldSim {
		moments = map[string]*sim.Story{}
		for _, id := range told(r) {
			moments[id] = sim.NewStory(id)
		}
	}
	var err error
	for range search.Accept.Runs {
		done.Final, err = campaign.Run(ctx, r.Plan, campaign.Options{
			World: search.World, Noise: r.Noise, Dir: o.Out, Command: done.Report.Command, Program: o.Program,
			Log: tell(moments),
		})
		if err != nil {
			return done, err
		}
		if done.Final.Outcome == reports.Failed || search.World == campaign.WorldSim {
			break
		}
		if err := os.RemoveAll(o.Out); err != nil {
			return done, fmt.Errorf("remove a run that did not fail: %w", err)
		}
	}
	if _, same := shows(done.Final.Verdict, r.Symptom.Fingerprint); !same {
		return done, fmt.Errorf("the smallest plan does not fail when it is run once more: it is in %s, or else was run %d times", o.Out, search.Accept.Runs)
	}
	return done, o.tellStory(ctx, done, moments)
}

// told lists the messages that the diagram follows: those of the violation,
// and all the others where they are few.
func told(r Result) []string {
	const few = 10
	var ids []string
	for _, id := range r.Symptom.messages() {
		ids = append(ids, id.String())
	}
	if len(r.Sent) <= few {
		for _, id := range r.Sent {
			if !slices.Contains(ids, id.String()) {
				ids = append(ids, id.String())
			}
		}
	}
	return ids
}

// tell feeds the log of a run to stories; nil when there are none.
func tell(stories map[string]*sim.Story) func(string) {
	if stories == nil {
		return nil
	}
	return func(line string) {
		for _, story := range stories {
			story.Line(line)
		}
	}
}

// tellStory writes what a run directory of a shrunk run holds beside the rest.
func (o RunOptions) tellStory(ctx context.Context, done Shrunk, stories map[string]*sim.Story) error {
	events, err := stream.ReadDir(o.Out)
	if err != nil {
		return err
	}
	text := sequence(done.Plan, done.Symptom, told(done.Result), events, merged(stories))
	if err := os.WriteFile(filepath.Join(o.Out, SequenceName), []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the sequence diagram: %w", err)
	}
	for i, other := range done.Others {
		if done.Report.Others[i].Dir == "" {
			continue
		}
		dir := filepath.Join(o.Out, done.Report.Others[i].Dir)
		_, err := campaign.Run(ctx, other.Plan, campaign.Options{
			World: done.Final.Run.World, Noise: other.Noise, Dir: dir, Command: o.Command(dir), Program: o.Program,
		})
		if err != nil {
			return fmt.Errorf("keep another failure met on the way: %w", err)
		}
	}
	return done.Report.write(o.Out)
}

// merged puts the moments of several stories into one, each event once.
func merged(stories map[string]*sim.Story) []sim.Moment {
	var all []sim.Moment
	for _, story := range stories {
		all = append(all, story.Moments...)
	}
	slices.SortFunc(all, func(a, b sim.Moment) int {
		switch {
		case a.Event < b.Event:
			return -1
		case a.Event > b.Event:
			return 1
		}
		return 0
	})
	return slices.CompactFunc(all, func(a, b sim.Moment) bool { return a.Event == b.Event })
}

// Processes is the Oracle of the worlds of real processes.
type Processes struct {
	World   string // campaign.WorldProcess or campaign.WorldDocker
	Program string // Pestle's own binary
}

// Try carries a plan out in a run directory that is gone afterwards.
func (p Processes) Try(ctx context.Context, plan scenarios.Plan, noise uint64) (Trial, error) {
	dir, err := os.MkdirTemp("", "pestle-shrink-")
	if err != nil {
		return Trial{}, fmt.Errorf("make a directory for a candidate: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a directory of the system's temporary folder
	result, err := campaign.Run(ctx, plan, campaign.Options{
		World: p.World, Noise: noise, Dir: dir, Command: "pestle shrink", Program: p.Program,
	})
	if err != nil {
		return Trial{}, err
	}
	if result.Run.HarnessError != "" {
		return Trial{}, errors.New(result.Run.HarnessError)
	}
	var events []history.Event
	if events, err = stream.ReadDir(dir); err != nil {
		return Trial{}, err
	}
	var watch Watch
	for _, e := range events {
		watch.Observe(e)
	}
	return watch.Trial(result.Verdict, result.Run.FaultLog, ""), nil
}
