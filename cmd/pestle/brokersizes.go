package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"pestle/broker/core"
)

// sizeFlags are the knobs of a scenario: sizes in bytes that change when things
// happen and never what the broker promises. 0 is the broker's own.
type sizeFlags struct{ file, cache, log int64 }

// maxBrokerSize is the largest that a scenario may ask for.
const maxBrokerSize = 1 << 30

func (f *sizeFlags) define(flags *pflag.FlagSet) {
	flags.Int64Var(&f.file, "journal-file-size", 0, "size of a journal file in `bytes` (default the broker's own)")
	flags.Int64Var(&f.cache, "cache-bytes", 0, "`bytes` of bodies kept in memory (default the broker's own)")
	flags.Int64Var(&f.log, "log-bytes", 0, "`bytes` of entries kept for brokers that lag, per group (default the broker's own)")
	for _, name := range []string{"journal-file-size", "cache-bytes", "log-bytes"} {
		if err := flags.MarkHidden(name); err != nil {
			panic(err) // a name of this list is no flag
		}
	}
}

// set checks the flags and puts them into cfg.
func (f *sizeFlags) set(cfg *core.Config) error {
	for _, n := range []struct {
		flag string
		from int64
		min  int64
		to   *int64
	}{
		{"journal-file-size", f.file, minJournalFile, &cfg.FileSize},
		{"cache-bytes", f.cache, 1, &cfg.CacheBytes},
		{"log-bytes", f.log, 1, &cfg.LogBytes},
	} {
		if n.from != 0 && (n.from < n.min || n.from > maxBrokerSize) {
			return fmt.Errorf("--%s is %d; it must be %d to %d, or 0 for the broker's own", n.flag, n.from, n.min, maxBrokerSize)
		}
		*n.to = n.from
	}
	return nil
}

// minJournalFile is the smallest size that a scenario may ask for.
const minJournalFile = 16 << 10
