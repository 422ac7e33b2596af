package usage

import (
	"slices"
	"strings"
)

// Meant is "did you mean kill? " where one of the known names, or a few, are spelled
// much like name, and "" where none is: the beginning of what an error says next.
func Meant(name string, known []string) string {
	close := Similar(name, known)
	if len(close) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(close, ", ") + "? "
}

// mostSimilar bounds what Similar returns.
const mostSimilar = 8

// Similar returns the known names that are spelled much like name, in their order:
// one within the other, or two letters apart at most, of short names fewer.
func Similar(name string, known []string) (close []string) {
	name = strings.ToLower(name)
	for _, k := range known {
		other := strings.ToLower(k)
		within := len(name) > 2 && strings.Contains(other, name) || len(other) > 2 && strings.Contains(name, other)
		if (within || distance(name, other) <= min(2, (len(name)+1)/3)) && !slices.Contains(close, k) {
			close = append(close, k)
		}
	}
	return close[:min(len(close), mostSimilar)]
}

// distance is how many letters must be put in, taken out or changed to make b of a
// (Levenshtein 1965). Texts longer than any name are cut.
func distance(a, b string) int {
	const longest = 64
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
