//go:build !chaos

package main

import (
	"log/slog"

	"github.com/spf13/pflag"

	"pestle/broker/server"
)

// chaosFlags are the flags of a build with the tag chaos: this one has none.
type chaosFlags struct{}

func (chaosFlags) define(*pflag.FlagSet) {}

// machine returns the disk and the clock that the broker works with.
func (chaosFlags) machine(path string, _ *slog.Logger) (server.FS, server.Clock, error) {
	dir, err := server.OpenDir(path)
	return dir, server.SystemClock(), err
}
