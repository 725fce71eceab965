//det:ring0
package pure

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strings"

	"mixed"
)

// Error sentinels, assertions and declared tables are no state.
var ErrFull = errors.New("journal full")

var errOpen, errShut = errors.New("open"), fmt.Errorf("shut: %w", ErrFull)

var _ fmt.Stringer = (*offset)(nil)

//det:table the Castagnoli polynomial, never written
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	//det:table the verbs of the protocol, never written
	verbsKnown = []string{"PUB", "SUB"}
)

type offset struct{ n int64 }

func (o *offset) String() string { return fmt.Sprintf("%016x", o.n) }

const (
	second  = 1e9 // an untyped constant, exact on every machine
	backoff = 1.5 * second
)

func sum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

func known(verb string) (string, bool) {
	i := slices.Index(verbsKnown, verb)
	if i < 0 {
		return "", false
	}
	return verbsKnown[i], len(verbsKnown) > 0
}

func total(counts map[string]int) (n int) {
	//det:orderfree summing is commutative
	for _, c := range counts {
		n += c
	}
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		n = max(n, counts[key])
	}
	//det:orderfree the comparator is a total order over distinct keys
	for _, key := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return -cmp.Compare(a, b) }) {
		n -= counts[key]
	}
	delete(counts, "gone")
	return n
}

func percent(done, all int64) string {
	//det:float shown to people, decides nothing
	//det:orderfree two directives may stand over one line
	for range map[int]float64{} {
	}
	return fmt.Sprintf("%d%%", done*100/all)
}

// A method may be called init, and one called Scan reads what it is given.
func (s *state) init(in fmt.Scanner, from fmt.ScanState) error {
	s.index = map[string]*offset{}
	each(func() {}, func() {})
	return in.Scan(from, 'v')
}

func each(calls ...func()) {
	for _, c := range calls {
		c()
	}
}

//det:table commands by number, never written
var commands = []struct {
	n   int
	run func() int
}{{1, func() int { return 1 }}}

func runFirst() int { return -commands[0].n + commands[0].run() }

type state struct {
	index map[string]*offset
	tree  *offset
}

func (s *state) apply(deadline int64, next func(int64) int64) error {
	s.index["a"] = &offset{n: next(deadline)}
	s.tree = s.index["a"]
	if deadline > math.MaxInt64-int64(backoff) {
		return fmt.Errorf("apply %v at %d: %w", s.tree, deadline, ErrFull)
	}
	if s.tree == nil {
		panic(fmt.Sprintf("no tree among %d", len(s.index)))
	}
	local := [4]int{}
	_ = local[:]
	var b strings.Builder
	fmt.Fprintf(&b, "%v %+v", mixed.Plan{}, &mixed.Plan{})
	return errors.Join(errOpen, errShut)
}
