package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pestle/broker/core"
	"pestle/broker/nsq"
	"pestle/broker/plant"
	"pestle/broker/server"
)

// brokerFlags are nsqd's flags, as far as they mean something here, and a few
// of our own.
type brokerFlags struct {
	tcp, http, broadcast, data string
	durability, logLevel       string
	plant                      string
	dieWithStdin               bool

	clusterFlags
	sizeFlags
	chaos chaosFlags

	msgTimeout, maxMsgTimeout, maxReqTimeout, maxHeartbeat time.Duration
	maxMsgSize, maxBodySize, maxReady                      int64
}

// ignoredBrokerFlags are accepted so that nsqd's command lines and clients'
// test suites work, and have no effect.
var ignoredBrokerFlags = []struct {
	name, kind string
	silent     bool // nsqd ignores it too
}{
	{name: "tls-cert", kind: "file"},
	{name: "tls-key", kind: "file"},
	{name: "tls-root-ca-file", kind: "file"},
	{name: "mem-queue-size", kind: "count"},
	{name: "sync-every", kind: "count"},
	{name: "worker-id", kind: "number", silent: true},
	{name: "verbose", silent: true},
}

func brokerCommand() *cobra.Command {
	f := brokerFlags{}
	cmd := &cobra.Command{
		Use:   "broker",
		Short: "Run a durable message broker that speaks NSQ's protocol",
		Long: `Run a broker for NSQ clients. A message is acknowledged once it is on disk, and
what was acknowledged survives a crash.

Flags have nsqd's names and forms: one dash or two, the value after = or as the
next argument. Once it serves clients the broker prints one line:
  listening tcp=127.0.0.1:4150 http=127.0.0.1:4151

With --cluster the broker is one of several nodes, and a message is acknowledged
once it is on the disks of a majority of them; three survive the loss of one,
five of two. Clients may publish to any node; consumers connect to all of them.
The nodes talk to each other at their peer addresses, where nobody else should
be able to connect, and the line above ends with peer=127.0.0.1:4160.
pestle cluster --help tells how to watch and change a running cluster.

SIGTERM or Ctrl-C stops it in order, a second one at once.

Exit codes: 0 stopped in order; 1 stopped to protect the data, a failed sync
for example; 2 could not start; 64 wrong usage.`,
		Example: `  pestle broker --data-path /var/lib/pestle
  pestle broker -data-path=/tmp/data -tcp-address 127.0.0.1:0 -http-address 127.0.0.1:0
  pestle broker --data-path /tmp/data --durability memory   # loses acknowledged messages in a crash

  # three nodes on one machine
  mkdir -p /tmp/n1 /tmp/n2 /tmp/n3
  nodes=1=127.0.0.1:4160,2=127.0.0.1:4260,3=127.0.0.1:4360
  pestle broker --node-id 1 --cluster $nodes --data-path /tmp/n1 --tcp-address :4150 --http-address :4151 &
  pestle broker --node-id 2 --cluster $nodes --data-path /tmp/n2 --tcp-address :4250 --http-address :4251 &
  pestle broker --node-id 3 --cluster $nodes --data-path /tmp/n3 --tcp-address :4350 --http-address :4351 &

  # node 3 is lost: node 4, under an id that was never used, takes its place
  pestle broker --node-id 4 --join --cluster 1=127.0.0.1:4160,2=127.0.0.1:4260 --peer-address 127.0.0.1:4460 \
    --data-path /tmp/n4 --tcp-address :4450 --http-address :4451 &
  pestle cluster replace 3 --new 4 --address 127.0.0.1:4460 --http 127.0.0.1:4151`,
		DisableFlagParsing: true, // flags with one dash are not pflag's: runBroker parses
	}
	f.define(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmd.Flags().Parse(twoDashes(cmd.Flags(), args)); err != nil {
			if errors.Is(err, pflag.ErrHelp) {
				return cmd.Help()
			}
			return fmt.Errorf("%w; see pestle broker --help", err)
		}
		if wantHelp, _ := cmd.Flags().GetBool("help"); wantHelp {
			return cmd.Help()
		}
		if err := cobra.NoArgs(cmd, cmd.Flags().Args()); err != nil {
			return err
		}
		return f.run(cmd)
	}
	return cmd
}

