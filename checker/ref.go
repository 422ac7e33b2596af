package checker

import (
	"slices"

	"github.com/jepgo/jepgo/history"
)

// Refs points at the ops at those positions, in history order and each once.
// Positions outside the history, such as the -1 of a missing half of a pair, are
// left out.
func Refs(h *history.History, positions ...int) []Ref {
	positions = slices.Clone(positions)
	slices.Sort(positions)
	positions = slices.Compact(positions)
	refs := make([]Ref, 0, len(positions))
	for _, at := range positions {
		if at < 0 || at >= len(h.Ops) {
			continue
		}
		refs = append(refs, Ref{Index: at, Op: h.Ops[at].String()})
	}
	return refs
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
