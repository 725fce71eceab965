// Package random is the one source of chance in Pestle's pure code: streams of
// 64-bit numbers, keyed by a seed and what they are for. Equal keys give equal
// streams on every machine and Go version; it uses integers only.
//
//	s := random.New(seed, "payload", "producer-1", "42")
//	size := 100 + s.Below(1000)
package random

import "math/bits"

// Stream is a splitmix64 generator. The zero value is a valid stream.
type Stream struct{ state uint64 }

// New returns the stream of seed for the purpose that the words name. The
// same words in another order, or split otherwise, are another purpose.
func New(seed uint64, purpose ...string) *Stream {
	h := seed
	for _, word := range purpose {
		for i := 0; i < len(word); i++ {
			h = Mix(h ^ uint64(word[i]))
		}
		h = Mix(h ^ 0x100 ^ uint64(len(word))<<9)
	}
	return &Stream{state: h}
}

// Mix is the splitmix64 finaliser: a bijection that spreads every input bit.
func Mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// Uint64 returns the next number of the stream.
func (s *Stream) Uint64() uint64 {
	out := Mix(s.state)
	s.state += 0x9E3779B97F4A7C15
	return out
}

// Below returns a number in [0, n), without bias to speak of (less than n in
// 2^64). It panics for n ≤ 0.
func (s *Stream) Below(n int64) int64 {
	if n <= 0 {
		panic("random: Below needs n > 0")
	}
	hi, _ := bits.Mul64(s.Uint64(), uint64(n))
	return int64(hi)
}

// Between returns a number in [lo, hi], both included. It panics for hi < lo.
func (s *Stream) Between(lo, hi int64) int64 { return lo + s.Below(hi-lo+1) }

// Permille is true in n of 1000 draws on average.
func (s *Stream) Permille(n int64) bool { return s.Below(1000) < n }