func (f *brokerFlags) define(flags *pflag.FlagSet) {
	d := nsq.DefaultLimits()
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	flags.StringVar(&f.tcp, "tcp-address", "0.0.0.0:4150", "`host:port` for NSQ clients; port 0 takes a free one")
	flags.StringVar(&f.http, "http-address", "0.0.0.0:4151", "`host:port` for HTTP; port 0 takes a free one")
	flags.StringVar(&f.broadcast, "broadcast-address", "", "`name` of this machine for clients (default its host name)")
	flags.StringVar(&f.data, "data-path", ".", "`directory` of the journal; must exist")
	flags.StringVar(&f.durability, "durability", "fsync", "`when` a message is acknowledged: fsync (it is on disk) or memory (at once: a crash loses it)")
	flags.DurationVar(&f.msgTimeout, "msg-timeout", ms(d.MsgTimeoutMS), "time a consumer has for a message unless it asks for another")
	flags.DurationVar(&f.maxMsgTimeout, "max-msg-timeout", ms(d.MaxMsgTimeoutMS), "longest time a consumer may ask for or stretch a delivery to")
	flags.DurationVar(&f.maxReqTimeout, "max-req-timeout", ms(d.MaxRequeueMS), "longest requeue delay and longest deferral")
	flags.DurationVar(&f.maxHeartbeat, "max-heartbeat-interval", ms(d.MaxHeartbeatMS), "longest heartbeat interval a client may ask for")
	flags.Int64Var(&f.maxMsgSize, "max-msg-size", d.MaxMessageSize, "longest message in bytes")
	flags.Int64Var(&f.maxBodySize, "max-body-size", d.MaxBodySize, "longest command body in bytes")
	flags.Int64Var(&f.maxReady, "max-rdy-count", d.MaxReady, "highest RDY of a consumer")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn, error or fatal")
	flags.StringVar(&f.plant, "plant", "", "`id` of a bug to be planted; needs a program built with -tags plant")
	f.clusterFlags.define(flags)
	f.chaos.define(flags)
	f.sizeFlags.define(flags)
	flags.BoolVar(&f.dieWithStdin, "die-with-stdin", false, "end at once when standard input, a pipe, ends")
	for _, ignored := range ignoredBrokerFlags {
		if ignored.kind == "" {
			flags.Bool(ignored.name, false, "accepted as nsqd's flag; has no effect")
		} else {
			flags.String(ignored.name, "", "accepted as nsqd's flag; the `"+ignored.kind+"` has no effect")
		}
	}
	flags.BoolP("help", "h", false, "help for broker")
}

// twoDashes writes nsqd's -name and -name=value as pflag wants them. Only
// names of flags are touched: a value may begin with a dash.
func twoDashes(flags *pflag.FlagSet, args []string) []string {
	out := make([]string, 0, len(args))
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && flags.Lookup(name) != nil {
			arg = "-" + arg
		}
		out = append(out, arg)
	}
	return out
}

