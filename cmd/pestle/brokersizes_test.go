package main

import (
	"testing"

	"pestle/broker/core"
)

// The knobs of a scenario reach the broker; 0 leaves it its own, and what no
// scenario may ask for is refused.
func TestSizesOfABroker(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags sizeFlags
		want  string // of the error; "" for none
	}{
		{"the broker's own", sizeFlags{}, ""},
		{"the least", sizeFlags{file: minJournalFile, cache: 1, log: 1}, ""},
		{"the most", sizeFlags{file: 1 << 30, cache: 1 << 30, log: 1 << 30}, ""},
		{"a file too small", sizeFlags{file: minJournalFile - 1}, "--journal-file-size is 16383; it must be 16384 to 1073741824, or 0 for the broker's own"},
		{"a negative cache", sizeFlags{cache: -1}, "--cache-bytes is -1; it must be 1 to 1073741824, or 0 for the broker's own"},
		{"a log too large", sizeFlags{log: 1<<30 + 1}, "--log-bytes is 1073741825; it must be 1 to 1073741824, or 0 for the broker's own"},
	} {
		var cfg core.Config
		err := c.flags.set(&cfg)
		if err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if err == nil && (cfg.FileSize != c.flags.file || cfg.CacheBytes != c.flags.cache || cfg.LogBytes != c.flags.log) {
			t.Errorf("%s: the broker gets %d, %d and %d", c.name, cfg.FileSize, cfg.CacheBytes, cfg.LogBytes)
		}
	}
}
