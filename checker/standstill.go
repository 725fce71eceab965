package checker

import "pestle/history"

// standstill notices when the machine of a run stood still: overloaded, or
// suspended. The harness, which nothing is done to, writes a line at least every
// 200 ms, so a gap of a second in its lines is one in which nobody can be
// expected to have done anything. A history whose harness writes no ticks tells
// nothing of it.
type standstill struct {
	harness string // who announces the phases
	ticks   bool   // it has written one
	last    int64  // time of its last line
}

// longestGap is how far apart two lines of the harness are at the most, in
// nanoseconds, on a machine that keeps up.
const longestGap = int64(1e9)

// since returns for how long the machine has stood still until e; 0: it has not.
func (s *standstill) since(e history.Event) int64 {
	if e.Ev == history.Phase {
		s.harness = e.Src
	}
	if e.Src != s.harness {
		return 0
	}
	gap := e.T - s.last
	stood := s.ticks && gap >= longestGap
	s.last = e.T
	s.ticks = s.ticks || e.Ev == history.Note && e.What == history.NoteTick
	if !stood {
		return 0
	}
	return gap
}
