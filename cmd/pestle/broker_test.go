package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"pestle/broker/core"
	"pestle/broker/plant"
)

// parseBroker parses flags as the command does.
func parseBroker(args ...string) (*brokerFlags, *pflag.FlagSet, error) {
	f := &brokerFlags{}
	flags := pflag.NewFlagSet("broker", pflag.ContinueOnError)
	f.define(flags)
	return f, flags, flags.Parse(twoDashes(flags, args))
}

func TestBrokerFlagsHaveNSQsForms(t *testing.T) {
	for _, args := range [][]string{
		{"--tcp-address=h:1", "--verbose", "--worker-id=7", "--msg-timeout=5s"},
		{"--tcp-address", "h:1", "--verbose=true", "--worker-id", "7", "--msg-timeout", "5s"},
		{"-tcp-address=h:1", "-verbose", "-worker-id=7", "-msg-timeout=5s"},
		{"-tcp-address", "h:1", "-verbose=true", "-worker-id", "7", "-msg-timeout", "5s"},
	} {
		f, flags, err := parseBroker(args...)
		if err != nil {
			t.Errorf("%v: %v", args, err)
			continue
		}
		if f.tcp != "h:1" || f.msgTimeout != 5*time.Second || flags.NArg() != 0 {
			t.Errorf("%v: tcp %q, msg timeout %v, left over %v", args, f.tcp, f.msgTimeout, flags.Args())
		}
	}
}

func TestBrokerFlagsBecomeLimits(t *testing.T) {
	f, _, err := parseBroker("--durability=memory", "--msg-timeout=2s", "--max-msg-timeout=3s", "--max-req-timeout=4s",
		"--max-heartbeat-interval=5s", "--max-msg-size=6", "--max-body-size=7", "--max-rdy-count=8")
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := f.config()
	if err != nil {
		t.Fatal(err)
	}
	l := cfg.Limits
	got := []int64{l.MsgTimeoutMS, l.MaxMsgTimeoutMS, l.MaxRequeueMS, l.MaxDeferMS, l.MaxHeartbeatMS, l.MaxMessageSize, l.MaxBodySize, l.MaxReady}
	want := []int64{2000, 3000, 4000, 4000, 5000, 6, 7, 8}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("limit %d: %d, want %d", i, got[i], want[i])
		}
	}
	if cfg.Durability != core.Memory {
		t.Errorf("durability %v, want memory", cfg.Durability)
	}
}

func TestBrokerRefusesWrongValues(t *testing.T) {
	for _, test := range []struct{ arg, want string }{
		{"--durability=disk", `--durability is "disk"; it must be fsync or memory`},
		{"--log-level=loud", `--log-level is "loud"; it must be debug, info, warn, error or fatal`},
		{"--msg-timeout=0s", "--msg-timeout is 0s; it must be at least 1ms"},
		{"--max-msg-size=0", "--max-msg-size is 0; it must be 1 to 8388608"},
		{"--max-body-size=9000000", "--max-body-size is 9000000; it must be 1 to 8388608"},
		{"--max-rdy-count=-1", "--max-rdy-count is -1; it must be 0 to 1048576"},
		{"-msg-timeout=soon", "soon"},
		{"--nonsense", "nonsense"},
		{"--plant=none-such", `--plant: there is no planted bug "none-such"; there are ack-before-fsync, `},
	} {
		f, _, err := parseBroker(test.arg)
		if err == nil {
			_, _, err = f.config()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.arg, err, test.want)
		}
	}
}

// A program without planted bugs refuses them by name; one that has them takes
// it to the core.
func TestBrokerPlants(t *testing.T) {
	f, _, err := parseBroker("--plant=lease-forgotten")
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := f.config()
	if plant.Built && (err != nil || cfg.Plant != plant.LeaseForgotten) {
		t.Errorf("got %v, %v", cfg.Plant, err)
	}
	if !plant.Built && (err == nil || !strings.Contains(err.Error(), "lease-forgotten is not in this program: build one that has it with go build -tags plant")) {
		t.Errorf("got %v", err)
	}
}
