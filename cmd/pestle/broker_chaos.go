//go:build chaos

package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/spf13/pflag"

	"pestle/broker/core"
	"pestle/broker/server"
	"pestle/faults/clock"
	"pestle/faults/control/port"
	"pestle/faults/disk"
)

// chaosFlags are the flags of a build with the tag chaos.
type chaosFlags struct{ address, disk string }

func (f *chaosFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "chaos-address", "", "loopback `host:port` where faults of disk and clock, and the loss of power, are asked for; without it there are none")
	flags.StringVar(&f.disk, "chaos-disk", "honest", "`how` the disk answers a sync: honest, slow (after 20 ms), or lying (it says done, and a loss of power shows that it was not); needs --chaos-address")
}

// machine returns the disk and the clock that the broker works with, and
// serves the control port for them.
func (f *chaosFlags) machine(path string, log *slog.Logger) (server.FS, server.Clock, error) {
	if f.disk != "honest" && f.disk != "slow" && f.disk != "lying" {
		return nil, nil, fmt.Errorf("--chaos-disk is %q; it must be honest, slow or lying", f.disk)
	}
	dir, err := server.OpenDir(path)
	if err != nil || f.address == "" {
		if err == nil && f.disk != "honest" {
			err = fmt.Errorf("--chaos-disk %s needs --chaos-address: only there its power can be lost", f.disk)
		}
		return dir, server.SystemClock(), err
	}
	l, err := port.Listen(f.address)
	if err != nil {
		return nil, nil, err
	}
	// Nobody else may use the directory when it is opened.
	lock, err := dir.Lock()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("data directory: %w", err), l.Close())
	}
	d, err := disk.Open(path, disk.Options{Slow: f.disk == "slow", Lying: f.disk == "lying"})
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close(), l.Close())
	}
	c := clock.New()
	go func() { log.Error("the chaos port is no longer served", "error", http.Serve(l, port.New(d, c))) }()
	log.Warn("this broker takes orders to fail", "chaos", l.Addr().String(), "disk", f.disk)
	return chaosDir{d, lock}, chaosClock{c}, nil
}

// chaosDir is a failing disk as the broker wants it.
type chaosDir struct {
	*disk.Dir
	lock io.Closer
}

func (d chaosDir) Lock() (io.Closer, error) { return d.lock, nil }

func (d chaosDir) Create(name string) (server.File, error) { return asFile(d.Dir.Create(name)) }

func (d chaosDir) Open(name string) (server.File, error) { return asFile(d.Dir.Open(name)) }

func asFile(f *disk.File, err error) (server.File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// chaosClock is a clock that can be set wrong as the broker wants it.
type chaosClock struct{ *clock.Clock }

func (c chaosClock) Now() core.Time {
	mono, wall := c.Read()
	return core.Time{Mono: mono, Wall: wall}
}
