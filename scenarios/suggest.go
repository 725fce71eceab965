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

// editDistance counts the insertions, deletions and replacements of a byte that
// turn a into b.
func editDistance(a, b string) int {
	if len(a) > maxName || len(b) > maxName {
		return maxName
	}
	last, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, last[j+1]+1, row[j]+1)
		}
		last, row = row, last
	}
	return last[len(b)]
}
