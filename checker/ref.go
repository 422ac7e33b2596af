package checker

import (
	"slices"

	"github.com/jepgo/jepgo/history"
)

// Refs points at the ops at those positions, in history order and each once.
// Positions outside the history, such as the -1 of a missing half of a pair, are
// left out.
func Refs(h *history.History, positions ...int) []Ref {
	positions = sortedPositions(positions)
	refs := make([]Ref, 0, len(positions))
	for _, at := range positions {
		if at >= len(h.Ops) {
			continue
		}
		refs = append(refs, Ref{Index: at, Op: h.Ops[at].String()})
	}
	return refs
}

// sortedPositions returns those that are not negative, in order and each once.
func sortedPositions(positions []int) []int {
	positions = slices.DeleteFunc(slices.Clone(positions), func(at int) bool { return at < 0 })
	slices.Sort(positions)
	return slices.Compact(positions)
}

// ShortHash is a block or transaction hash for prose: its first and last digits.
// The witness has all of them.
func ShortHash(hash string) string {
	const head, tail = 10, 4
	if len(hash) <= head+tail+2 {
		return hash
	}
	return hash[:head] + "…" + hash[len(hash)-tail:]
}
