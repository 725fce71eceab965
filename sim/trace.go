package sim

import (
	"hash/crc32"
	"math/bits"

	"pestle/sim/random"
)

// CheckpointEvery is after how many events and effects a checkpoint is taken.
const CheckpointEvery = 4096

// trace is the rolling hash of a run. Two runs that differ in anything that
// happened, in its time or order, have different hashes from there on, and
// differ at the first checkpoint behind it.
type trace struct {
	hash        uint64
	events      uint64
	checkpoints []uint64
	table       *crc32.Table
}

func newTrace() trace { return trace{table: crc32.MakeTable(crc32.Castagnoli)} }

// words mixes numbers in.
func (t *trace) words(words ...uint64) {
	h := t.hash
	for _, w := range words {
		h = bits.RotateLeft64(h^w, 29) * 0x9E3779B97F4A7C15
	}
	t.hash = h
}

func (t *trace) bytes(p []byte) {
	t.words(uint64(len(p))<<32 | uint64(crc32.Checksum(p, t.table)))
}

func (t *trace) text(s string) {
	h := uint64(len(s))
	for ; len(s) >= 8; s = s[8:] {
		h = (h ^ (uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001B3
	}
	t.words(h)
}

// end closes one event or effect.
func (t *trace) end() {
	t.events++
	if t.events%CheckpointEvery == 0 {
		t.checkpoints = append(t.checkpoints, t.sum())
	}
}

func (t *trace) sum() uint64 { return random.Mix(t.hash) }