// config checks the flags.
func (f *brokerFlags) config() (core.Config, slog.Level, error) {
	cfg := core.Config{Limits: nsq.DefaultLimits()}
	l := &cfg.Limits
	l.Version = nsqdVersion
	switch f.durability {
	case "fsync":
		cfg.Durability = core.Fsync
	case "memory":
		cfg.Durability = core.Memory
	default:
		return cfg, 0, fmt.Errorf("--durability is %q; it must be fsync or memory", f.durability)
	}
	var err error
	if cfg.Plant, err = plant.Find(f.plant); err != nil {
		return cfg, 0, fmt.Errorf("--plant: %w", err)
	}
	for _, d := range []struct {
		flag string
		from time.Duration
		to   *int64
	}{
		{"msg-timeout", f.msgTimeout, &l.MsgTimeoutMS},
		{"max-msg-timeout", f.maxMsgTimeout, &l.MaxMsgTimeoutMS},
		{"max-req-timeout", f.maxReqTimeout, &l.MaxRequeueMS},
		{"max-heartbeat-interval", f.maxHeartbeat, &l.MaxHeartbeatMS},
	} {
		if d.from < time.Millisecond {
			return cfg, 0, fmt.Errorf("--%s is %v; it must be at least 1ms", d.flag, d.from)
		}
		*d.to = d.from.Milliseconds()
	}
	l.MaxDeferMS = l.MaxRequeueMS
	for _, n := range []struct {
		flag     string
		from     int64
		min, max int64
		to       *int64
	}{
		{"max-msg-size", f.maxMsgSize, 1, maxBrokerBody, &l.MaxMessageSize},
		{"max-body-size", f.maxBodySize, 1, maxBrokerBody, &l.MaxBodySize},
		{"max-rdy-count", f.maxReady, 0, 1 << 20, &l.MaxReady},
	} {
		if n.from < n.min || n.from > n.max {
			return cfg, 0, fmt.Errorf("--%s is %d; it must be %d to %d", n.flag, n.from, n.min, n.max)
		}
		*n.to = n.from
	}
	if err := errors.Join(f.clusterFlags.set(&cfg), f.sizeFlags.set(&cfg)); err != nil {
		return cfg, 0, err
	}
	level, known := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn,
		"error": slog.LevelError, "fatal": slog.LevelError,
	}[f.logLevel]
	if !known {
		return cfg, 0, fmt.Errorf("--log-level is %q; it must be debug, info, warn, error or fatal", f.logLevel)
	}
	return cfg, level, nil
}

const (
	// nsqdVersion is the release of nsqd whose behaviour clients may expect.
	nsqdVersion = "1.3.0"

	// maxBrokerBody is the longest body that leaves room for its headers in a
	// journal file.
	maxBrokerBody = 8 << 20
)

func (f *brokerFlags) run(cmd *cobra.Command) error {
	cfg, level, err := f.config()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level}))
	for _, ignored := range ignoredBrokerFlags {
		if cmd.Flags().Changed(ignored.name) && !ignored.silent {
			log.Warn("flag has no effect", "flag", "--"+ignored.name)
		}
	}
	if n := len(cfg.Cluster); n%2 == 0 && n > 0 && !cfg.Join {
		log.Warn("a cluster of an even number of nodes survives no more failures than one with a node less; 1, 3 or 5 are recommended", "nodes", n)
	}
	if f.dieWithStdin {
		dieWith(os.Stdin, log)
	}
	dir, clock, err := f.chaos.machine(f.data, log)
	if err != nil {
		return &exitError{exitHarness, err}
	}
	s, err := server.Open(server.Config{
		Core: cfg, TCPAddress: f.tcp, HTTPAddress: f.http, PeerAddress: f.peer, BroadcastAddress: f.broadcast,
		FS: dir, Clock: clock, Log: log,
	})
	if err != nil {
		return &exitError{exitHarness, err}
	}
	go func() {
		<-s.Ready()
		fmt.Fprintln(cmd.OutOrStdout(), listening(s))
	}()
	err = s.Run(cmd.Context())
	var stopped *server.ExitError
	switch {
	case errors.As(err, &stopped):
		log.Error("the broker must end", "reason", stopped.Reason)
		return &exitError{Code: exitViolation}
	case err != nil:
		return &exitError{exitHarness, err}
	}
	return nil
}

// listening is the line that tells where a server can be reached.
func listening(s *server.Server) string {
	line := fmt.Sprintf("listening tcp=%s http=%s", s.TCPAddr(), s.HTTPAddr())
	if peer := s.PeerAddr(); peer != nil {
		line += fmt.Sprintf(" peer=%s", peer)
	}
	return line
}

// dieWith ends the process when the pipe in ends: its parent is gone. Like a
// kill, it loses nothing that was acknowledged.
func dieWith(in *os.File, log *slog.Logger) {
	info, err := in.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		log.Warn("--die-with-stdin has no effect: standard input is not a pipe")
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, in) // an error ends it just as well
		log.Error("standard input ended, and the broker with it")
		os.Exit(exitHarness)
	}()
}
