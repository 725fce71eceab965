package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pestle/campaign"
	"pestle/campaign/bench"
)

// publishFlags are those of `pestle bench publish`.
type publishFlags struct {
	config    bench.PublishConfig
	tcp, http []string
	asJSON    bool
}

func benchPublishCommand() *cobra.Command {
	f := publishFlags{}
	cmd := &cobra.Command{
		Use:   "publish",
		Short: "Measure how long a publish takes, and where",
		Long: `Bench publish starts brokers as processes of their own and publishes at an even
pace, at the broker that leads and at one that has to forward, in turn. Times
count from the moment a message should have been sent, whatever held it up.
Beside them stands what the disk takes for one message alone, and what the
parts of the way take, as the brokers measure them.

With --tcp and --http it measures brokers that run already, all of one cluster.
It publishes to topic ` + "`bench`" + ` there, and does not delete it.`,
		Example: `  pestle bench publish
  pestle bench publish --nodes 1 --rate 2000 --rounds 9
  pestle bench publish --tcp 127.0.0.1:4150,127.0.0.1:4250 --http 127.0.0.1:4151,127.0.0.1:4251`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags, c := cmd.Flags(), &f.config
	flags.IntVar(&c.Nodes, "nodes", 3, "brokers to start: 1, 3 or 5")
	flags.IntVar(&c.Rate, "rate", 500, "messages per second")
	flags.IntVar(&c.Size, "size", 1024, "bytes of a message")
	flags.DurationVar(&c.For, "for", 10*time.Second, "length of a round")
	flags.DurationVar(&c.WarmUp, "warm-up", 2*time.Second, "time of the same load that is not counted")
	flags.IntVar(&c.Rounds, "rounds", 5, "rounds to measure at each of the two brokers")
	flags.IntVar(&c.Connections, "connections", 4, "connections, taken in turn")
	flags.StringVar(&c.Dir, "dir", "", "`directory` for the data, on the disk to be measured; what is put there is removed (default a temporary one)")
	flags.StringSliceVar(&f.tcp, "tcp", nil, "`host:port,…` for NSQ clients of brokers that run already")
	flags.StringSliceVar(&f.http, "http", nil, "`host:port,…` for HTTP of these brokers, in the same order")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (f *publishFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	if len(f.config.Brokers) == 0 {
		remove, err := f.own()
		if err != nil {
			return harness(err)
		}
		defer remove()
	}
	progress := cmd.ErrOrStderr()
	result, err := bench.RunPublish(cmd.Context(), f.config, func(at bench.Place, r bench.Round) {
		fmt.Fprintf(progress, "%s round %d: p50 %v, p99 %v\n", placeName(at), len(at.Rounds), r.P50, r.P99)
	})
	if err != nil {
		return harness(err)
	}
	if f.asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(result)
	}
	printPublish(cmd.OutOrStdout(), result)
	return nil
}

func (f *publishFlags) check() error {
	c := &f.config
	switch {
	case len(f.tcp) != len(f.http):
		return fmt.Errorf("--tcp has %d addresses and --http %d; give both of each broker", len(f.tcp), len(f.http))
	case c.Nodes != 1 && c.Nodes != 3 && c.Nodes != 5:
		return fmt.Errorf("--nodes is %d; it must be 1, 3 or 5", c.Nodes)
	case c.Rate < 1 || c.Rate > 1_000_000:
		return fmt.Errorf("--rate is %d; it must be 1 to 1000000", c.Rate)
	case c.Size < 1 || c.Size > 1<<20:
		return fmt.Errorf("--size is %d; it must be 1 to %d", c.Size, 1<<20)
	case c.Rounds < 1 || c.Connections < 1 || c.Connections > 1000:
		return fmt.Errorf("--rounds must be at least 1, --connections 1 to 1000")
	case c.For < time.Second/time.Duration(c.Rate) || c.WarmUp < 0:
		return fmt.Errorf("--for has to be long enough for one message, and --warm-up not negative")
	}
	for i := range f.tcp {
		c.Brokers = append(c.Brokers, bench.Broker{TCP: f.tcp[i], HTTP: f.http[i]})
	}
	return nil
}

// own prepares brokers of our own: their program, and a directory that is
// removed in the end.
func (f *publishFlags) own() (remove func(), err error) {
	c := &f.config
	if c.Program, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("find Pestle's own binary: %w", err)
	}
	if c.Dir, err = os.MkdirTemp(c.Dir, "pestle-bench-"); err != nil {
		return nil, fmt.Errorf("a directory for the data: %w", err)
	}
	dir := c.Dir
	return func() { _ = os.RemoveAll(dir) }, nil // what is left behind shows where it is
}

func placeName(at bench.Place) string {
	if at.Leads {
		return "leader"
	}
	return "follower"
}

func printPublish(out io.Writer, r bench.Publish) {
	fmt.Fprintf(out, "%s, %d processors, load average %s before and %s after\n", campaign.Version(), r.Processors, r.Busy[0], r.Busy[1])
	fmt.Fprintf(out, "%d nodes; %d messages/s of %d bytes, %d connections, rounds of %v; times in ms\n\n", r.Nodes, r.Rate, r.Size, r.Connections, r.For)
	fmt.Fprintf(out, "%-32s %8s %8s %8s %8s %8s %8s\n", "", "p50", "p90", "p99", "p99.9", "max", "sent late")
	if r.Disk != nil {
		printLatency(out, "disk alone: append, fdatasync", r.Disk.All, "")
	}
	for _, at := range r.Places {
		for i, round := range at.Rounds {
			printLatency(out, fmt.Sprintf("at the %s, round %d", placeName(at), i+1), round.Latency, ms(round.Late))
			if round.Failed > 0 {
				fmt.Fprintf(out, "  %d were not acknowledged: %s\n", round.Failed, round.Why)
			}
		}
		printLatency(out, fmt.Sprintf("at the %s, all rounds", placeName(at)), at.All, "")
		if r.Disk != nil {
			fmt.Fprintf(out, "  %.1f times the disk's p50, %.1f times its p99\n", ratio(at.All.P50, r.Disk.All.P50), ratio(at.All.P99, r.Disk.All.P99))
		}
	}
	for _, at := range r.Places {
		printSegments(out, at)
	}
	for _, line := range r.Noise {
		fmt.Fprintf(out, "\ntoo noisy: %s", line)
	}
	if len(r.Noise) > 0 {
		fmt.Fprintln(out, "\nThese figures tell little about the broker: measure again when the machine is idle.")
	}
}

func printLatency(out io.Writer, name string, l bench.Latency, late string) {
	fmt.Fprintf(out, "%-32s %8s %8s %8s %8s %8s %8s\n", name, ms(l.P50), ms(l.P90), ms(l.P99), ms(l.P999), ms(l.Max), late)
}

func printSegments(out io.Writer, at bench.Place) {
	fmt.Fprintf(out, "\n%-32s %8s %8s %8s %8s\n", "parts of the way, at the "+placeName(at), "mean", "p50", "p99", "budget")
	for _, s := range at.Segments {
		over := ""
		if s.P50 > s.Budget {
			over = "  over"
		}
		fmt.Fprintf(out, "  %-30s %8s %8s %8s %8s%s\n", s.Name, ms(s.Mean), ms(s.P50), ms(s.P99), ms(s.Budget), over)
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()*1000) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(1, b)) }
