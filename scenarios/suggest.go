//det:ring0

package scenarios

import "fmt"

// didYouMean returns the clause that names the candidate nearest to what was
// found, or nothing when none is near.
func didYouMean(found string, candidates []string) string {
	best, distance := "", 1+max(2, len(found)/3)
	for _, c := range candidates {
		if d := editDistance(found, c); d < distance {
			best, distance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func editDistance(a, b string) int {
	if len(a) > maxName || len(b) > maxName {
		return maxName
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
