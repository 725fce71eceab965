package shrink

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMinimize(t *testing.T) {
	contains := func(keep []int, all ...int) bool {
		for _, x := range all {
			if !slices.Contains(keep, x) {
				return false
			}
		}
		return true
	}
	for name, c := range map[string]struct {
		n     int
		fails func(keep []int) bool
		want  []int
	}{
		"nothing to leave out":       {0, func([]int) bool { return true }, nil},
		"none is needed":             {9, func([]int) bool { return true }, nil},
		"one is needed":              {9, func(k []int) bool { return contains(k, 6) }, []int{6}},
		"two far apart":              {100, func(k []int) bool { return contains(k, 0, 99) }, []int{0, 99}},
		"three":                      {50, func(k []int) bool { return contains(k, 7, 8, 31) }, []int{7, 8, 31}},
		"all":                        {5, func(k []int) bool { return len(k) == 5 }, []int{0, 1, 2, 3, 4}},
		"either of two":              {8, func(k []int) bool { return contains(k, 1) || contains(k, 6, 7) }, []int{1}},
		"an even number, and the 3":  {8, func(k []int) bool { return contains(k, 3) && len(k)%2 == 0 }, []int{2, 3}},
		"only the whole is accepted": {8, func([]int) bool { return false }, []int{0, 1, 2, 3, 4, 5, 6, 7}},
	} {
		if got := minimize(c.n, c.fails); !slices.Equal(got, c.want) {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// Whatever fails, the result fails, and does not when any one element is left
// out: for a predicate of which only that the whole fails is known.
func TestMinimizeIsMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		share := rapid.Uint64Range(1, 50).Draw(t, "one subset in so many fails")
		needed := rapid.SliceOfDistinct(rapid.IntRange(0, n-1), rapid.ID).Draw(t, "needed")
		fails := func(keep []int) bool {
			if len(keep) == n {
				return true
			}
			for _, x := range needed {
				if !slices.Contains(keep, x) {
					return false
				}
			}
			hash := seed
			for _, x := range keep {
				hash = (hash ^ uint64(x+1)) * 0x100000001B3
			}
			return hash>>32%share == 0
		}
		got := minimize(n, func(keep []int) bool {
			if !slices.IsSorted(keep) {
				t.Fatalf("asked about %d", keep)
			}
			return fails(keep)
		})
		if !fails(got) {
			t.Fatalf("%d does not fail", got)
		}
		for i := range got {
			if rest := slices.Delete(slices.Clone(got), i, i+1); fails(rest) {
				t.Fatalf("%d is not minimal: %d fails", got, rest)
			}
		}
	})
}

// A few needed elements among many are found with few questions.
func TestMinimizeIsQuick(t *testing.T) {
	const n = 1024
	asked := 0
	got := minimize(n, func(keep []int) bool {
		asked++
		return slices.Contains(keep, 100) && slices.Contains(keep, 700) && slices.Contains(keep, 701)
	})
	if !slices.Equal(got, []int{100, 700, 701}) || asked > 150 {
		t.Errorf("%d after %d questions, want 100, 700 and 701 after 150 at most", got, asked)
	}
}
